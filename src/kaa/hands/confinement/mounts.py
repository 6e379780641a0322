"""Mounting, in the words of the view: bind, hide, replace. Only for a mount namespace of our own."""

import os
import struct

from kaa.hands.confinement import kernel

# linux/mount.h
NO_SET_USER_ID = 2
NO_DEVICES = 4
NO_PROGRAMS = 8
_BIND = 4096
_RECURSIVE = 16384
_PRIVATE, _SLAVE, _SHARED = 1 << 18, 1 << 19, 1 << 20
_ATTRIBUTE_READ_ONLY, _ATTRIBUTE_NO_SET_USER_ID, _ATTRIBUTE_NO_DEVICES = 1, 2, 4
_ATTRIBUTE_NO_LINKS = 0x200000  # MOUNT_ATTR_NOSYMFOLLOW, Linux 5.14
_AT_CURRENT_DIRECTORY = -100
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_FROM_EMPTY_PATH, _TO_EMPTY_PATH = 0x4, 0x40  # MOVE_MOUNT_*
_DETACH = 2  # MNT_DETACH
_NO_FOLLOW = 8  # UMOUNT_NOFOLLOW


def make_private() -> None:
    """Neither show our mounts to others nor theirs to us."""
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)


def share() -> None:
    """From now on mount in the namespaces of slots what is mounted in ours."""
    _mount(None, "/", None, _RECURSIVE | _SHARED)


def follow() -> None:
    """Get what is mounted in the namespace we come from, without giving it ours."""
    _mount(None, "/", None, _RECURSIVE | _SLAVE)


def freeze(path: str = "/") -> None:
    """Make a mount and everything mounted below it read-only, without devices and set-user-ID programs."""
    _set_attributes(path, _ATTRIBUTE_READ_ONLY | _ATTRIBUTE_NO_SET_USER_ID | _ATTRIBUTE_NO_DEVICES, 0, recursive=True)


def refuse_links(directory: str) -> None:
    """Have the kernel follow no symlink in a directory and all that is mounted below it (ELOOP)."""
    handle = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        bind(handle, directory)
    finally:
        os.close(handle)
    _set_attributes(directory, _ATTRIBUTE_NO_LINKS, 0, recursive=True)


def make_read_only(path: str) -> None:
    """Make one mount read-only."""
    _set_attributes(path, _ATTRIBUTE_READ_ONLY, 0)


def make_writable(path: str) -> None:
    """Undo `freeze` for one mount, not for those below it: the kernel holds on to what was read-only before.

    Raises:
        PermissionError: it was read-only before.
    """
    _set_attributes(path, 0, _ATTRIBUTE_READ_ONLY)


def allow_devices(path: str) -> None:
    """Undo `freeze` for a mounted device."""
    _set_attributes(path, 0, _ATTRIBUTE_READ_ONLY | _ATTRIBUTE_NO_DEVICES)


def bind(source: int, target: str) -> None:
    """Show at `target` what the descriptor `source` stands for, with all mounts below it and their attributes."""
    _mount(f"/proc/self/fd/{source}", target, None, _BIND | _RECURSIVE)


def cover(handle: int) -> int:
    """Put a read-only mount of what a descriptor stands for in its own place, in one step and in all slots.

    The mount is read-only before it is attached: attributes do not propagate, and what is attached writable could be
    opened for writing.

    Returns:
        A descriptor of the mount, for `uncover`.

    Raises:
        OSError: the kernel refused, or it is not there any more.
    """
    return attach(handle, handle)


def attach(source: int, place: int, *, writable: bool = False) -> int:
    """Put a mount of what a descriptor stands for in the place of another one. See `cover` and `clone`."""
    tree = clone(source, writable=writable)
    try:
        kernel.call("move_mount", tree, b"", place, b"", _FROM_EMPTY_PATH | _TO_EMPTY_PATH)
    except BaseException:
        os.close(tree)
        raise
    return tree


def clone(source: int, *, writable: bool = False) -> int:
    """A mount of what a descriptor stands for, with what is mounted below, that is attached nowhere.

    Args:
        writable: whether it may be written, if it was this process that made the original read-only; then nothing
            that is mounted in the original later shows in it.

    Returns:
        A descriptor of the mount.

    Raises:
        OSError: the kernel refused.
    """
    empty = _AT_EMPTY_PATH | _AT_RECURSIVE
    tree = kernel.call("open_tree", source, b"", _OPEN_TREE_CLONE | os.O_CLOEXEC | empty)
    try:
        changes = (0, _ATTRIBUTE_READ_ONLY, _PRIVATE) if writable else (_ATTRIBUTE_READ_ONLY, 0, 0)
        structure = struct.pack("=4Q", *changes, 0)
        kernel.call("mount_setattr", tree, b"", _AT_EMPTY_PATH if writable else empty, structure, len(structure))
    except BaseException:
        os.close(tree)
        raise
    return tree


def clone_alone(source: int) -> int:
    """A mount of what a descriptor stands for that is attached nowhere, and in which nothing is or will be mounted.

    Returns:
        A descriptor of its root.

    Raises:
        OSError: the kernel refused.
    """
    tree = kernel.call("open_tree", source, b"", _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_EMPTY_PATH)
    try:
        structure = struct.pack("=4Q", 0, 0, _PRIVATE, 0)
        kernel.call("mount_setattr", tree, b"", _AT_EMPTY_PATH, structure, len(structure))
    except BaseException:
        os.close(tree)
        raise
    return tree


def uncover(mount: int) -> None:
    """Take away a mount in all slots, unless another one hides it. No path is followed: commands can change paths.

    Args:
        mount: what `cover` returned.

    Raises:
        OSError: the kernel has removed it.
    """
    if is_attached(mount) and not _is_hidden(mount):
        kernel.call("umount2", b"/proc/self/fd/%d" % mount, _DETACH)


def uncover_name(path: str) -> None:
    """Take away the topmost mount at a path, in all slots. Only for a path whose directories no command can change.

    Raises:
        OSError: nothing is mounted there.
    """
    kernel.call("umount2", os.fsencode(path), _DETACH | _NO_FOLLOW)


def is_attached(mount: int) -> bool:
    """Whether the kernel has not removed a mount, for example because its file was replaced."""
    return any(number == _number(mount) for number, _, _ in _table())


def _is_hidden(mount: int) -> bool:
    """Whether something is mounted over the root of a mount: the kernel would take that away."""
    ours = _number(mount)
    places = {place for number, _, place in _table() if number == ours}
    return any(parent == ours and place in places for _, parent, place in _table())


def _table() -> list[tuple[int, int, bytes]]:
    """proc(5): number, parent's number and place of each mount."""
    with open("/proc/self/mountinfo", "rb") as file:
        return [(int(fields[0]), int(fields[1]), fields[4]) for fields in map(bytes.split, file)]


def _number(mount: int) -> int:
    with open(f"/proc/self/fdinfo/{mount}", "rb") as file:
        return next((int(line.split()[1]) for line in file if line.startswith(b"mnt_id:")), -1)


def tmpfs(target: str, mode: int) -> None:
    """Show an empty directory at `target`."""
    _mount("none", target, "tmpfs", NO_SET_USER_ID | NO_DEVICES, f"mode={mode:o}")


def overlay(lower: int, upper: int, work: int) -> None:
    """Show over the directory `upper` what is in it and, through it, what is in `lower`; only `upper` is written.

    Args:
        work: of an empty one on the same mount.

    Raises:
        OSError: the kernel (before 5.11) or the file system cannot do it.
    """
    layers = f"lowerdir=/proc/self/fd/{lower},upperdir=/proc/self/fd/{upper},workdir=/proc/self/fd/{work}"
    _mount("overlay", f"/proc/self/fd/{upper}", "overlay", NO_SET_USER_ID | NO_DEVICES, f"{layers},userxattr")


def proc(target: str) -> None:
    """Show the processes of the caller's process namespace at `target`."""
    _mount("proc", target, "proc", NO_SET_USER_ID | NO_DEVICES | NO_PROGRAMS)


def terminals(target: str) -> None:
    """Show pseudo-terminals of our own at `target`."""
    _mount("devpts", target, "devpts", NO_SET_USER_ID | NO_PROGRAMS, "newinstance,ptmxmode=0666,mode=620")


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    try:
        kernel.call("mount", _path(source), _path(target), _path(kind), flags, _path(options))
    except OSError as error:
        raise OSError(error.errno, f"cannot mount {target}: {error.strerror}") from None


def _set_attributes(path: str, add: int, remove: int, recursive: bool = False) -> None:
    structure = struct.pack("=4Q", add, remove, 0, 0)  # struct mount_attr
    flags = _AT_RECURSIVE if recursive else 0
    kernel.call("mount_setattr", _AT_CURRENT_DIRECTORY, os.fsencode(path), flags, structure, len(structure))


def _path(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)
