"""Everything about a tree of files that somebody could have changed."""

import contextlib
import fcntl
import os
import stat
import struct
from pathlib import Path
from typing import NamedTuple

_FS_IOC_GETFLAGS = 0x80086601


class _Entry(NamedTuple):
    mode: int
    uid: int
    gid: int
    links: int
    modified: int
    content: bytes
    attributes: tuple[tuple[str, bytes], ...]
    flags: int


class Snapshot:
    """A tree, or a file, or nothing, as it was at one moment.

    Args:
        path: its top.
        times: whether times count; they change when what was changed is put back.
    """

    def __init__(self, path: Path, *, times: bool = True) -> None:
        self._path = path
        self._times = times
        entries = dict(_walk(path))
        self._entries = entries if times else {name: each._replace(modified=0) for name, each in entries.items()}

    def changes(self) -> str:
        """What is different now; empty if nothing is."""
        now = Snapshot(self._path, times=self._times)._entries
        before = self._entries
        different = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
        return ", ".join(
            f"{path} {'is new' if path not in before else 'is gone' if path not in now else 'was changed'}"
            for path in different
        )


def _walk(path: Path) -> "list[tuple[str, _Entry]]":
    try:
        status = path.lstat()
    except OSError:
        return []
    found = [(str(path), _entry(path, status))]
    if stat.S_ISDIR(status.st_mode):
        for child in sorted(path.iterdir()):
            found += _walk(child)
    return found


def _entry(path: Path, status: os.stat_result) -> _Entry:
    content, flags = b"", 0
    attributes: tuple[tuple[str, bytes], ...] = ()
    is_file, is_directory = stat.S_ISREG(status.st_mode), stat.S_ISDIR(status.st_mode)
    if is_file:
        content = path.read_bytes()
    elif stat.S_ISLNK(status.st_mode):
        content = os.readlink(path).encode()
    if is_file:
        attributes = tuple((name, os.getxattr(path, name)) for name in sorted(os.listxattr(path)))
        flags = _flags(path)
    # A directory's links and time only say what its entries say too, and change when a name comes and goes.
    links, modified = (0, 0) if is_directory else (status.st_nlink, status.st_mtime_ns)
    return _Entry(status.st_mode, status.st_uid, status.st_gid, links, modified, content, attributes, flags)


def _flags(path: Path) -> int:
    with contextlib.suppress(OSError), path.open("rb") as file:
        (flags,) = struct.unpack("i", fcntl.ioctl(file, _FS_IOC_GETFLAGS, bytes(4)))
        return int(flags)
    return 0
