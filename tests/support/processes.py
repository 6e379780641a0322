"""What runs on this machine, as far as tests care. Needs /proc."""

import os
import time
from contextlib import suppress
from pathlib import Path

from tests.support.patience import HANG_SECONDS
from tests.support.warm_hands import name_for


class _Running:
    """All processes of a moment."""

    def __init__(self) -> None:
        self._names: dict[int, bytes] = {}
        self._parents: dict[int, int] = {}
        for name in os.listdir("/proc"):
            if not name.isdecimal():
                continue
            with suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                before, _, after = file.read().rpartition(b")")
                state, parent, *_ = after.split(maxsplit=2)
                self._names[int(name)] = before.partition(b"(")[2]
                if state != b"Z":
                    self._parents[int(name)] = int(parent)

    def children(self, parent: int) -> list[int]:
        """Those of a process, and the hands that were forked for it."""
        hands = name_for(parent).encode()  # and what they fork has the same name
        names, parents = self._names, self._parents
        are_hands = {pid for pid, its in parents.items() if names[pid] == hands and names.get(its) != hands}
        return [pid for pid, its in parents.items() if its == parent or pid in are_hands]


class Processes:
    """What runs on this machine, as far as the tests care."""

    @staticmethod
    def alive(pid: int) -> bool:
        """Whether a process runs; one that only waits to be reaped does not."""
        try:
            status = Path(f"/proc/{pid}/stat").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return status.rpartition(b")")[2].split()[0] not in (b"Z", b"X")

    @staticmethod
    def children(parent: int) -> list[int]:
        """The children of a process. Of these are the hands that `warm_hands.py` forked for it."""
        return _Running().children(parent)

    @staticmethod
    def descendants(ancestor: int) -> list[int]:
        """All that a process started, as far as it was not orphaned."""
        running = _Running()
        found = running.children(ancestor)
        for pid in found:
            found += running.children(pid)
        return found

    def hands(self) -> int:
        """The fork-server that this process started."""
        for child in self.children(os.getpid()):
            is_own = os.getsid(child) == child  # `warm_hands.py` itself is in this session
            if is_own and b"hands/__main__.py" in Path(f"/proc/{child}/cmdline").read_bytes():
                return child
        raise AssertionError("there are no hands")

    def wait_until_gone(self, *pids: int) -> None:
        """Wait for processes to end."""
        deadline = time.monotonic() + HANG_SECONDS
        while any(map(self.alive, pids)):
            assert time.monotonic() < deadline, f"still running: {[pid for pid in pids if self.alive(pid)]}"
            time.sleep(0.01)

    @staticmethod
    def pids_in(path: Path, count: int) -> list[int]:
        """Wait for a file that processes write their ids to."""
        deadline = time.monotonic() + HANG_SECONDS
        while not path.exists() or len(path.read_text().split()) < count:
            assert time.monotonic() < deadline, f"{path} was not written"
            time.sleep(0.01)
        return [int(word) for word in path.read_text().split()]
