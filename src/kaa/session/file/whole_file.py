"""Writes files that get their name when they are whole: a killed kaa leaves no half of one.

On Linux they have no name at all before that, so nothing is left beside them either.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from typing import BinaryIO, Final

from kaa.session.file.append_file import PRIVATE_FILE
from kaa.session.file.new_name import NO_LINKS

_UNNAMED: Final = getattr(os, "O_TMPFILE", 0)
_DESCRIPTORS: Final = "/proc/self/fd"
_BUFFER_BYTES: Final = 1024 * 1024


@contextlib.contextmanager
def whole_file(name: str, folder: int, *, replace: bool = False) -> Iterator[BinaryIO]:
    """Write a file that only the user can read. If anything fails there is none, and what was there before still is.

    Args:
        folder: an open descriptor of the folder that it is in.

    Raises:
        FileExistsError: there is something of this name, and it is not to be replaced.
        OSError: it cannot be written.
    """
    if not replace:
        _check_free(name, folder)
    descriptor = _unnamed(folder)
    if descriptor is not None:
        with open(descriptor, "wb", _BUFFER_BYTES) as file:
            yield file
            file.flush()
            try:
                if replace:
                    _replace(descriptor, name, folder)
                else:
                    _name(descriptor, name, folder)
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                with (
                    open(f"{_DESCRIPTORS}/{descriptor}", "rb") as written,
                    _named_file(name, folder, replace=replace) as copy,
                ):
                    shutil.copyfileobj(written, copy, _BUFFER_BYTES)
        return
    with _named_file(name, folder, replace=replace) as file:
        yield file


@contextlib.contextmanager
def _named_file(name: str, folder: int, *, replace: bool) -> Iterator[BinaryIO]:
    """Write a file that has a name beside its own until it is whole. Arguments as above."""
    beside = f".{name}.{os.getpid()}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(beside, flags, PRIVATE_FILE, dir_fd=folder)
    try:
        with open(descriptor, "wb", _BUFFER_BYTES) as file:
            yield file
    except BaseException:
        _unlink(beside, folder)
        raise
    if replace:
        _move(beside, name, folder)
    else:
        _move_to_free(beside, name, folder)


def _unnamed(folder: int) -> int | None:
    """Open a file without a name in a folder; None if there are none on its file system."""
    if not _UNNAMED or not os.path.isdir(_DESCRIPTORS):
        return None
    try:
        return os.open(".", os.O_WRONLY | _UNNAMED | os.O_CLOEXEC, PRIVATE_FILE, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            return None
        raise


def _name(descriptor: int, name: str, folder: int) -> None:
    # open(2): how a file gets a name that was opened with O_TMPFILE.
    os.link(f"{_DESCRIPTORS}/{descriptor}", name, dst_dir_fd=folder, follow_symlinks=True)


def _replace(descriptor: int, name: str, folder: int) -> None:
    """Give a file without a name that of another one. It has a name beside that in between."""
    beside = f".{name}.part"
    try:
        _name(descriptor, beside, folder)
    except FileExistsError:  # of a kaa that was killed in between
        os.unlink(beside, dir_fd=folder)
        _name(descriptor, beside, folder)
    _move(beside, name, folder)


def _move(beside: str, name: str, folder: int) -> None:
    try:
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        _unlink(beside, folder)
        raise


def _move_to_free(beside: str, name: str, folder: int) -> None:
    """Move a file to a name that nothing has. Without hard links, the name could be taken at the last moment."""
    try:
        os.link(beside, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            _unlink(beside, folder)
            raise
        _check_free(name, folder)
        _move(beside, name, folder)
    else:
        _unlink(beside, folder)


def _check_free(name: str, folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.stat(name, dir_fd=folder, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)


def _unlink(name: str, folder: int) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)
