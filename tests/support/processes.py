"""What runs on this machine, as far as tests care. Needs /proc."""

import os
import time
from pathlib import Path

from tests.support.patience import HANG_SECONDS


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
        """The children of a process."""
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_bytes().rpartition(b")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == parent and fields[0] != b"Z":
                found.append(int(path.parent.name))
        return found

    def descendants(self, ancestor: int) -> list[int]:
        """All that a process started, as far as it was not orphaned."""
        found = list(self.children(ancestor))
        for pid in found:
            found += self.children(pid)
        return found

    def hands(self) -> int:
        """The fork-server that this process started."""
        for child in self.children(os.getpid()):
            is_own = os.getsid(child) == child  # the one that `warm_hands.py` forks from is in this session
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
