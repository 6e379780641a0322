"""Reading: slices, lines, listings and what is known of a file."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kaa.hands.digest import new_digest
from kaa.hands.lines import Lines, slice_lines
from kaa.hands.places import FileLocation
from kaa.hands.wire import MAX_BODY_BYTES

_COUNT_LINES_UP_TO_BYTES = 8 * 1024 * 1024
_MIN_READ_BYTES = 4096
_MAX_READ_BYTES = 8 * 1024 * 1024


class Slice(NamedTuple):
    """A piece of a file. `digest`: of the whole file, None unless all of it was read."""

    data: bytes
    size: int
    digest: str | None


class Info(NamedTuple):
    path: str
    real_path: str
    kind: str
    size: int
    mode: int
    modified_ns: int


def read_slice(place: FileLocation, offset: int, length: int | None) -> Slice:
    """Read bytes from `offset` on; None: up to the end.

    Raises:
        OSError: it is no readable regular file, or the slice is too large.
    """
    with open_regular(place) as (descriptor, stated_size):
        available = max(stated_size - offset, 0)
        if available > MAX_BODY_BYTES and (length is None or length > MAX_BODY_BYTES):
            raise OSError(errno.EFBIG, f"{available} bytes are too many to read at once; read a part of the file")
        data = _read(descriptor, offset, MAX_BODY_BYTES if length is None else min(length, MAX_BODY_BYTES), available)
        size = max(stated_size, offset + len(data) if data else 0)  # files of /proc say 0
        whole = offset == 0 and len(data) == size
        return Slice(data, size, new_digest(data).hexdigest() if whole else None)


def read_lines(place: FileLocation, start: int, max_lines: int, max_bytes: int) -> tuple[Lines, int]:
    """Some lines of a file, and its size in bytes. All lines are counted only if the file is not large."""
    with open_regular(place) as (descriptor, size):
        count = size <= _COUNT_LINES_UP_TO_BYTES
        return slice_lines(lambda n: os.read(descriptor, n), start, max_lines, max_bytes, count=count), size


def read_start(place: FileLocation, max_bytes: int) -> bytes:
    """The first bytes of a file."""
    with open_regular(place) as (descriptor, size):
        return _read(descriptor, 0, max_bytes, size)


def info(path: str) -> Info | None:
    """What is at a path; a symlink that leads nowhere is reported as such."""
    try:
        status = os.stat(path)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
    return _info(path, os.path.realpath(path), status)


def info_of(place: FileLocation) -> Info | None:
    """What is at a place that no symlink leads to."""
    try:
        return _info(place.path, place.path, place.status())
    except FileNotFoundError:
        return None


def entries(place: FileLocation) -> Iterator[tuple[str, str]]:
    """Kind and name of what is in a directory."""
    descriptor = place.open(os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(descriptor) as directory:
            for entry in directory:
                yield _entry_kind(entry), entry.name
    finally:
        os.close(descriptor)


@contextmanager
def open_regular(place: FileLocation) -> Iterator[tuple[int, int]]:
    """Open a regular file for reading: descriptor and size.

    Anything else is refused before it is opened, as opening alone wakes the writer of a FIFO or rewinds a tape,
    and again after, as it may have been exchanged meanwhile.
    """
    refuse_irregular(place.status())
    descriptor = place.open(os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        refuse_irregular(status)
        yield descriptor, status.st_size
    finally:
        os.close(descriptor)


def refuse_irregular(status: os.stat_result) -> None:
    """Raise unless it is a regular file."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, f"Not a regular file but a {_irregular_name(status.st_mode)}")


def _read(descriptor: int, offset: int, length: int, likely: int) -> bytes:
    """Read up to `length` bytes; less only at the end of the file. `likely`: how many there probably are."""
    at_once = min(length, max(likely, _MIN_READ_BYTES), _MAX_READ_BYTES)
    data = os.pread(descriptor, at_once, offset)
    if len(data) == length or not data:
        return data
    whole = bytearray(data)
    while len(whole) < length:
        piece = os.pread(descriptor, min(length - len(whole), at_once), offset + len(whole))
        if not piece:
            break
        whole += piece
    return bytes(whole)


def _info(path: str, real_path: str, status: os.stat_result) -> Info:
    mode = status.st_mode
    return Info(path, real_path, _kind(mode), status.st_size, stat.S_IMODE(mode), status.st_mtime_ns)


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "other"


def _entry_kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_dir():
            return "directory"
        if entry.is_file():
            return "file"
    except OSError:  # a symlink in a circle or to where we may not look
        return "symlink"
    return "symlink" if entry.is_symlink() else "other"


def _irregular_name(mode: int) -> str:
    names = {stat.S_IFIFO: "named pipe", stat.S_IFSOCK: "socket", stat.S_IFBLK: "device", stat.S_IFCHR: "device"}
    return names.get(stat.S_IFMT(mode), "special file")
