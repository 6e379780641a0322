"""Builds a view with mounts, in a mount namespace of the calling process's own."""

import contextlib
import errno
import os
import stat
import struct

from kaa.hands.confinement import kernel, mounts
from kaa.hands.confinement.contract import ViewChangedError
from kaa.hands.confinement.masks import Masks
from kaa.hands.confinement.view import DEVICES, SlotView, ViewStep
from kaa.hands.mount_table import mount_points

_LINKS = {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}

_AT_CURRENT_DIRECTORY = -100
_NO_SYMLINKS = 4  # linux/openat2.h: RESOLVE_NO_SYMLINKS; since Linux 5.6

_OURS = frozenset({"temporary", "copy"})  # in kaa's cache, which the user may have put behind a symlink
_VANISHED = (FileNotFoundError, NotADirectoryError)
_MAY_VANISH = frozenset({"readable", "link", "carved", "protected", "hidden directory", "hidden file"})

# Kinds of file systems that hold files of people. Others below a writable directory, such as the /proc or /sys of a
# root file system that somebody assembles there, stay read-only: root could change the machine through them.
_DATA = frozenset(
    (
        *("bcachefs", "btrfs", "ecryptfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "ntfs3", "vfat", "xfs", "zfs"),
        *("9p", "ceph", "cifs", "fuse", "fuseblk", "nfs", "nfs4", "overlay", "ramfs", "smb3", "tmpfs", "virtiofs"),
    )
)


class Builder:
    """Carries out the steps of a view.

    All files and directories of the host that steps need are opened before the first mount, since mounts cover them.
    """

    def __init__(self, view: SlotView, masks: Masks) -> None:
        """Open what is needed.

        Raises:
            ViewChangedError: a path leads through a symlink that was none when the view was planned.
            OSError: one cannot be opened.
        """
        self._view = view
        self._masks = masks
        self._carved: set[str] = set()
        self._handles: dict[str, int] = {}
        self._points = mount_points()
        devices = (f"/dev/{name}" for name in DEVICES)
        for step in view.steps:
            if step.source and step.kind != "link":
                self._open(step.source, is_ours=step.kind in _OURS)
        for path in (*view.pins, *devices):
            self._open(path)

    def build(self) -> None:
        """Mount everything. Descriptors of the host's view are closed, whatever happens.

        Raises:
            ViewChangedError: something that must be there has vanished.
            OSError: the kernel refused a mount.
        """
        try:
            mounts.freeze()
            for step in self._view.steps:
                # Sockets of other programs and the like go while we look; then there is nothing to show or to hide.
                try:
                    self._take(step)
                except _VANISHED as error:
                    if step.kind not in _MAY_VANISH:
                        raise ViewChangedError(f"{step.target} was removed meanwhile") from error
            for pin in filter(self._handles.__contains__, self._view.pins):
                self._pin(pin)
            for step in self._view.steps:
                if step.kind in ("carved", "empty", "devices") or (step.kind == "hidden directory" and step.has_more):
                    mounts.make_read_only(step.target)
        finally:
            for handle in self._handles.values():
                os.close(handle)
        os.chdir("/")  # the old working directory is below the new mounts

    def _take(self, step: ViewStep) -> None:
        match step.kind:
            case "writable":
                self._bind(step.source, step.target)
                self._make_writable(step.target)
            case "readable" | "protected" | "copy":
                self._bind(step.source, step.target)  # frozen, as everything of the host
            case "temporary" if step.source:
                self._bind(step.source, step.target)
                mounts.make_writable(step.target)
            case "temporary" | "shared memory":
                _make_directory(step.target)
                mounts.tmpfs(step.target, 0o1777)
            case "carved":
                self._carve(step)
            case "empty":
                mounts.tmpfs(step.target, 0o755)
            case "hidden directory" | "hidden file":
                self._hide(step)
            case "worktree":
                with contextlib.suppress(OSError):  # in `/tmp`, a command has been quicker
                    _make_directory(step.target)
            case "link":
                os.symlink(step.source, step.target)
            case "devices":
                self._make_devices(step.target)

    def _carve(self, step: ViewStep) -> None:
        mode = stat.S_IMODE(os.fstat(self._handle(step.source)).st_mode)
        _make_directory(step.target)
        mounts.tmpfs(step.target, mode)
        self._carved.add(step.target)

    def _hide(self, step: ViewStep) -> None:
        is_directory = step.kind == "hidden directory"
        if os.path.dirname(step.target) in self._carved:  # it is not there any more
            (_make_directory if is_directory else _make_file)(step.target)
        if is_directory:
            self._masks.hide_directory(step.target, step.has_more)
        else:
            self._masks.hide_file(step.target)

    def _bind(self, source: str, target: str) -> None:
        handle = self._handle(source)
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            _make_directory(target)
        else:
            _make_file(target)
        mounts.bind(handle, target)

    def _handle(self, path: str) -> int:
        handle = self._handles.get(path)
        if handle is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return handle

    def _make_writable(self, root: str) -> None:
        """Also what is mounted below, such as volumes of a container, unless the host has it read-only."""
        for point, kind in self._points:
            if point == root or (point.startswith(root + "/") and kind in _DATA):
                with contextlib.suppress(OSError):
                    mounts.make_writable(point)
        with contextlib.suppress(PermissionError):  # a read-only file system stays one
            mounts.make_writable(root)

    def _pin(self, directory: str) -> None:
        """Make a directory a mount point in the host's view, which lies buried below the writable one.

        It then cannot be renamed or removed in any view, yet no path of the slots' view crosses a mount there, so that
        files can still be renamed and linked between it and its surroundings.
        """
        handle = self._handles[directory]
        mounts.bind(handle, f"/proc/self/fd/{handle}")

    def _make_devices(self, target: str) -> None:
        mounts.tmpfs(target, 0o755)
        for name in DEVICES:
            handle = self._handles.get(f"/dev/{name}")
            if handle is not None:
                path = os.path.join(target, name)
                _make_file(path)
                mounts.bind(handle, path)
                mounts.allow_devices(path)
        for name, destination in _LINKS.items():
            os.symlink(f"/proc/self/{destination}", os.path.join(target, name))
        terminals = os.path.join(target, "pts")
        os.mkdir(terminals, 0o755)
        with contextlib.suppress(OSError):  # then there are none
            mounts.terminals(terminals)
            os.symlink("pts/ptmx", os.path.join(target, "ptmx"))

    def _open(self, path: str, *, is_ours: bool = False) -> None:
        if path not in self._handles:
            with contextlib.suppress(FileNotFoundError):
                self._handles[path] = open_without_links(os.path.realpath(path) if is_ours else path)


def open_without_links(path: str) -> int:
    """Open a path that no symlink is part of: commands of other sandboxes can exchange directories meanwhile.

    Raises:
        ViewChangedError: a directory on the way is a symlink.
        OSError: it cannot be opened.
    """
    how = struct.pack("=3Q", os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, 0, _NO_SYMLINKS)  # struct open_how
    try:
        return kernel.call("openat2", _AT_CURRENT_DIRECTORY, os.fsencode(path), how, len(how))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ViewChangedError(f"a directory above {path} was replaced by a symlink meanwhile") from None
        raise


def _make_directory(path: str) -> None:
    if not os.path.isdir(path):
        os.makedirs(path, 0o755)


def _make_file(path: str) -> None:
    if not os.path.lexists(path):
        _make_directory(os.path.dirname(path))
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644))
