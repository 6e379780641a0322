"""Proves a confinement: a slot tries to get out and to do its work, and canaries outside tell whether it got out.

What is not proven is not trusted: kernels, containers and security modules differ in more ways than can be asked for.
"""

import errno
import json
import os
import select
import signal
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, NoReturn, TypeAlias

from kaa.hands import wire
from kaa.hands.confinement.canaries import Canaries, identity
from kaa.hands.confinement.contract import Confinement
from kaa.hands.policy import Policy

_SECONDS = 10.0  # for what takes some milliseconds; a slot that hangs proves nothing
_CONNECTION_SECONDS = 2.0


class Check(NamedTuple):
    """What came out of one attempt.

    Attributes:
        name: what must be so.
        detail: what happened when it was tried.
    """

    name: str
    passed: bool
    detail: str


class _Attempt(NamedTuple):
    """Something a slot tries.

    Attributes:
        name: what must be so.
        allowed: whether it must work; otherwise it must not.
        act: raises OSError when it does not work; otherwise tells what it got at.
        unnoticed: asks the canaries outside whether nothing happened.
    """

    name: str
    allowed: bool
    act: Callable[[], str]
    unnoticed: Callable[[], bool] = lambda: True


class _Outcome(NamedTuple):
    worked: bool
    detail: str


Work: TypeAlias = Callable[[], None]


class Tested(NamedTuple):
    """What a self-test has shown.

    Attributes:
        checks: what was tried. One that did not pass means that the tier is not held. None for hands without walls.
        slot: the process that tried it, if it was given work and lives on with that.
    """

    checks: list[Check]
    slot: int | None = None


def self_test(confinement: Confinement, policy: Policy, canaries: Canaries, work: Work | None = None) -> Tested:
    """Try the walls from inside a slot.

    Args:
        work: what the slot is to do after all checks have passed: to fork and enclose another one for it would take as
            long as the test. Without, the slot ends.
    """
    if policy.tier == "none" or policy.mode == "full-access":
        return Tested([])
    attempts = [*_forbidden(confinement, policy, canaries), *_needed(confinement, policy, canaries)]
    slot, outcomes = _run_in_slot(confinement, attempts, work)
    if len(outcomes) != len(attempts):
        detail = outcomes[0].detail if outcomes else "it ended early"
        checks = [Check("a slot encloses itself", False, detail)]
    else:
        checks = [_judge(attempt, outcome) for attempt, outcome in zip(attempts, outcomes, strict=True)]
    if slot is not None and (work is None or not all(check.passed for check in checks)):
        os.kill(slot, signal.SIGKILL)
        os.waitpid(slot, 0)
        slot = None
    return Tested(checks, slot)


def _judge(attempt: _Attempt, outcome: _Outcome) -> Check:
    if not attempt.allowed and not attempt.unnoticed():
        return Check(attempt.name, False, "it was seen outside")
    return Check(attempt.name, outcome.worked == attempt.allowed, outcome.detail)


def _run_in_slot(
    confinement: Confinement, attempts: list[_Attempt], work: Work | None
) -> tuple[int | None, list[_Outcome]]:
    """The slot, and one outcome per attempt, or a single one if the slot could not enclose itself, or none."""
    reading, writing = os.pipe()
    try:
        pid = confinement.fork()
    except OSError as error:
        wire.close_all((reading, writing))
        return None, [_Outcome(False, f"there is none: {error.strerror}")]
    if pid == 0:
        _try_all(confinement, attempts, writing, work)
    os.close(writing)
    try:
        content = _read_all(reading)
        return pid, [_Outcome(*outcome) for outcome in json.loads(content)] if content else []
    finally:
        os.close(reading)


def _try_all(confinement: Confinement, attempts: list[_Attempt], writing: int, work: Work | None) -> NoReturn:
    status = 1
    try:
        _, needed = os.pipe() if work is not None else (-1, None)  # closed with all else before the work
        try:
            confinement.enclose(needed=needed)
        except OSError as error:
            outcomes, work = [_Outcome(False, f"the kernel refused: {error.strerror}")], None
        else:
            if confinement.helpers:  # they help commands, which unlike a slot can be looked into
                _be_open(True)
            outcomes = [_try(attempt.act) for attempt in attempts]
            if confinement.helpers:
                _be_open(False)
        os.write(writing, json.dumps(outcomes).encode())
        os.close(writing)
        if work is not None:
            work()
        status = 0
    finally:
        os._exit(status)


def _be_open(is_open: bool) -> None:
    from kaa.hands.confinement import kernel  # of Linux

    kernel.prctl(kernel.PR_SET_DUMPABLE, int(is_open))


def _try(act: Callable[[], str]) -> _Outcome:
    try:
        return _Outcome(True, act())
    except OSError as error:
        return _Outcome(False, error.strerror or str(error))


def _read_all(reading: int) -> bytes:
    content = b""
    while select.select([reading], [], [], _SECONDS)[0]:
        chunk = os.read(reading, 65536)
        if not chunk:
            return content
        content += chunk
    return b""


def _forbidden(confinement: Confinement, policy: Policy, canaries: Canaries) -> Iterator[_Attempt]:
    make = _make_file if canaries.watched < 0 else _leave_file
    yield _Attempt("outside is read-only", False, partial(make, canaries.outside), canaries.untouched)
    if policy.mode == "read-only":
        for path in canaries.writable:
            yield _Attempt(f"{path} is read-only", False, partial(_make_file, path))
    for listener in canaries.listeners:
        unheard = partial(_nobody_called, listener)
        act = partial(_connect, listener.family, listener.getsockname())
        yield _Attempt(f"no {_kind(listener)} of the host", False, act, unheard)
    if canaries.unlisted and confinement.helpers:
        listener, path = canaries.unlisted
        act, unheard = partial(_connect, socket.AF_UNIX, path), partial(_nobody_called, listener)
        yield _Attempt("no later socket file of the host", False, act, unheard)
    if policy.tier == "bwrap" and policy.network == "isolated":
        yield _Attempt("no network but loopback", False, _find_interface)
    if policy.tier == "seatbelt" and policy.network == "isolated":
        yield _Attempt("no network but loopback", False, _send_away)
    if os.path.exists(f"/proc/{canaries.brain}/environ"):
        yield _Attempt("kaa's environment is private", False, partial(_read_environment, canaries.brain))
    if confinement.confines_signals:
        yield _Attempt("kaa cannot be signalled", False, partial(_signal, canaries.brain))
    if policy.tier != "seatbelt":
        yield _Attempt("system calls are filtered", False, _make_raw_socket)
    if canaries.secrets:
        yield _Attempt("secrets are unreadable", False, partial(_read_secrets, canaries))


def _needed(confinement: Confinement, policy: Policy, canaries: Canaries) -> Iterator[_Attempt]:
    if policy.mode == "workspace-write":
        for path in canaries.writable:
            yield _Attempt(f"{path} is writable", True, partial(_make_file, path))
    own_mounts = policy.tier in ("full", "bwrap")
    temporary = "/tmp" if own_mounts else policy.temporary  # noqa: S108 the private one
    yield _Attempt("temporary files work", True, partial(_make_file, temporary))
    if own_mounts and policy.network == "isolated":
        yield _Attempt("loopback works", True, partial(_talk_to_self, socket.AF_INET, ("127.0.0.1", 0)))
    if confinement.helpers:
        name = f"{temporary}/.kaa-self-test-{os.getpid()}"
        yield _Attempt("unix sockets work", True, partial(_talk_by_name, name))


def _leave_file(directory: str) -> str:
    path = os.path.join(directory, f".kaa-self-test-{os.getpid()}")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    return f"{path} was made"


def _make_file(directory: str) -> str:
    """Without a name where the file system can do that, so that nobody who watches the directory is woken."""
    unnamed: int | None = getattr(os, "O_TMPFILE", None)
    if unnamed is not None:
        try:
            os.close(os.open(directory, unnamed | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        except OSError as error:
            if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise
        else:
            return "a file was made"
    _leave_file(directory)
    os.unlink(os.path.join(directory, f".kaa-self-test-{os.getpid()}"))
    return "a file was made"


def _connect(family: int, address: tuple[str, int] | str) -> str:
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(_CONNECTION_SECONDS)
        sock.connect(address)
    return "it answered"


def _nobody_called(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return True
    return False


def _kind(listener: socket.socket) -> str:
    if listener.family == socket.AF_INET:
        return "port"
    return "abstract socket" if isinstance(listener.getsockname(), bytes) else "socket file"


def _find_interface() -> str:
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    if not others:
        raise ConnectionError("there is no other interface")
    return f"found {', '.join(others)}"


def _send_away() -> str:
    """Nothing is sent where this is denied, and nothing answers where it is not: RFC 5737 reserves the address."""
    with socket.socket(socket.AF_INET) as sock:
        sock.setblocking(False)
        try:
            sock.connect(("192.0.2.1", 9))
        except BlockingIOError:
            return "it was attempted"
    return "it was made"


def _make_raw_socket() -> str:
    """The kernel too refuses this to most, but with another error than our filter."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    except OSError as error:
        if error.errno == errno.EACCES:
            raise
    return "the filter let it pass"


def _read_environment(pid: int) -> str:
    with open(f"/proc/{pid}/environ", "rb") as file:
        if not file.read(1):
            raise PermissionError("it is empty")
    return "it was read"


def _signal(pid: int) -> str:
    os.kill(pid, 0)
    return "it can be"


def _read_secrets(canaries: Canaries) -> str:
    """What can be opened at the secret's path must not be the secret, but an empty thing in front of it."""
    readable = []
    for secret in canaries.secrets:
        try:
            descriptor = os.open(secret.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            continue
        if identity(os.fstat(descriptor)) == secret.identity:
            readable.append(secret.path)
        os.close(descriptor)
    if not readable:
        raise PermissionError("none can be opened")
    return f"{', '.join(readable)} could be opened"


def _talk_by_name(name: str) -> str:
    try:
        return _talk_to_self(socket.AF_UNIX, name)
    finally:
        os.unlink(name)


def _talk_to_self(family: int, address: tuple[str, int] | str) -> str:
    with socket.socket(family) as listener, socket.socket(family) as sock:
        listener.bind(address)
        listener.listen()
        sock.settimeout(_CONNECTION_SECONDS)
        sock.connect(listener.getsockname())
    return "it answered"
