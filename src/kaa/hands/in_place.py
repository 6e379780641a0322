"""Writes into a file that exists, where a new file in its place could not have its owner and group.

In a user namespace that is each group but one. A crash in between leaves a file that is written in part, so what calls
this has the content elsewhere meanwhile.
"""

import errno
import os
import stat
from collections.abc import Callable


class HalfWrittenError(OSError):
    """A file has some of its new content and some of its old: whoever has the new one keeps it."""


def take_owner(old: os.stat_result, change: Callable[[int, int], None]) -> bool:
    """Give a new file the owner and the group of an old one; False if it cannot have them.

    Args:
        change: changes the owner and the group of the new one.

    Raises:
        OSError: the system failed.
    """
    try:
        change(old.st_uid, old.st_gid)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EINVAL):  # EINVAL: the user namespace does not have these
            raise
        return False
    return True


def overwrite(directory: int | None, name: str, data: bytes, check: Callable[[int], None] = lambda _: None) -> bool:
    """Replace the content of a regular file.

    Args:
        directory: the open directory in which it is; None if the name is a path.
        name: in it; a symlink is not followed.
        check: gets the open file right before it is written, and raises if it must not be.

    Returns:
        False if it was not written: it may not be, is no regular file, runs as its owner, or has other names, which
        would get the content, too.

    Raises:
        HalfWrittenError: it cannot be written to the end.
        OSError: the disk has no room; it is as it was.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=directory)
    except OSError:
        return False
    try:
        old = os.fstat(descriptor)
        if not stat.S_ISREG(old.st_mode) or old.st_mode & (stat.S_ISUID | stat.S_ISGID) or old.st_nlink > 1:
            return False
        check(descriptor)
        if len(data) > old.st_size and hasattr(os, "posix_fallocate"):
            _make_room(descriptor, len(data))
        try:
            _fill(descriptor, data)
        except OSError as error:
            raise HalfWrittenError(error.errno, f"{error.strerror}, after a part was written") from error
    finally:
        os.close(descriptor)
    return True


def _fill(descriptor: int, data: bytes) -> None:
    remaining, position = memoryview(data), 0
    while remaining:
        written = os.pwrite(descriptor, remaining, position)
        remaining, position = remaining[written:], position + written
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _make_room(descriptor: int, size: int) -> None:
    """Fail before anything is overwritten where the disk has no room."""
    before = os.fstat(descriptor).st_size
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            os.ftruncate(descriptor, before)  # some of it may have been there
            raise
