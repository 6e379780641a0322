"""Recognizes files that the user has made: they came into being while no command was in a call that could do it.

A command can write a file only if it creates or opens it (`confinement.write_calls`). Of a file that was born after the
last such call of all commands, no command has a descriptor, a mapping or another name, and none has given it its name.

An older file is changed by the user if nobody had it open for writing after the last such call: the kernel gives a read
lease only on such files.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import stat
import time
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from kaa.hands.below import RootDirectory, reach_below
from kaa.hands.confinement import kernel
from kaa.hands.confinement.contract import ConfinementError
from kaa.hands.confinement.write_calls import Moment, WriteCalls
from kaa.hands.guard.items import names_in
from kaa.hands.guard.subjects import Subject

_MARGIN_NS = 20_000_000  # the clock of files lags, by a tick of the kernel
_CLOCKS_PART_NS = 200_000_000  # as much as the clock of files was set, and not only slewed, in between
_MAX_ENTRIES = 4096  # of a directory, with those below

# linux/stat.h: struct statx
_STATX_BYTES = 256
_BASIC_STATS, _BIRTH = 0x7FF, 0x800
_NO_FOLLOW, _NO_AUTOMOUNT = 0x100, 0x800

Identity: TypeAlias = tuple[int, int]  # device and inode


class _Birth(NamedTuple):
    """What is under a name, and since when it exists.

    Attributes:
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
        # Files that no command can have open for writing, as long as no command has made a call since then.
        self._closed: dict[tuple[Subject, str], tuple[Moment, Identity]] = {}
        self._can_ask = False

    @property
    def knows_calls(self) -> bool:
        return self._calls is not None

    def begin(self) -> None:
        """From now on only commands run whose calls are noted."""
        self._discerns_since = Moment.now()
        with contextlib.suppress(ValueError):  # not the first thread
            signal.signal(signal.SIGIO, signal.SIG_IGN)  # somebody opens what we have a lease on
            self._can_ask = True

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

    def is_noted_closed(self, subject: Subject, path: str, calm: Moment) -> bool:
        """Whether it is known since calm times that no command has a file open for writing."""
        return self._closed.get((subject, path), (None, None))[0] == calm

    def note_closed(self, subject: Subject, path: str, calm: Moment, identity: Identity) -> None:
        """Remember that a file was what it should be when nobody had it open for writing, in these calm times."""
        self._closed[subject, path] = calm, identity
        if len(self._closed) > _MAX_ENTRIES:
            del self._closed[next(iter(self._closed))]

    def may_change(self, subject: Subject, path: str, directory: int, calm: Moment) -> bool:
        """Whether what is different in a file, below an open directory, is the user's."""
        noted, identity = self._closed.get((subject, path), (None, None))
        if noted != calm:
            return False
        with contextlib.suppress(OSError), _opened(directory, os.path.join(subject.name, path).rstrip("/")) as file:
            return _identity(file) == identity
        return False

    def closed(self, directory: int, path: str) -> Identity | None:
        """Return which file is at a path below an open directory, if nobody has it open for writing."""
        if not self._can_ask:
            return None
        with contextlib.suppress(OSError), _opened(directory, path) as file:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            return _identity(file)
        return None

    def _births(self, directory: int, path: str) -> list[_Birth]:
        """Return those of all entries; nothing if they are not known."""
        parent, _, name = path.rpartition("/")
        found: list[_Birth] = []
        try:
            with reach_below(RootDirectory("", directory), parent) as descriptor:
                return found if descriptor is not None and _collect(descriptor, name, found) else []
        except (OSError, ConfinementError):
            return []


@contextlib.contextmanager
def _opened(directory: int, path: str) -> Iterator[int]:
    """Open a file on a way without links.

    Raises:
        OSError: there is none.
    """
    parent, _, name = path.rpartition("/")
    with reach_below(RootDirectory("", directory), parent) as descriptor:
        if descriptor is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        file = os.open(name, flags, dir_fd=descriptor)
        try:
            yield file
        finally:
            os.close(file)


def _identity(file: int) -> Identity | None:
    """Return which regular file it is, if it has one name."""
    status = os.fstat(file)
    is_plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    return (status.st_dev, status.st_ino) if is_plain else None


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
    if not int.from_bytes(read[:4], "little") & _BIRTH or not kernel.has_times_of_this_machine(directory):
        return None
    fields = ((16, 20), (28, 30), (80, 88), (88, 92))
    links, mode, seconds, part = (int.from_bytes(read[at:end], "little") for at, end in fields)
    return _Birth(mode, links, seconds * 1_000_000_000 + part)
