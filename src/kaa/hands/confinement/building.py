"""Builds a view with mounts, in a mount namespace of the calling process's own."""

import contextlib
import errno
import os
import stat

from kaa.hands.confinement import mounts
from kaa.hands.confinement.masks import Masks
from kaa.hands.confinement.view import SlotView, ViewStep
from kaa.hands.mount_table import mount_points

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}

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

        Args:
            view: what to build.
            masks: for what is to be hidden.
        """
        self._view = view
        self._masks = masks
        self._carved: set[str] = set()
        self._handles: dict[str, int] = {}
        self._points = mount_points()
        devices = (f"/dev/{name}" for name in _DEVICES)
        sources = (step.source for step in view.steps if step.kind != "link")
        for path in (*sources, *view.pins, *devices):
            if path:
                self._open(path)

    def build(self) -> None:
        """Mount everything. Descriptors of the host's view are closed, whatever happens.

        Raises:
            OSError: the kernel refused a mount.
        """
        try:
            mounts.freeze()
            for step in self._view.steps:
                # Sockets of other programs and the like go while we look; then there is nothing to show or to hide.
                with contextlib.suppress(*_VANISHED if step.kind in _MAY_VANISH else ()):
                    self._take(step)
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
        for name in _DEVICES:
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

    def _open(self, path: str) -> None:
        if path not in self._handles:
            with contextlib.suppress(FileNotFoundError):
                self._handles[path] = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)


def _make_directory(path: str) -> None:
    if not os.path.isdir(path):
        os.makedirs(path, 0o755)


def _make_file(path: str) -> None:
    if not os.path.lexists(path):
        _make_directory(os.path.dirname(path))
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644))
