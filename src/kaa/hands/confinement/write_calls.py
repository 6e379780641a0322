"""Since when no background command has been in a call that can create a file or open one for writing.

The filter of slots for background commands notifies of these calls (`seccomp`). They are noted and go on: this is
evidence about time and decides nothing about the call. What another program makes in a time without such calls cannot
come from these commands, and the guard leaves it alone.

A call is noted before the kernel begins with it. It counts as under way until its thread has been seen outside: the
scheduler can hold a thread up for seconds in the middle of a call, so waiting for some time would prove nothing.
"""

import os
import struct
import time
from typing import NamedTuple

from kaa.hands.confinement import seccomp
from kaa.hands.confinement.kernel import architecture

_FIRST_LOOK_SECONDS, _LONGEST_PAUSE_SECONDS = 0.02, 1.0
_BUSY = 2**63 - 1
_ENTRY = struct.Struct("=qq")


class Moment(NamedTuple):
    """The same moment on two clocks, in nanoseconds: files have times of the first, which can be set."""

    real: int
    monotonic: int

    @classmethod
    def now(cls) -> "Moment":
        return cls(time.time_ns(), time.monotonic_ns())


class WriteCalls:
    """What attendants of slots note, in memory that they share with the guard.

    Args:
        file: descriptor of the memory, which others have too; None makes it.
    """

    def __init__(self, file: int | None = None) -> None:
        self._file = os.memfd_create("kaa-write-calls") if file is None else file
        self._slots = 0

    def fileno(self) -> int:
        """Return the descriptor of the memory."""
        return self._file

    def close(self) -> None:
        """Let go of the memory."""
        os.close(self._file)

    def next_place(self) -> int:
        """In the fork-server: return the place of a new slot. No place is used twice."""
        place, self._slots = self._slots, self._slots + 1
        os.pwrite(self._file, _ENTRY.pack(0, 0), place * _ENTRY.size)
        return place

    def begin(self, place: int) -> None:
        """A call of a slot is about to be made."""
        os.pwrite(self._file, _ENTRY.pack(_BUSY, 0), place * _ENTRY.size)

    def end(self, place: int) -> None:
        """No call of a slot is under way now."""
        os.pwrite(self._file, _ENTRY.pack(*Moment.now()), place * _ENTRY.size)

    def over_since(self) -> Moment | None:
        """Return since when no call of any slot has been under way; None if one may be now."""
        data = os.pread(self._file, os.fstat(self._file).st_size, 0)
        latest = max((Moment(*entry) for entry in _ENTRY.iter_unpack(data)), default=Moment(0, 0))
        return None if latest.real == _BUSY else latest


class CallNotes:
    """Notes the calls of one slot. For its attendant."""

    def __init__(self, calls: WriteCalls, place: int) -> None:
        self._calls = calls
        self._place = place
        self._threads: set[int] = set()  # that may be in a call
        self._due = 0.0
        self._pause = _FIRST_LOOK_SECONDS
        machine = architecture()
        self._noted = frozenset() if machine is None else seccomp.noted_calls(machine)

    def note(self, thread: int) -> None:
        """A thread is going to make a call."""
        if not self._threads:
            self._calls.begin(self._place)
        self._threads.add(thread)
        self._pause = _FIRST_LOOK_SECONDS
        self._due = time.monotonic() + self._pause

    def seconds_left(self) -> float | None:
        """Return in how many seconds `look` has something to do, if it has."""
        return max(0.0, self._due - time.monotonic()) if self._threads else None

    def look(self) -> None:
        """Find out which threads have left their calls, if it is time to."""
        if not self._threads or time.monotonic() < self._due:
            return
        self._threads = {thread for thread in self._threads if self._may_be_in_call(thread)}
        if not self._threads:
            self._calls.end(self._place)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
        self._due = time.monotonic() + self._pause

    def close(self) -> None:
        """No process is left."""
        if self._threads:
            self._calls.end(self._place)

    def _may_be_in_call(self, thread: int) -> bool:
        """A thread that waits says in which call, proc(5); of one that runs, nobody knows."""
        try:
            with open(f"/proc/{thread}/syscall", "rb") as file:
                first = file.read(64).split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        except (OSError, IndexError):
            return True
        return first == b"running" or int(first) in self._noted
