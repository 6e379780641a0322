"""A process that has loaded the hands, and forks for each start: `python -I -S warm_hands.py SOCKET .../__main__.py`.

It also forks for programs of tests that try parts of the hands (`HandsProgram` in `warm_start.py`).

Any process can send orders, each with a socket for the answer. To start hands, it sends their control socket too, and
the answer is their pid; with that it kills them, or waits for them: the answer is how they ended. After an
ordinary start they would be its children; here they are children of this process, and named after it (`name_for`).
"""

import ctypes
import errno
import fcntl
import gc
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any, NoReturn

# What hands load before they are confined and afterwards.
LOADED = (
    "kaa.hands.checkpoints.service",
    "kaa.hands.confinement.arrivals",
    "kaa.hands.confinement.full",
    "kaa.hands.confinement.layout",
    "kaa.hands.confinement.linked_programs",
    "kaa.hands.confinement.live_files",
    "kaa.hands.confinement.shared_caches",
    "kaa.hands.confinement.view_watch",
    "kaa.hands.files",
    "kaa.hands.git_config_keys",
    "kaa.hands.guard.service",
    "kaa.hands.parsing.service",
    "kaa.hands.server",
)
# Files of the machine's own /tmp that commands see. The usual 50, mounted in two places, are up to 70 ms of the
# processor for each start of hands: of a test that runs one command, a fifth.
_SHOWN_FILES = 10

# What programs of tests load besides: ordinary users cannot read the packages of root.
_LOADED_FOR_PROGRAMS = (
    "glob",
    "kaa.hands.confinement.contained",
    "kaa.hands.confinement.insiders",
    "kaa.hands.confinement.landlocked",
    "kaa.hands.confinement.worktrees",
)
_FIRST_FREE = 512  # descriptors that arrive for a program wait above this number

# clone(2): the child's parent is that of the caller.
_CLONE_PARENT = 0x8000
_CLONE_NUMBERS = {"x86_64": 56, "aarch64": 220}
_RESOURCES = 16  # getrlimit(2)
_LIMIT = 1 << 16
_MOST_DESCRIPTORS = 16
_PR_SET_NAME = 15  # prctl(2)
_libc = ctypes.CDLL(None, use_errno=True)


class ForkedHands:
    """A process of hands, with what `kaa.workspace.launch.HandsProcess` has."""

    stderr = None

    def __init__(self, pid: int, server: "HandsServer") -> None:
        self.pid = pid
        self._server = server
        self._exit_code: int | None = None

    def kill(self) -> None:
        self._server.ask({"kill": self.pid}, (), None)  # it knows whether the number is still theirs

    def wait(self, timeout: float | None = None) -> int:
        if self._exit_code is None:
            try:
                status = self._server.ask({"wait": self.pid}, (), timeout)
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired("hands", timeout or 0) from None
            self._exit_code = os.waitstatus_to_exitcode(status)
        return self._exit_code


class HandsServer:
    """The process that forks hands, as those that start them see it: any number may."""

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders

    def start(self, control: int) -> ForkedHands:
        """Start hands whose standard input is the socket `control`."""
        pid = self.ask({"brain": os.getpid(), **_inherited()}, [control], None)
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid))
        return ForkedHands(pid, self)

    def fork_program(self, order: dict[str, object], descriptors: Sequence[int]) -> int:
        """Start a program as a child of this process; its pid. The first three descriptors are its standard streams."""
        assert all(number < _FIRST_FREE for number in descriptors)
        pid = self.ask(order | {"numbers": list(descriptors[3:])}, descriptors, None)
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid))
        return pid

    def ask(self, order: dict[str, object], descriptors: Sequence[int], timeout: float | None) -> int:
        """Send an order, and wait for its answer.

        Raises:
            TimeoutError, BlockingIOError: there is none in time.
        """
        answer, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with answer:
            with theirs:
                socket.send_fds(self._orders, [json.dumps(order).encode()], [theirs.fileno(), *descriptors])
            answer.settimeout(timeout)
            if not (said := answer.recv(_LIMIT)):
                raise ChildProcessError("the process that has loaded the hands is gone: its error is on standard error")
        return int(said)


def forked_server() -> HandsServer:
    """Fork this process, which has loaded the hands, for those that it starts. It ends with this one.

    Its hands are of the same user and in the same namespaces as this process, but their pages are copied from all that
    this process has loaded: a tenth of the time of a run.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        leave_all()
        os.environ.clear()
        sys.prefix, sys.exec_prefix = sys.base_prefix, sys.base_exec_prefix  # as with -S
        serve(theirs)
    theirs.close()
    return HandsServer(ours)


def leave_all() -> None:
    """Leave the session, the directory and the standard streams of the process that this one was forked from."""
    os.setsid()
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)


def serve(orders: socket.socket) -> NoReturn:
    """Fork hands, and say how they ended, until nobody can ask any more."""
    poll = select.poll()
    poll.register(orders, select.POLLIN)
    running: dict[int, int] = {}  # processes, by descriptors
    ended: dict[int, int] = {}
    waiting: list[tuple[int, socket.socket]] = []
    while True:
        for descriptor, _ in poll.poll():
            if descriptor in running:
                poll.unregister(descriptor)
                os.close(descriptor)
                pid = running.pop(descriptor)
                ended[pid] = os.waitpid(pid, 0)[1]
            else:
                message, descriptors, _, _ = socket.recv_fds(orders, _LIMIT, _MOST_DESCRIPTORS)
                if not message:
                    os._exit(0)
                order, answer = json.loads(message), socket.socket(fileno=descriptors[0])
                if "wait" in order:
                    waiting.append((order["wait"], answer))
                elif "kill" in order:
                    if order["kill"] in running.values():
                        os.kill(order["kill"], signal.SIGKILL)
                    with answer:
                        _answer(0, answer)
                elif "program" in order:
                    with answer:
                        _answer(_start_program(order, descriptors[1:]), answer)
                else:
                    pid = _fork(order, descriptors[1], [orders, answer, *(one for _, one in waiting)], running)
                    with answer:
                        _answer(pid, answer)
                    if pid > 0:
                        ended.pop(pid, None)
                        process = os.pidfd_open(pid)
                        running[process] = pid
                        poll.register(process, select.POLLIN)
            for pid, answer in [one for one in waiting if one[0] in ended]:
                waiting.remove((pid, answer))
                with answer:
                    _answer(ended[pid], answer)


def _answer(number: int, answer: socket.socket) -> None:
    with suppress(OSError):  # nobody waits any more
        answer.send(b"%d" % number)


def _fork(order: dict[str, Any], control: int, sockets: Iterable[socket.socket], descriptors: Iterable[int]) -> int:
    """Fork hands, which have no more than `control`. Their pid, or the number of an error, negative."""
    try:
        pid = os.fork()
    except OSError as error:
        pid = -(error.errno or errno.EAGAIN)
    if pid == 0:
        for one in sockets:
            one.close()
        for descriptor in descriptors:
            os.close(descriptor)
        _become_hands(order, control)
    os.close(control)
    return pid


def _become_hands(order: dict[str, Any], control: int) -> NoReturn:
    _libc.prctl(_PR_SET_NAME, name_for(order["brain"]).encode(), 0, 0, 0)
    os.setsid()
    os.umask(order["umask"])
    for number, limit in enumerate(order["limits"]):
        if tuple(limit) != resource.getrlimit(number):
            resource.setrlimit(number, limit)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(control, 0)
    os.close(control)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.close(null)
    try:
        import_module("kaa.hands.server").main()
    finally:
        os._exit(1)


def _start_program(order: dict[str, Any], descriptors: Sequence[int]) -> int:
    """Start a program beside this process. Its pid, or the number of an error, negative."""
    pid = clone_beside()
    if pid == 0:
        _become_program(order, descriptors)
    for one in descriptors:
        os.close(one)
    return pid if pid > 0 else -ctypes.get_errno()


def _become_program(order: dict[str, Any], descriptors: Sequence[int]) -> NoReturn:
    """Run a program with these descriptors, by the numbers that they have where it was ordered, and no others."""
    waiting = [fcntl.fcntl(one, fcntl.F_DUPFD, _FIRST_FREE) for one in descriptors]
    os.closerange(3, _FIRST_FREE)
    for number, one in zip((0, 1, 2, *order["numbers"]), waiting, strict=True):
        os.dup2(one, number)
    os.closerange(waiting[0], waiting[-1] + 1)
    os.umask(order["umask"])
    os.chdir(order["directory"])
    sys.argv = [order["program"], *order["arguments"]]
    sys.path.append(_parent_of_kaa())
    status = 1
    main = sys.modules["__main__"] = ModuleType("__main__")
    try:
        exec(_code_of(order), main.__dict__)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(OSError):
            sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _code_of(order: dict[str, Any]) -> Any:  # any: a code object
    if "code" in order:
        return compile(order["code"], "<string>", "exec")
    return SourceFileLoader("__main__", order["program"]).get_code("__main__")  # compiled before, if possible


def _parent_of_kaa() -> str:
    """Return the directory of the package whose hands were loaded; `sys.argv` is that of the program by then."""
    return os.path.dirname(os.path.dirname(os.path.dirname(str(sys.modules["kaa.hands"].__file__))))


def name_for(brain: int) -> str:
    """The name of hands that a process started."""
    return f"hands {brain}"


def _inherited() -> dict[str, object]:
    """What a process gets from the one that starts it."""
    umask = os.umask(0)
    os.umask(umask)
    return {"umask": umask, "limits": [resource.getrlimit(number) for number in range(_RESOURCES)]}


def clone_beside() -> int:
    """Fork a process whose parent is that of this one. Returns its pid, 0 in it, and -1 if there is none."""
    pid: int = _libc.syscall(_CLONE_NUMBERS[os.uname().machine], _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    return pid


def _compile_patterns() -> None:
    """Compile the regular expressions that hands compile when they first use them."""
    kind = import_module("kaa.hands.lazy_pattern").LazyPattern
    for one in [thing for thing in gc.get_objects() if isinstance(thing, kind)]:
        _ = one._compiled


def main() -> NoReturn:
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(sys.argv[2]))))
    for name in (*LOADED, *_LOADED_FOR_PROGRAMS):
        import_module(name)
    arrivals: Any = import_module("kaa.hands.confinement.arrivals")  # any: to set a constant
    arrivals._MAX_FILES = _SHOWN_FILES
    _compile_patterns()
    sys.path.pop()
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
