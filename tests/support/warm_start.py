"""Runs of kaa and of its hands that need not load them first: `warm_server.py` and `warm_hands.py` have, and fork.

While tests run, a `KaaProcess` is forked there unless its run depends on how Python starts. Everywhere else, for
instance in benchmarks, it is a plain process of `COMMAND`. `KAA_TESTS_COLD=1` makes all of them plain.
"""

import inspect
import json
import os
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, AnyStr

from kaa import hands
from kaa.workspace import launch as launch_hands
from tests.support import launcher, started_by_kaa, warm_hands
from tests.support.started_by_kaa import adopt, ask, can_be_forked, request, standard_streams, umask
from tests.support.warm_hands import HandsServer

COMMAND = str(Path(sysconfig.get_path("scripts")) / "kaa")

# A session leader that opens a terminal gets it as its own (tty(4)); in a process with threads, nothing of Python's
# may run between fork and exec.
_ON_TERMINAL = ("/bin/sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1')

_SERVER = Path(__file__).with_name("warm_server.py")


class _Server:
    """The process that has loaded kaa, from the first run on.

    Args:
        hands: where the hands of runs are ordered.
    """

    def __init__(self, hands: socket.socket) -> None:
        self._hands = hands
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def fork(self, request: Mapping[str, object], descriptors: list[int]) -> int:
        """Start a run; its pid."""
        requests = self._requests or self._start()
        return ask(requests, request, descriptors)

    def _start(self) -> socket.socket:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            sockets = theirs.fileno(), self._hands.fileno()
            self._process = subprocess.Popen(
                [sys.executable, str(_SERVER), *map(str, sockets), COMMAND],
                pass_fds=sockets,
                env={"PATH": os.environ["PATH"], "LANG": started_by_kaa.LOCALE},
                cwd="/",
                stdin=subprocess.DEVNULL,
            )
        return self._requests

    def close(self) -> None:
        """End it."""
        if self._process is not None and self._requests is not None:
            self._requests.close()
            self._process.wait()


@contextmanager
def _warm_hands() -> Iterator[socket.socket]:
    """Fork hands that this process starts from one that has loaded them. Others order theirs at this socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = str(Path(hands.__file__).with_name("__main__.py"))
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", warm_hands.__file__, str(theirs.fileno()), script],
            pass_fds=[theirs.fileno()],
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
        )
    server = HandsServer(ours)
    launch_hands.start_by(server.start)
    _hands_servers.append(server)
    try:
        yield ours
    finally:
        _hands_servers.remove(server)
        launch_hands.start_by(None)
        ours.shutdown(socket.SHUT_RDWR)  # runs that still live have it too
        ours.close()
        process.wait()


@contextmanager
def cold_hands() -> Iterator[None]:
    """Start hands as programs in between."""
    former = launch_hands.start_by(None)
    try:
        yield
    finally:
        launch_hands.start_by(former)


# What a program of a test begins with where nothing forks it.
_PRELUDE = "import sys; sys.path.append({parent!r}); del sys.argv[0]\n"

_servers: list[_Server] = []
_hands_servers: list[HandsServer] = []


@contextmanager
def warm_runs() -> Iterator[None]:
    """Fork runs from a process that has loaded kaa, until the end, if the machine and the environment allow it."""
    is_possible = sys.platform == "linux" and os.uname().machine in ("x86_64", "aarch64")
    if not is_possible or os.environ.get("KAA_TESTS_COLD") or "COVERAGE_PROCESS_CONFIG" in os.environ:
        yield
        return
    with _warm_hands() as hands:
        server = _Server(hands)
        _servers.append(server)
        fork_none = started_by_kaa.fork_them(server.fork)
        try:
            yield
        finally:
            fork_none()
            _servers.remove(server)
            server.close()


class HandsProgram(subprocess.Popen[bytes]):
    """A program of a test that tries parts of the hands, without site packages: `python -I -S program arguments...`.

    Args:
        program: path of a module that imports the standard library and `kaa.hands` only, without a package of its own.
        arguments: its arguments.
        code: what to execute in place of the module.
        options: those of `Popen`; the environment is empty.
    """

    def __init__(self, program: Path, *arguments: str, code: str = "", **options: Any) -> None:  # any: as Popen's
        self._order: dict[str, object] = {"program": str(program), "arguments": arguments}
        if code:
            self._order["code"] = code
        parent = os.path.dirname(os.path.dirname(os.path.dirname(hands.__file__)))
        started = _PRELUDE.format(parent=parent) + (
            code or "import runpy; runpy.run_path(sys.argv[0], None, '__main__')"
        )
        super().__init__([sys.executable, "-I", "-S", "-c", started, str(program), *arguments], env={}, **options)

    def _execute_child(self, *given: Any) -> None:  # any: as below
        start: Any = super()._execute_child  # type: ignore[misc] # not in typeshed
        call: dict[str, Any] = dict(inspect.signature(start).bind(*given).arguments)
        if not _hands_servers:
            start(**call)
            return
        order = self._order | {"directory": os.path.abspath(call["cwd"] or os.getcwd()), "umask": umask()}
        descriptors = [*standard_streams(call), *sorted(call["pass_fds"])]
        adopt(self, _hands_servers[-1].fork_program(order, descriptors), call)


class KaaProcess(subprocess.Popen[AnyStr]):
    """A process of kaa: what `subprocess.Popen([COMMAND, …], …)` is, but for the loading.

    Args:
        arguments: program and arguments; another program than `COMMAND` is started as usual.
        terminal: the path of a terminal that becomes that of the process, and its standard streams.
        launch: what the process becomes before it is the command; its command, environment and directory are those of
            the process.
        limits: constants of modules by name, with other values: a run that is not forked waits as long as kaa does.
        is_read: whether the test reads what the kernel keeps of the start: arguments and environment in /proc.
        options: those of `Popen`.
    """

    def __init__(
        self,
        arguments: list[str],
        *,
        terminal: str = "",
        launch: launcher.Launch | None = None,
        limits: Mapping[str, float] = {},
        is_read: bool = False,
        **options: Any,  # any: as Popen has them
    ) -> None:
        self._terminal = terminal
        self._launch = launch
        self._limits = limits
        self._is_read = is_read
        super().__init__(arguments, **options)

    def _execute_child(self, *given: Any) -> None:  # any: private to Popen, and found by name
        start: Any = super()._execute_child  # type: ignore[misc] # not in typeshed
        call: dict[str, Any] = dict(inspect.signature(start).bind(*given).arguments)
        if self._is_read or not _can_be_warm(call):
            if self._terminal:
                call["args"] = [*_ON_TERMINAL, self._terminal, *call["args"]]
                call["executable"] = None
            if self._launch:
                call["args"] = [sys.executable, "-I", "-S", launcher.__file__]
                call["executable"] = None
                call["cwd"] = None
                call["env"] = {launcher.VARIABLE: json.dumps(self._launch)}
            start(**call)
            return
        order = request(call, call["args"][1:]) | {"terminal": self._terminal, "launch": self._launch}
        order["limits"] = self._limits
        adopt(self, _servers[-1].fork(order, standard_streams(call)), call)


def _can_be_warm(call: Mapping[str, Any]) -> bool:  # any: what `_execute_child` gets
    return bool(_servers) and call["args"][0] == COMMAND and can_be_forked(call)
