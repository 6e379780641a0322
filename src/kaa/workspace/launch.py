"""Starts the hands' process. Light, so that it can happen before the rest of kaa is loaded, and beside it."""

import os.path
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import IO, NamedTuple, Protocol, TypeAlias

_HANDS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "hands")
_SCRIPT = os.path.join(_HANDS, "__main__.py")


class HandsProcess(Protocol):
    """The part of `subprocess.Popen` that kaa needs of the hands."""

    pid: int

    @property
    def stderr(self) -> IO[bytes] | None:
        """What a wrapper says when it fails."""

    def kill(self) -> None:
        """End it."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Returns the exit code, or the number of a signal, negative."""


Start: TypeAlias = Callable[[int], HandsProcess]
_start: Start | None = None


class LaunchedHands(NamedTuple):
    """A fork-server that waits to be told its workspace. Closing `control` ends it."""

    process: HandsProcess
    control: socket.socket


def start_by(start: Start | None) -> Start | None:
    """Start hands without a wrapper by other means than a new interpreter from now on. Returns the means until now.

    Args:
        start: starts a process, for instance by a fork, with the socket of this descriptor as its standard input. None
            means a new interpreter.
    """
    global _start  # hands are started by the process, before it has any object that knows of them
    former, _start = _start, start
    return former


def launch(wrap: Sequence[str] = ()) -> LaunchedHands:
    """Start a fork-server, without waiting for it.

    Args:
        wrap: program and arguments to start it through, such as bwrap with its options.

    Raises:
        OSError: it cannot be started.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with theirs:
            if _start and not wrap:
                return LaunchedHands(_start(theirs.fileno()), ours)
            # -I and -S: nothing of the project or the user is imported. Its environment is empty because a
            # command could read it. It leaves the current directory once it has looked there.
            process: HandsProcess = subprocess.Popen(
                [*wrap, sys.executable, "-I", "-S", "-X", "utf8", _SCRIPT],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE if wrap else subprocess.DEVNULL,  # a wrapper says there why it cannot
                env={},
                start_new_session=True,
            )
    except OSError:
        ours.close()
        raise
    return LaunchedHands(process, ours)


@cache  # any process of the hands may say that it has compiled something
def compile_hands() -> None:
    """Compile those modules of the hands whose bytecode is not current, once in this process, without waiting for it.

    The hands load most of their code when they are confined and can write no bytecode, and would compile it at each
    start: the first time after an installer that compiles nothing, such as uv, or after `git pull`.
    """
    if sys.dont_write_bytecode or not os.access(_HANDS, os.W_OK):
        return
    import threading  # lazy: this happens once

    compiling = [sys.executable, "-I", "-S", "-m", "compileall", "-q", _HANDS]
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        compiling, stdin=nowhere, stdout=nowhere, stderr=nowhere, env={}, cwd="/", start_new_session=True
    )
    threading.Thread(target=process.wait, name="compiles the hands", daemon=True).start()
