"""What is at a path: compared by what `stat` says, told apart by a digest of the content."""

import contextlib
import os
import stat
import time
from typing import NamedTuple, TypeAlias

from kaa.hands.below import open_again, open_closed
from kaa.hands.digest import blake2b

MAX_FILE_BYTES = 10 * 1024 * 1024
# The clock of file systems stands still for some milliseconds (a tick of the kernel): a file that was just changed may
# be changed again without a sign.
FRESH_NS = 50_000_000
_DIGEST_BYTES = 20

Row: TypeAlias = list[object]


class State(NamedTuple):
    """What is at a path.

    Attributes:
        kind: `file`, `symlink`, `directory`, `special` (a pipe, a socket or a device, which has no content), or
            `other`, whose content is not kept; `unread`, a file that changed before it was read, or, with a stamp, one
            that will be read later.
        digest: BLAKE2b of the content or of a symlink's target, in hex; empty for other kinds.
        mode: permission bits; 0 for symlinks.
        size: in bytes; 1 for the project's directory while not all files in it have been read.
        stamp: times and inode: as long as it is the same, so is the content; empty if that is not certain.
    """

    kind: str
    digest: str = ""
    mode: int = 0
    size: int = 0
    stamp: str = ""

    def same_as(self, other: "State | None") -> bool:
        """Whether there is no difference that matters; of what is not kept, nobody knows."""
        if other is None or self.kind != other.kind:
            return False
        if self.kind == "other":
            return bool(self.stamp) and (self.size, self.stamp) == (other.size, other.stamp)
        return (self.digest, self.mode) == (other.digest, other.mode)


class SeenState(NamedTuple):
    """A state, and the content if it had to be read.

    Attributes:
        was_closed: the file had to be opened for this: the look itself has changed its ctime.
    """

    state: State | None
    content: bytes | None = None
    was_closed: bool = False


def digest_of(content: bytes) -> str:
    return blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


def look(directory: int, name: str, known: State | None = None, max_bytes: int = MAX_FILE_BYTES) -> SeenState:
    """What a name in an open directory stands for; a symlink stands for itself.

    A file that its owner has closed gets the right to be read meanwhile. The state has the mode without that.

    Args:
        name: without a slash.
        known: what it was the last time: if `stat` says that it still is, it is not read.
        max_bytes: the content of a larger file is not kept.
    """
    with contextlib.ExitStack() as held:
        try:
            try:
                return _look(directory, name, known, max_bytes)
            except PermissionError:  # the directory was closed since it was opened
                if open_again(held, directory):
                    return _look(directory, name, known, max_bytes)
        except (FileNotFoundError, NotADirectoryError):
            return SeenState(None)
        except OSError:  # one name that the system does not let us look at says nothing of the others
            pass
    return SeenState(State("other"))


def _look(directory: int, name: str, known: State | None, max_bytes: int) -> SeenState:
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        return SeenState(State("directory", "", stat.S_IMODE(status.st_mode), 0, f"{status.st_ino:x}"))
    if known is not None and is_known(status, known):
        return SeenState(known)
    if kind == stat.S_IFLNK:
        target = os.fsencode(os.readlink(name, dir_fd=directory))
        return SeenState(State("symlink", digest_of(target), 0, len(target), _fresh_stamp(status)), target)
    if kind != stat.S_IFREG:
        return SeenState(State("special", "", stat.S_IMODE(status.st_mode), 0, _stamp(status)))
    if status.st_size > max_bytes:
        return SeenState(_other(status))
    return _read(directory, name, max_bytes)


def is_known(status: os.stat_result, known: State | None) -> bool:
    """Whether `stat` says that a path is what it was the last time."""
    return known is not None and known.stamp != "" and known.stamp == _stamp(status)


def is_unchanged(directory: int, name: str, known: State) -> bool:
    """Whether `stat` says the same of a name in an open directory."""
    try:
        return is_known(os.stat(name, dir_fd=directory, follow_symlinks=False), known)
    except OSError:
        return False


def unread_state(directory: int, name: str) -> State | None:
    """The state of a regular file that is going to be read later; None if a name in an open directory is none."""
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return State("unread", "", stat.S_IMODE(status.st_mode), status.st_size, _fresh_stamp(status))


def _read(directory: int, name: str, max_bytes: int) -> SeenState:
    """A regular file, unless it was exchanged meanwhile."""
    with contextlib.ExitStack() as held:
        try:
            descriptor, was_closed = _open(held, name, directory)
        except FileNotFoundError:
            return SeenState(None)
        except OSError:  # not for us, or no file any more
            descriptor, was_closed = None, False
        if descriptor is None:
            return SeenState(_other(os.stat(name, dir_fd=directory, follow_symlinks=False)))
        status = os.fstat(descriptor)
        try:
            if not stat.S_ISREG(status.st_mode):
                return SeenState(_other(status))
            content = os.read(descriptor, min(status.st_size, max_bytes) + 1)
            while len(content) <= max_bytes and (piece := os.read(descriptor, max_bytes + 1 - len(content))):
                content += piece
        except OSError:
            return SeenState(_other(status))
    if len(content) > max_bytes:
        return SeenState(_other(status))
    mode = stat.S_IMODE(status.st_mode)
    if was_closed:
        return SeenState(State("file", digest_of(content), mode & ~stat.S_IRUSR, len(content)), content, was_closed)
    return SeenState(State("file", digest_of(content), mode, len(content), _fresh_stamp(status)), content)


def _open(held: contextlib.ExitStack, name: str, directory: int) -> tuple[int | None, bool]:
    """Open a file until the stack is left, and say whether it was closed; None if another user has closed it.

    Raises:
        OSError: that is not possible.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=directory)
    except PermissionError:
        return open_closed(held, name, directory), True
    held.callback(os.close, descriptor)
    return descriptor, False


def _other(status: os.stat_result) -> State:
    return State("other", "", stat.S_IMODE(status.st_mode), status.st_size, _stamp(status))


def _stamp(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns:x}-{status.st_ctime_ns:x}-{status.st_ino:x}"


def _fresh_stamp(status: os.stat_result) -> str:
    return _stamp(status) if time.time_ns() - status.st_ctime_ns > FRESH_NS else ""
