"""Opens and locks files of kaa's own home, whatever it lies on.

A named pipe would make kaa wait for its writer. Some file systems have no locks: what only saves work goes on there.
"""

import errno
import fcntl
import os
import stat
from typing import Final

_NO_LOCKS: Final = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})


def regular(path: str, flags: int, *, dir_fd: int | None = None) -> int:
    """Open a file; the `opener` of Python's `open`.

    Args:
        path: the file; symlinks are followed.
        flags: of os.open.
        dir_fd: the folder that a relative path begins in.

    Returns:
        A descriptor.

    Raises:
        OSError: it cannot be opened, or is a named pipe, a socket, a device or a directory.
    """
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=dir_fd)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise _refused("a socket", path) from error  # or a pipe that nobody reads, if it is opened for writing
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise _refused("a named pipe" if stat.S_ISFIFO(mode) else "a device", path)


def text_of(path: str, most_bytes: int = 8 * 1024 * 1024) -> bytes:
    """The beginning of a file. What a command has put in its place is not waited for: a named pipe has none.

    Raises:
        OSError: it cannot be read.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(most_bytes) or b""


def read_regular(path: "str | os.PathLike[str]") -> bytes:
    """The content of a regular file.

    Raises:
        OSError: as for `regular`, or it cannot be read.
    """
    with open(path, "rb", opener=regular) as file:
        return file.read()


def lock(descriptor: int, how: int) -> bool:
    """Lock an open file as flock(2) does. Returns False if its file system has no locks.

    Args:
        descriptor: of the file.
        how: `fcntl.LOCK_SH` or `fcntl.LOCK_EX`, and `fcntl.LOCK_NB` to not wait.

    Raises:
        BlockingIOError: somebody else has the lock, with `LOCK_NB`.
        OSError: the system failed.
    """
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return False
    return True


def _refused(what: str, path: str) -> OSError:
    return OSError(errno.EINVAL, f"it is {what} and not a regular file", path)
