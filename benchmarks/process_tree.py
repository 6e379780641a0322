"""Runs a program and measures it with everything it starts: wall time, CPU time, memory."""

import contextlib
import ctypes
import os
import resource
import select
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

_TIMEOUT_SECONDS = 120
_SAMPLE_SECONDS = 0.002

# How long a program that is not needed any more may take to end, and how much of what it said is reported.
_GRACE_SECONDS = 5.0
_LAST_WORDS = 500

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


class Started:
    """A program that runs without terminal and input.

    Attributes:
        process: its process.
        started_ns: when, on the monotonic clock of the machine, in nanoseconds.
    """

    def __init__(self, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self._name = command[0]
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`; a pipe could fill up
        self.started_ns = time.monotonic_ns()
        self.process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._complaints
        )

    def wait(self) -> None:
        """Wait for the end of the program.

        Raises:
            RunFailedError: it failed, or took too long.
        """
        if self.process.poll() is None:
            ended = os.pidfd_open(self.process.pid)  # with a limit, `Popen.wait` looks only every 50 ms
            try:
                if not select.select([ended], [], [], _TIMEOUT_SECONDS)[0]:
                    raise RunFailedError(f"{self._name} took longer than {_TIMEOUT_SECONDS} s")
            finally:
                os.close(ended)
        if self.process.wait():
            raise self.failure()

    def failure(self) -> RunFailedError:
        """The error for a program that ended too early: its exit code and last words."""
        self._complaints.seek(0)
        last_words = self._complaints.read().decode("utf-8", "replace").rstrip()[-_LAST_WORDS:]
        return RunFailedError(f"{self._name} exited with {self.process.poll()}: {last_words}")

    def end(self) -> None:
        """End the program if it still runs."""
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_GRACE_SECONDS)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._complaints.close()


@contextlib.contextmanager
def started(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[Started]:
    """Start `command` without terminal and input, and end it and what it started at the end of the block."""
    program = Started(command, cwd, env)
    try:
        yield program
    finally:
        program.end()
        _reap_orphans()


def run(command: Sequence[str], *, cwd: Path, env: Mapping[str, str], sample_memory: bool = False) -> Measured:
    """Run `command` to its end without terminal and input.

    Sampling memory costs the program time, so a run measures one or the other.

    Raises:
        RunFailedError: it failed, or took too long.
    """
    cpu_before = _children_cpu()
    with started(command, cwd=cwd, env=env) as program:
        pss = _watch(program.process) if sample_memory else 0
        program.wait()
        wall = (time.monotonic_ns() - program.started_ns) / 1e9
    return Measured(wall, _children_cpu() - cpu_before, program.started_ns, pss)


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
    """User and system time, own and of ended children (proc_pid_stat(5), fields 16 and 17, in steps of 10 ms)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        own = time.clock_gettime(_cpu_clock(pid))
    except (FileNotFoundError, ProcessLookupError, OSError):
        return 0.0
    return own + sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")


def _cpu_clock(pid: int) -> int:
    """The clock of a process's CPU time in nanoseconds, as clock_getcpuclockid(3) makes it on Linux."""
    return ~pid << 3 | 2


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
