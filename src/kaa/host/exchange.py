"""Exchanges two files or folders in one step, so that there is one of them under each name whenever kaa is killed."""

import errno
import os
import sys
from pathlib import Path

_AT_FDCWD = -100  # linux/fcntl.h
_RENAME_EXCHANGE = 2  # linux/fs.h, renameat2(2)
_RENAME_SWAP = 2  # macOS: renamex_np(2)
# The kernel, its file system or the C library has no such operation.
_MISSING = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def exchange(one: Path, other: Path) -> None:
    """Give each of two paths of one file system what the other has; links are not followed.

    Where the file system cannot do that in one step, kaa renames three times.

    Raises:
        OSError: they cannot be renamed.
    """
    try:
        _exchange(one, other)
    except OSError as error:
        if error.errno not in _MISSING:
            raise
        spare = one.with_name(f"{one.name}.exchanged")
        other.rename(spare)
        one.rename(other)
        spare.rename(one)


def _exchange(one: Path, other: Path) -> None:
    import ctypes  # lazy: few commands install anything

    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "darwin":
            result = library.renamex_np(*names, _RENAME_SWAP)
        else:
            result = library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)
    except AttributeError as error:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))
