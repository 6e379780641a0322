"""Talks with a kaa of the user that listens: request and response, for commands that do one thing."""

import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import msgspec

from kaa.frontends.live.errors import LiveError
from kaa.frontends.live.wire import (
    PROTOCOL,
    AnyRequest,
    AnyTold,
    Done,
    Hello,
    Past,
    Refused,
    socket_name,
    sockets_of,
)
from kaa.host.private_sockets import NobodyListensError, NotAcceptedError, peer_of
from kaa.shell.home import Home

# A kaa that is busy answers within milliseconds; one that was stopped, never.
_ANSWER_SECONDS = 10.0
_LISTENING_PAUSE = 0.05
_READ_BYTES = 65536

ToldT = TypeVar("ToldT")


class SessionConnection:
    """A connection to the kaa that has a session open."""

    def __init__(self, sock: socket.socket, pid: int, seconds: float) -> None:
        self.pid = pid
        self._sock = sock
        self._unread = b""
        self._number = 0
        sock.settimeout(seconds)
        told = self._next()
        if not isinstance(told, Hello):
            raise LiveError(told.error if isinstance(told, Refused) else f"process {pid} is not a kaa")
        if told.protocol != PROTOCOL:
            raise LiveError(
                f"process {pid} is kaa {told.version}, which this version cannot talk with: use that version, or end it"
            )
        self.hello = told

    @classmethod
    def to(
        cls, home: Home, session: Path, pid: int, seconds: float | None = None, until_it_listens: float = 0
    ) -> "SessionConnection":
        """Connect to the process that has a session open.

        Args:
            pid: of that process, as the lock on the file says.
            seconds: to wait for each answer; None for as long as is usual.
            until_it_listens: seconds to wait for a process that is still starting, or opening the session.

        Raises:
            LiveError: it does not listen, or does not answer.
            PrivateSocketError: the socket is not the user's.
        """
        deadline = time.monotonic() + until_it_listens
        while (sock := _connected(home, session, pid)) is None:
            if time.monotonic() >= deadline:
                raise LiveError(
                    f"process {pid} does not listen: it runs print or rpc mode, is still starting, or is an older kaa"
                )
            time.sleep(_LISTENING_PAUSE)
        try:
            listens = peer_of(sock).pid
            if listens not in (None, pid):
                raise LiveError(f"process {listens} listens in the place of process {pid}, which has the session open")
            return cls(sock, pid, _ANSWER_SECONDS if seconds is None else seconds)
        except BaseException:
            sock.close()
            raise

    def __enter__(self) -> "SessionConnection":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sock.close()

    def ask(self, request: Callable[[int], AnyRequest]) -> str:
        """Have something done. Returns what there is to say about it.

        Raises:
            LiveError: it is refused, or nobody answers.
        """
        done = self._respond(request, Done)
        return done.text

    def past(self, request: Callable[[int], AnyRequest]) -> Past:
        """Follow the conversation. Returns what happened before.

        Raises:
            LiveError: it is refused, or nobody answers.
        """
        return self._respond(request, Past)

    def hand_over(self) -> tuple[socket.socket, bytes]:
        """The socket and what was read and not looked at, for who goes on with the connection."""
        return self._sock, self._unread

    def _respond(self, request: Callable[[int], AnyRequest], kind: type[ToldT]) -> ToldT:
        self._number += 1
        try:
            self._sock.sendall(msgspec.json.encode(request(self._number)) + b"\n")
        except TimeoutError as error:
            raise _hung(self.pid) from error
        except OSError as error:
            raise self._gone() from error
        while True:
            match self._next():
                case Refused(number=number, error=said) if number in (None, self._number):
                    raise LiveError(said)
                case Done(number=number) | Past(number=number) as told if number == self._number:
                    assert isinstance(told, kind)
                    return told
                case _:
                    continue

    def _next(self) -> AnyTold:
        while b"\n" not in self._unread:
            try:
                data = self._sock.recv(_READ_BYTES)
            except TimeoutError as error:
                raise _hung(self.pid) from error
            except OSError as error:
                raise self._gone() from error
            if not data:
                raise self._gone()
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return decoded(line)

    def _gone(self) -> LiveError:
        return LiveError(f"process {self.pid} has ended, or closed the connection")


def decoded(line: bytes) -> AnyTold:
    """What a line of the server says.

    Raises:
        LiveError: it is of another version.
    """
    try:
        told: AnyTold = msgspec.json.decode(line, type=AnyTold)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise LiveError(f"the kaa says what this version does not understand: {error}") from error
    return told


def _connected(home: Home, session: Path, pid: int) -> socket.socket | None:
    """A socket that leads to the process that has a session open; None if nobody listens.

    Raises:
        LiveError: it does not answer.
    """
    try:
        return sockets_of(home).connect(socket_name(session))
    except NobodyListensError:
        return None
    except NotAcceptedError as error:
        raise _hung(pid) from error


def _hung(pid: int) -> LiveError:
    return LiveError(
        f"process {pid} does not answer: it was stopped or hangs. Continue it with  kill -CONT {pid}  or end it with"
        f"  kill -9 {pid}  (its session is kept)"
    )
