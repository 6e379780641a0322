"""The processes a command leaves in its wake: adopted, counted, signalled and reaped. What it changed about its own.

A command may put its children into other sessions and let them outlive their parents. As subreaper the slot becomes
the parent of every orphan, so its descendants in /proc are exactly what the command started. Where there is no
/proc (macOS), the command's process group has to do.
"""

import contextlib
import os
import resource
import signal
import time
from collections.abc import Iterable
from typing import Protocol, TypeAlias

from kaa.hands.confinement import kernel

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_KILL_SECONDS = 1.0  # a process in an uninterruptible system call does not die before the call ends
_KILL_PAUSE_SECONDS = 0.001
_HALT_SECONDS = 5.0
_VFORK_TRIES = 10  # then its child goes on, as one that waits for the exec of its child does not stop, vfork(2)
_STOPPED = frozenset({"T", "t"})  # by a signal, or by who traces it
_STILL = _STOPPED | {"Z", ""}
_HAS_PROC = os.path.exists("/proc/self/stat")
_LIMITS = range(16)  # RLIM_NLIMITS; Python has names for most
_MOST_OPEN_FILES = 65536
_OF_PROCESS = 1  # IOPRIO_WHO_PROCESS of ioprio_set(2)

Standing: TypeAlias = tuple[object, ...]

_usual_open_files: list[int] = []  # for commands


def allow_open_files() -> None:
    """Allow this process, and those that it forks, to have as many files open as the system does.

    Each mount takes one, and each level of a directory that is looked at: with the usual 1,024, there were no walls for
    a folder with hundreds of repositories.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        _usual_open_files[:] = [soft]


def restore_open_files() -> None:
    """Allow this process, and what it executes, only as many as before."""
    if _usual_open_files:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (_usual_open_files[0], hard))


def become_subreaper() -> None:
    """Become the parent of all orphaned descendants. Children do not inherit this. Does nothing without /proc."""
    if not _HAS_PROC:
        return
    import ctypes  # not on macOS, where nothing is to be called

    libc = ctypes.CDLL(None, use_errno=True)
    arguments = [ctypes.c_ulong(value) for value in (1, 0, 0, 0)]
    if libc.prctl(ctypes.c_int(_PR_SET_CHILD_SUBREAPER), *arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class ChildSignals:
    """A descriptor that becomes readable when a child ends."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def fileno(self) -> int:
        return self._read

    def clear(self) -> None:
        """Forget the signals so far; reap after this, not before."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)

    def close(self) -> None:
        """Stop listening, as a forked child must before it listens itself."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(self._read)
        os.close(self._write)


class Members(Protocol):
    """Which processes belong to a tree."""

    def states(self) -> dict[int, str]:
        """The processes that nobody has reaped, with their states as proc(5) names them; one is empty if not known."""

    def send(self, number: int) -> None:
        """Send a signal to every one of them."""


class Descendants:
    """The descendants of some processes, found in /proc."""

    def __init__(self, ancestors: set[int]) -> None:
        self._ancestors = ancestors

    def states(self) -> dict[int, str]:
        """The processes that nobody has reaped and their states, parents before their children."""
        children: dict[int, list[int]] = {}
        states = {}
        for pid, parent, state in _process_table():
            children.setdefault(parent, []).append(pid)
            states[pid] = state
        found: list[int] = []
        remaining = list(self._ancestors)
        while remaining:
            below = children.get(remaining.pop(), [])
            remaining += below
            found += below
        return {pid: states[pid] for pid in found}

    def send(self, number: int) -> None:
        """Send a signal to every one of them."""
        _send(self.states(), number)


class Namespace:
    """Everybody in the process namespace whose first process the calling one is."""

    def __init__(self, leader: int) -> None:
        self._leader = leader

    def states(self) -> dict[int, str]:
        """The processes that nobody has reaped; where /proc shows another namespace, at least the leader."""
        if not _proc_is_own():
            return {self._leader: ""}
        return {pid: state for pid, _, state in _process_table() if pid != 1}

    def send(self, number: int) -> None:
        """Send a signal to all of them at once: none can be born in between."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(-1, number)


class ProcessGroup:
    """A process group: what can be known without /proc."""

    def __init__(self, leader: int) -> None:
        self._leader = leader

    def states(self) -> dict[int, str]:
        """The leader if any process of the group is left."""
        try:
            os.killpg(self._leader, 0)
        except (ProcessLookupError, PermissionError):
            return {}
        return {self._leader: ""}

    def send(self, number: int) -> None:
        """Send a signal to the group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, number)


class ProcessTree:
    """Everything one command started.

    Args:
        own_namespace: the calling process is the first of a process namespace in which nobody else lives.

    Attributes:
        leader_status: raw wait status of the command itself once it has ended.
    """

    def __init__(self, leader: int, *, own_namespace: bool) -> None:
        self._leader = leader
        self._members: Members
        if own_namespace:
            self._members = Namespace(leader)
        elif _HAS_PROC:
            self._members = Descendants({os.getpid()})
        else:
            self._members = ProcessGroup(leader)
        self._no_children = False
        self._stopped: frozenset[int] = frozenset()  # already, before all of it was
        self.leader_status: int | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing of it is left."""
        return self._no_children and (_HAS_PROC or not self._members.states())

    def reap(self) -> None:
        """Collect the processes that have ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._no_children = True
                return
            if pid == 0:
                return
            if pid == self._leader:
                self.leader_status = status

    def count(self) -> int:
        """How many processes are running."""
        return sum(state != "Z" for state in self._members.states().values())

    def terminate(self) -> None:
        """Ask all of it to end; stopped processes are woken so that they can."""
        self._members.send(signal.SIGTERM)
        self._members.send(signal.SIGCONT)

    def halt(self) -> bool:
        """Stop all of it. Returns whether nothing of it runs, nor is in a system call; gives up after a while."""
        before = self._members.states()
        self._stopped = frozenset(pid for pid, state in before.items() if state in _STOPPED)
        tries, deadline = 0, time.monotonic() + _HALT_SECONDS
        while time.monotonic() < deadline:
            self._members.send(signal.SIGSTOP)
            states = self._members.states()
            # Without a namespace, what forks and ends all the time is seen only by what it leaves.
            if states.keys() == before.keys() and _STILL.issuperset(states.values()):
                return True
            before, tries = states, tries + 1
            if tries % _VFORK_TRIES == 0:
                self.resume()
            time.sleep(_KILL_PAUSE_SECONDS)
        return False

    def resume(self) -> None:
        """Have go on what `halt` stopped: children first, or a shell would take them for stopped."""
        running = self._members.states()
        if "" in running.values():
            self._members.send(signal.SIGCONT)
        _send([pid for pid in reversed(running) if pid not in self._stopped], signal.SIGCONT)

    def kill(self) -> None:
        """End all of it. Gives up after a second on processes that the kernel does not let go or that are not ours."""
        deadline = time.monotonic() + _KILL_SECONDS
        self.reap()
        while not self.ended and time.monotonic() < deadline:
            self._members.send(signal.SIGKILL)
            time.sleep(_KILL_PAUSE_SECONDS)
            self.reap()


def kill_all(pids: set[int]) -> None:
    """Kill processes and, where they can be found, their descendants.

    They are stopped first, until there are no new ones: a parent would notice that its child is gone, and go on.
    """
    found: set[int] = set()
    while fresh := pids.union(Descendants(pids).states() if _HAS_PROC else ()) - found:
        _send(fresh, signal.SIGSTOP)
        found |= fresh
    _send(found, signal.SIGKILL)


def _send(pids: Iterable[int], number: int) -> None:
    """Send a signal to those that there are and that may be signalled; a setuid program may not."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def children_of_this() -> set[int]:
    """The children of the calling process, as far as they can be found."""
    me = os.getpid()
    return {pid for pid, parent, _ in _process_table() if parent == me} if _HAS_PROC else set()


def _proc_is_own() -> bool:
    """Whether /proc shows the namespace of the calling process; a container may have kept its own."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


def _process_table() -> list[tuple[int, int, str]]:
    """Id, parent's id and state of every process. proc(5): `pid (name) state ppid ...`; the name may hold anything."""
    table = []
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            descriptor = os.open(f"/proc/{name}/stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # it ended meanwhile
            continue
        try:
            fields = os.read(descriptor, 1024).rpartition(b")")[2].split(None, 2)
        except ProcessLookupError:
            continue
        finally:
            os.close(descriptor)
        table.append((int(name), int(fields[1]), fields[0].decode("ascii")))
    return table


def standing() -> Standing:
    """Limits and priorities of the calling process, to be compared. Linux only; some 25 us.

    A command can change them for the process that runs it, and the next one would inherit them. Nothing of this
    changes by itself.

    Raises:
        OSError: the kernel does not tell.
    """
    return (
        *(resource.getrlimit(limit) for limit in _LIMITS),
        os.getpriority(os.PRIO_PROCESS, 0),
        os.sched_getscheduler(0),
        os.sched_getparam(0).sched_priority,
        frozenset(os.sched_getaffinity(0)),
        kernel.call("ioprio_get", _OF_PROCESS, 0),
        _short_file("/proc/self/oom_score_adj"),
        _short_file("/proc/self/timerslack_ns"),
        _short_file("/proc/self/coredump_filter"),
    )


def _short_file(path: str) -> bytes:
    """A short file of the kernel's; empty where it may not be read, or the machine has none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 64)
    finally:
        os.close(descriptor)
