"""Things outside the sandbox by which its self-test sees whether a slot got out. Made before the walls are up."""

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import NamedTuple

from kaa.hands.confinement.contract import ConfinementError
from kaa.hands.confinement.layout import concealment, real_directories
from kaa.hands.confinement.listing import is_below_any
from kaa.hands.policy import Policy

PREFIX = ".kaa-canary-"  # of directories that live for some milliseconds
_SOCKET_NAME, _OTHER_SOCKET_NAME, _FIRST_NAME = "socket", "unlisted", "listed"
_MAX_SOCKET_PATH = 107  # unix(7)


class Secret(NamedTuple):
    """Something hidden, and how to recognise it when it can be opened all the same."""

    path: str
    identity: tuple[int, int]


class Canaries(NamedTuple):
    """What slots must not reach, and what they must.

    Attributes:
        outside: path of a directory in which slots must not be able to make anything; empty if there is none.
        watched: descriptor of that directory as it was seen before; -1 if there is none.
        listeners: sockets of the host that slots must not be able to connect to, by their family and kind.
        unlisted: one more, and where its file is, which the kernel's list of sockets does not say.
        secrets: what slots must not be able to read.
        writable: those of the writable directories that we may write at all.
        brain: process id of whoever started the fork-server.
    """

    outside: str = ""
    watched: int = -1
    listeners: tuple[socket.socket, ...] = ()
    unlisted: tuple[socket.socket, str] | None = None
    secrets: tuple[Secret, ...] = ()
    writable: tuple[str, ...] = ()
    brain: int = 0

    @classmethod
    @contextlib.contextmanager
    def prepare(cls, policy: Policy) -> Iterator["Canaries"]:
        """Put up the canaries for a policy; take them down at the end.

        Raises:
            ConfinementError: there is no place for them.
        """
        if policy.tier == "none" or policy.mode == "full-access":
            yield cls()
            return
        with contextlib.ExitStack() as stack:
            try:
                canaries = cls._put_up(policy, stack)
            except OSError as error:
                raise ConfinementError(f"its self-test cannot be prepared: {error}") from error
            yield canaries

    @classmethod
    def _put_up(cls, policy: Policy, stack: contextlib.ExitStack) -> "Canaries":
        canaries = cls(
            secrets=tuple(_secrets(policy)),
            writable=tuple(
                path
                for path in real_directories(policy.writable)
                if os.access(path, os.W_OK) and path not in dict(policy.replaced)
            ),
            brain=os.getppid(),
        )
        writable = real_directories((*policy.writes, policy.temporary))
        parents = map(os.path.dirname, real_directories((policy.temporary, policy.cache)))
        near = next((path for path in parents if not is_below_any(path, writable)), "/")
        if policy.tier in ("bwrap", "seatbelt") or not os.access(near, os.W_OK):
            return canaries._replace(outside=near)  # we are inside already, or cannot write there anyway
        outside, watched = stack.enter_context(_directory(near))
        listeners = stack.enter_context(_listeners(policy, outside))
        unlisted = stack.enter_context(_unlisted(outside))
        return canaries._replace(outside=outside, watched=watched, listeners=listeners, unlisted=unlisted)

    def untouched(self) -> bool:
        """Whether nobody made anything outside."""
        return self.watched < 0 or not set(os.listdir(self.watched)) - {_SOCKET_NAME, _OTHER_SOCKET_NAME}


def identity(status: os.stat_result) -> tuple[int, int]:
    """What stays the same under every name: device and inode."""
    return status.st_dev, status.st_ino


def _secrets(policy: Policy) -> Iterator[Secret]:
    """What is hidden, and of directories a file.

    Only the mounts of tier `full` hide directories as such from everybody. What lies in a writable directory cannot be
    hidden by tier `landlock`, as its warnings say.
    """
    hidden, shown = concealment(policy)
    writable = real_directories(policy.writes)
    for path in hidden:
        if policy.tier == "landlock" and is_below_any(path, writable):
            continue
        with contextlib.suppress(OSError):  # not for us to read, then not for slots either
            if policy.tier == "full" or not os.path.isdir(path):
                yield Secret(path, identity(os.stat(path)))
            if os.path.isdir(path):
                with os.scandir(path) as entries:
                    files = (entry for entry in entries if entry.is_file(follow_symlinks=False))
                    file = next((entry.path for entry in files if not is_below_any(entry.path, shown)), None)
                if file is not None:
                    yield Secret(file, identity(os.stat(file)))


@contextlib.contextmanager
def _directory(parent: str) -> Iterator[tuple[str, int]]:
    path = os.path.join(parent, f"{PREFIX}{os.urandom(8).hex()}")
    os.mkdir(path, 0o700)
    with _janitor(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield path, descriptor
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _janitor(directory: str) -> Iterator[None]:
    """A process that stays outside, where it can remove the directory at the end, also if we are killed."""
    waiting, working = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(working)
            os.read(waiting, 1)  # until nobody has the other end any more
            for name in os.listdir(directory):
                os.unlink(os.path.join(directory, name))
            os.rmdir(directory)
        finally:
            os._exit(0)
    os.close(waiting)
    try:
        yield
    finally:
        os.close(working)
        os.waitpid(pid, 0)


@contextlib.contextmanager
def _listeners(policy: Policy, outside: str) -> Iterator[tuple[socket.socket, ...]]:
    addresses: list[tuple[int, tuple[str, int] | str]] = []
    path = os.path.join(outside, _SOCKET_NAME)
    if len(os.fsencode(path)) <= _MAX_SOCKET_PATH:
        addresses.append((socket.AF_UNIX, path))
    if policy.network == "isolated":
        addresses.append((socket.AF_INET, ("127.0.0.1", 0)))
        addresses.append((socket.AF_UNIX, f"\0kaa-canary-{os.urandom(8).hex()}"))
    with contextlib.ExitStack() as stack:
        listeners = []
        for family, address in addresses:
            listener = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
            _listen(listener, address)
            listeners.append(listener)
        yield tuple(listeners)


@contextlib.contextmanager
def _unlisted(outside: str) -> Iterator[tuple[socket.socket, str] | None]:
    """A socket whose file was moved: as with one that is made later, no mount hides it."""
    path = os.path.join(outside, _OTHER_SOCKET_NAME)
    if len(os.fsencode(path)) > _MAX_SOCKET_PATH:
        yield None
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        first = os.path.join(outside, _FIRST_NAME)
        _listen(listener, first)
        os.rename(first, path)
        yield listener, path


def _listen(listener: socket.socket, address: tuple[str, int] | str) -> None:
    listener.bind(address)
    listener.listen()
    listener.setblocking(False)
