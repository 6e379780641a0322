"""Opens files of kaa's own home only if they are regular files: a named pipe would make kaa wait for its writer."""

import errno
import os
import stat


def regular(path: str, flags: int) -> int:
    """Open a file; the `opener` of Python's `open`.

    Args:
        path: the file; symlinks are followed.
        flags: of os.open.

    Returns:
        A descriptor.

    Raises:
        OSError: it cannot be opened, or is a named pipe, a socket, a device or a directory.
    """
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
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


def read_regular(path: "str | os.PathLike[str]") -> bytes:
    """The content of a regular file.

    Raises:
        OSError: as for `regular`, or it cannot be read.
    """
    with open(path, "rb", opener=regular) as file:
        return file.read()


def _refused(what: str, path: str) -> OSError:
    return OSError(errno.EINVAL, f"it is {what} and not a regular file", path)
