"""Runs that kaa starts itself, as `python -E -P -m kaa`: forked like those that tests start (`warm_start.py`).

Only the standard library: the process that forks loads it from beside its own file, without the package of the tests.
"""

import inspect
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

LOCALE = "C.UTF-8"
"""With which runs are started."""

AS_A_PROGRAM = {"LC_ALL": LOCALE}
"""Variables with which a run, and what it starts, are plain programs."""

_BEGINNING = [sys.executable, "-E", "-P", "-m", "kaa"]  # as bin/kaa starts it
# What is read when Python starts. Coverage is measured from the first line that is loaded.
_READ_AT_START = ("COVERAGE_", "LC_", "LD_", "MALLOC_")


def fork_them(fork: Callable[[Mapping[str, object], list[int]], int]) -> Callable[[], None]:
    """Have this process fork what it starts in that way, unless it depends on how Python starts. Returns how to end it.

    Args:
        fork: starts a run with three standard streams, and returns its pid.
    """
    own: Any = subprocess.Popen  # any: what is private to it
    start = own._execute_child
    signature = inspect.signature(start)

    @wraps(start)
    def execute_child(self: Any, *given: Any, **named: Any) -> None:  # any: as Popen has them
        call: dict[str, Any] = dict(signature.bind(self, *given, **named).arguments)
        call["env"] = dict(os.environ if call["env"] is None else call["env"])
        if list(call["args"][: len(_BEGINNING)]) != _BEGINNING or not can_be_forked(call):
            start(self, *given, **named)
            return
        adopt(self, fork(request(call, call["args"][len(_BEGINNING) :]), standard_streams(call)), call)

    own._execute_child = execute_child

    def end() -> None:
        own._execute_child = start

    return end


def can_be_forked(call: Mapping[str, Any]) -> bool:  # any: what `_execute_child` gets
    """Whether nothing of a start depends on how Python starts."""
    environ = call["env"]
    return (
        environ is not None
        and environ.get("LANG") == LOCALE
        and not any(name.startswith(_READ_AT_START) for name in environ)
        and not call["pass_fds"]
        and call["preexec_fn"] is None
        and os.path.isdir(call["cwd"] or ".")
    )


def request(call: Mapping[str, Any], arguments: list[str]) -> dict[str, object]:  # any: as above
    """What the process that forks has to know."""
    return {
        "arguments": list(arguments),
        "cwd": os.path.abspath(call["cwd"] or os.getcwd()),
        "environ": call["env"],
        "session": call["start_new_session"],
        "terminal": "",
        "launch": None,
        "limits": {},
        "umask": umask(),
    }


def ask(requests: socket.socket, order: Mapping[str, object], streams: list[int]) -> int:
    """Have the process at the other end fork a child of this one. Its pid."""
    socket.send_fds(requests, [json.dumps(order).encode()], streams)
    answer = requests.recv(64)
    if not (pid := int(answer or 0)):
        raise ChildProcessError("the process that has loaded kaa is gone: its error is on the standard error")
    if pid < 0:
        raise OSError(-pid, os.strerror(-pid))
    return pid


def standard_streams(call: Mapping[str, Any]) -> list[int]:  # any: as above
    """The descriptors that a process gets."""
    streams = (("p2cread", 0), ("c2pwrite", 1), ("errwrite", 2))
    return [own if call[name] == -1 else call[name] for name, own in streams]


def adopt(process: Any, pid: int, call: Mapping[str, Any]) -> None:  # any: a Popen with what is private to it
    """Have a Popen stand for a process that was forked for it."""
    process.pid = pid
    process._child_created = True
    pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
    process._close_pipe_fds(*(call[name] for name in pipes))


def umask() -> int:
    """The umask, without a change of it."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"^Umask:\s+(\d+)$", status, re.MULTILINE)
    assert found is not None
    return int(found[1], 8)
