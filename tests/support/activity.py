"""Whether a process and all that it started rest, and how often they wake. Needs Linux's /proc.

A busy machine changes nothing about what is seen: a thread that something wakes counts as running at once, however long
it has to wait for a processor.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

from tests.support.patience import HANG_SECONDS

# Longer than any pause in the middle of work: flushes and updates are gathered for up to 100 ms.
_QUIET_SECONDS = 0.13
_STEP_SECONDS = 0.02
_SLEEPING = frozenset("SZX")


class _Thread(NamedTuple):
    """A thread at one moment.

    Attributes:
        state: a letter of proc_pid_stat(5).
        slept: how often it has gone to sleep.
        displaced: how often another thread got its processor.
    """

    state: str
    slept: int
    displaced: int


class Activity:
    """A process, and all that it started and that was not orphaned."""

    def __init__(self, root: int) -> None:
        self._root = root

    def wait_until_quiet(self, seconds: float = _QUIET_SECONDS) -> None:
        """Wait until no thread has run for so long.

        Raises:
            TimeoutError: they never rest.
        """
        deadline = time.monotonic() + HANG_SECONDS
        strangers: set[int] = set()
        seen, since = self._threads(strangers), time.monotonic()
        while time.monotonic() - since < seconds:
            time.sleep(_STEP_SECONDS)
            now = self._threads(strangers)
            if now != seen or any(thread.state not in _SLEEPING for thread in now.values()):
                seen, since = now, time.monotonic()
            if time.monotonic() > deadline:
                raise TimeoutError(f"process {self._root} does not rest: {seen}")

    def wake_ups(self, seconds: float) -> float:
        """How often threads wake in a second, counted for so many."""
        began, before = time.monotonic(), self._threads(set())
        time.sleep(seconds)
        after = self._threads(set())
        count = sum(thread.slept - (before[task].slept if task in before else 0) for task, thread in after.items())
        return count / (time.monotonic() - began)

    def _threads(self, strangers: set[int]) -> dict[int, _Thread]:
        """All threads by their ids. `strangers`: processes that are known not to belong here; gets more."""
        parents: dict[int, int] = {}
        for name in os.listdir("/proc"):
            if name.isdecimal() and int(name) not in strangers and (parent := _parent(name)) is not None:
                parents[int(name)] = parent
        family = [self._root]
        for pid in family:
            family += [child for child, parent in parents.items() if parent == pid]
        strangers |= parents.keys() - set(family)
        return {
            int(path.name): thread
            for pid in family
            for path in _tasks(pid)
            if (thread := _thread(path / "status")) is not None
        }


def _parent(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:  # it has ended
        return None


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def _thread(path: Path) -> _Thread | None:
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return None
    fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return _Thread(
        fields["State"][0], int(fields["voluntary_ctxt_switches"]), int(fields["nonvoluntary_ctxt_switches"])
    )
