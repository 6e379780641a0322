"""Opens and locks files of kaa's own home, whatever it lies on.

A named pipe would make kaa wait for its writer. Some file systems have no locks: what only saves work goes on there.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from typing import BinaryIO, Final, TypeAlias

_Opener: TypeAlias = Callable[[str, int], int]

_NO_LOCKS: Final = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})


def regular(path: str, flags: int, *, dir_fd: int | None = None) -> int:
    """Open a file; the `opener` of Python's `open`.

    Args:
        path: the file; symlinks are followed.
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


def straight(path: str, flags: int) -> int:
    """Open what is at a real path; an `opener`. A command may have put a link there, or on the way, meanwhile.

    Raises:
        OSError: as for `regular`, or there is a link.
    """
    descriptor = regular(path, flags | os.O_NOFOLLOW)
    if place_of(descriptor, path) == path:
        return descriptor
    os.close(descriptor)
    raise PermissionError(errno.EPERM, "a link has come on the way to it", path)


def unplanted(path: str, flags: int) -> int:
    """Open a text of the user's own; an `opener`. Links lead wherever the user wants, but for those of commands.

    Raises:
        OSError: as for `regular`, or a link that a command may have made leads out of where commands can write.
    """
    descriptor = regular(path, flags)
    try:
        if (real := place_of(descriptor, path)) != path:
            from kaa.host.known_projects import planted_link  # lazy, both: most texts are where they are named
            from kaa.host.paths import trail

            *links, now = trail(os.path.join(os.getcwd(), path))
            if planted := planted_link(links, now, os.environ, added=True):
                raise PermissionError(errno.EPERM, f"a command could have made the link {planted[0]} to it", path)
            if now != real:
                raise OSError(errno.EAGAIN, "it changes at this moment", path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def place_of(descriptor: int, path: str) -> str:
    """Return the real path of an open file, which is not where its path leads if a command exchanges a link there."""
    place = f"/proc/self/fd/{descriptor}"
    return os.readlink(place) if os.path.islink(place) else os.path.realpath(path)


def text_of(path: str, most_bytes: int = 8 * 1024 * 1024) -> bytes:
    """The beginning of a file. What a command has put in its place is not waited for: a named pipe has none.

    Raises:
        OSError: it cannot be read.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(most_bytes) or b""


def read_regular(
    path: "str | os.PathLike[str]", most_bytes: int = 64 * 1024 * 1024, opener: _Opener = regular
) -> bytes:
    """The content of a regular file. A command can make one that is longer than the memory of the machine.

    Raises:
        OSError: as for `opener`, it has more than `most_bytes`, or it cannot be read.
    """
    with open(path, "rb", opener=opener) as file:
        return read_open(file, most_bytes)


def read_open(file: BinaryIO, most_bytes: int) -> bytes:
    """The content of a regular file that is open.

    Raises:
        OSError: it has more than `most_bytes`, or it cannot be read.
    """
    size = os.fstat(file.fileno()).st_size
    data = file.read(size + 1) if size <= most_bytes else b""
    if len(data) > size:  # it has grown since, or its file system does not say how long it is
        data += file.read(most_bytes - size)
    if max(size, len(data)) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {size_of(most_bytes)}", file.name)
    return data


def size_of(count: int) -> str:
    """Give a number of bytes for people."""
    units = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
    return next((f"{count / unit:.3g} {name}" for unit, name in units if count >= unit), f"{count} bytes")


def beginning_of(path: "str | os.PathLike[str]", most_bytes: int, opener: _Opener = regular) -> bytes:
    """The first bytes of a regular file.

    Raises:
        OSError: as for `opener`, or it cannot be read.
    """
    with open(path, "rb", opener=opener) as file:
        return file.read(most_bytes)


def lock(descriptor: int, how: int) -> bool:
    """Lock an open file as flock(2) does. Returns False if its file system has no locks.

    Args:
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
