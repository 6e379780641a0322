"""Recognizes files that the user has made: they came into being while no command was in a call that could do it.

A command can write a file only if it creates or opens it (`confinement.write_calls`). Of a file that was born after the
last such call of all commands, no command has a descriptor, a mapping or another name, and none has given it its name.
"""

import ctypes
import os
import stat
import time
from typing import NamedTuple

from kaa.hands.below import RootDirectory, open_below
from kaa.hands.confinement import kernel
from kaa.hands.confinement.contract import ConfinementError
from kaa.hands.confinement.write_calls import Moment, WriteCalls
from kaa.hands.guard.items import names_in

_MARGIN_NS = 20_000_000  # the clock of files lags, by a tick of the kernel
_CLOCKS_PART_NS = 200_000_000  # as much as the clock of files was set, and not only slewed, in between
_MAX_ENTRIES = 4096  # of a directory, with those below

# linux/magic.h: ext2 to ext4, XFS, btrfs, tmpfs, F2FS, overlayfs. Their times are of this machine's clock; what others
# say is that of a server, or nothing.
_LOCAL = frozenset({0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0xF2F52010, 0x794C7630})

# linux/stat.h: struct statx
_STATX_BYTES = 256
_BASIC_STATS, _BIRTH = 0x7FF, 0x800
_NO_FOLLOW, _NO_AUTOMOUNT = 0x100, 0x800
_STATFS_BYTES = 256  # 120 on both architectures


class _Birth(NamedTuple):
    """What is under a name, and since when it exists.

    Attributes:
        mode: kind and permissions.
        links: how many names it has.
        born: nanoseconds since the epoch.
    """

    mode: int
    links: int
    born: int


class UsersFiles:
    """Judges new files, while only commands in the background run.

    Args:
        calls: what is noted of these; None if nothing is.
    """

    def __init__(self, calls: WriteCalls | None) -> None:
        self._calls = calls
        self._discerns_since: Moment | None = None

    @property
    def knows_calls(self) -> bool:
        """Whether anything is noted."""
        return self._calls is not None

    def begin(self) -> None:
        """From now on only commands run whose calls are noted."""
        self._discerns_since = Moment.now()

    def end(self) -> None:
        """From now on others may run."""
        self._discerns_since = None

    def calm_since(self) -> Moment | None:
        """Return since when no command can have made or opened a file; None if one may do it now."""
        since = self._discerns_since
        if self._calls is None or since is None or (over := self._calls.over_since()) is None:
            return None
        latest, now = max(since, over), Moment.now()
        parted = (now.real - now.monotonic) - (latest.real - latest.monotonic)
        return latest if abs(parted) < _CLOCKS_PART_NS else None

    @property
    def is_calm(self) -> bool:
        """Whether a file that is made now is the user's."""
        calm = self.calm_since()
        return calm is not None and calm.real + 2 * _MARGIN_NS < time.time_ns()

    def includes(self, directory: int, path: str, calm: Moment) -> bool:
        """Whether what is at a path below an open directory, and all that is in it, was born in calm times."""
        births = self._births(directory, path)
        earliest = calm.real + _MARGIN_NS
        return bool(births) and all(
            earliest < birth.born and (stat.S_ISDIR(birth.mode) or (stat.S_ISREG(birth.mode) and birth.links == 1))
            for birth in births
        )

    def _births(self, directory: int, path: str) -> list[_Birth]:
        """Return those of all entries; nothing if they are not known."""
        parent, _, name = path.rpartition("/")
        found: list[_Birth] = []
        with open_below(RootDirectory("", directory), parent) as descriptor:
            try:
                return found if descriptor is not None and _collect(descriptor, name, found) else []
            except (OSError, ConfinementError):
                return []


def _collect(directory: int, name: str, found: list[_Birth]) -> bool:
    birth = _birth(directory, name)
    if birth is None or len(found) >= _MAX_ENTRIES:
        return False
    found.append(birth)
    if not stat.S_ISDIR(birth.mode):
        return True
    below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        return all(_collect(below, one, found) for one in names_in(below))
    finally:
        os.close(below)


def _birth(directory: int, name: str) -> _Birth | None:
    """Return what statx(2) says; None if it knows no birth, or another machine says it.

    Raises:
        OSError: there is nothing.
        ConfinementError: the call is not known here.
    """
    memory = ctypes.create_string_buffer(_STATX_BYTES)
    flags = _NO_FOLLOW | _NO_AUTOMOUNT
    kernel.call("statx", directory, os.fsencode(name), flags, _BASIC_STATS | _BIRTH, ctypes.addressof(memory))
    read = memory.raw
    if not int.from_bytes(read[:4], "little") & _BIRTH or not _is_local(directory):
        return None
    fields = ((16, 20), (28, 30), (80, 88), (88, 92))
    links, mode, seconds, part = (int.from_bytes(read[at:end], "little") for at, end in fields)
    return _Birth(mode, links, seconds * 1_000_000_000 + part)


def _is_local(directory: int) -> bool:
    memory = ctypes.create_string_buffer(_STATFS_BYTES)
    kernel.call("fstatfs", directory, ctypes.addressof(memory))
    return int.from_bytes(memory.raw[:4], "little") in _LOCAL  # f_type is a long
