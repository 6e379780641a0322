"""Runs a program and measures it with everything it starts: wall time, CPU time, memory."""

import ctypes
import os
import resource
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

_TIMEOUT_SECONDS = 120
_SAMPLE_SECONDS = 0.002

# prctl(2): orphans of our descendants become our children, so that none escapes the measurement.
_PR_SET_CHILD_SUBREAPER = 36


class Measured(msgspec.Struct, frozen=True):
    """One run.

    Attributes:
        wall: seconds until the program exited.
        cpu: seconds of user and system time, of the program and all its descendants.
        started_ns: when, on the monotonic clock of the machine, in nanoseconds.
        pss: the most memory at one time, in bytes, shared pages counted in part; 0 if not sampled.
    """

    wall: float
    cpu: float
    started_ns: int
    pss: int = 0


class RunFailedError(Exception):
    """The program did not do what the measurement needs; the message has its last words."""


def adopt_orphans() -> None:
    """To be called once, before the first run. Linux only."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(command: Sequence[str], *, cwd: Path, env: Mapping[str, str], sample_memory: bool = False) -> Measured:
    """Run `command` to its end without terminal and input.

    Sampling memory costs the program time, so a run measures one or the other.

    Raises:
        RunFailedError: it failed, or took too long.
    """
    cpu_before = _children_cpu()
    with tempfile.TemporaryFile() as complaints:  # a pipe could fill up while memory is sampled
        started_ns = time.monotonic_ns()
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints
        )
        pss = _watch(process) if sample_memory else 0
        try:
            code = process.wait(_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.wait()
            raise RunFailedError(f"{command[0]} took longer than {_TIMEOUT_SECONDS} s") from error
        wall = (time.monotonic_ns() - started_ns) / 1e9
        if code:
            complaints.seek(0)
            last_words = complaints.read().decode("utf-8", "replace")[-500:]
            raise RunFailedError(f"{command[0]} exited with {code}: {last_words}")
    _reap_orphans()
    return Measured(wall, _children_cpu() - cpu_before, started_ns, pss)


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _reap_orphans() -> None:
    """Collect descendants that outlived the program, so that their time counts. Ours are waited for elsewhere."""
    deadline = time.monotonic() + 1
    while (orphans := _descendants(os.getpid()) - _OURS) and time.monotonic() < deadline:
        for pid in orphans:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue  # the child of an orphan
        time.sleep(_SAMPLE_SECONDS)


# Children of the benchmark itself that live on, such as the model's server.
_OURS: set[int] = set()


def exempt_children() -> None:
    """Leave the children that are running now out of what is measured."""
    _OURS.update(_descendants(os.getpid()))


def tree_pss(root: int) -> int:
    """The memory that a process and all it started use now, in bytes, shared pages counted in part."""
    return sum(_pss(pid) for pid in {root, *_descendants(root)})


def tree_cpu(root: int) -> float:
    """Seconds of user and system time of a process and all it started, as far as that lives or was waited for."""
    return sum(_cpu(pid) for pid in {root, *_descendants(root)})


def tree_commands(root: int) -> list[list[str]]:
    """The command lines of all that a process started and that still runs."""
    found: list[list[str]] = []
    for pid in _descendants(root):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_text().split("\0"))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _cpu(pid: int) -> float:
    """User and system time, own and of ended children (proc_pid_stat(5), fields 14 to 17)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _watch(process: "subprocess.Popen[bytes]") -> int:
    """The peak of the memory of the tree until the program ends."""
    peak = 0
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        peak = max(peak, sum(_pss(pid) for pid in _descendants(os.getpid()) - _OURS))
        time.sleep(_SAMPLE_SECONDS)
    return peak


def _descendants(root: int) -> set[int]:
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children[_parent(entry)].append(int(entry.name))
    found: set[int] = set()
    waiting = [root]
    while waiting:
        fresh = children[waiting.pop()]
        found.update(fresh)
        waiting += fresh
    return found


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return -1


def _pss(pid: int) -> int:
    """Proportional set size in bytes (proc_pid_smaps(5)); 0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
