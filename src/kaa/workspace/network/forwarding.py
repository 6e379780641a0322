"""Ports of the sandbox on the user's machine: to look at a development server with a browser, for example.

The brain listens on loopback and nowhere else. Each connection gets a socket that was made inside the sandbox, and is
spliced to a server there.
"""

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from kaa.workspace.network.acceptor import Acceptor
from kaa.workspace.network.streams import Stream, splice

# Makes a stream socket of a family inside the sandbox.
InsideSocket: TypeAlias = Callable[[int], Awaitable[socket.socket]]

_LOOPBACK: Final = "127.0.0.1"
_Addresses: TypeAlias = Sequence[tuple[int, str]]
_INSIDE_ADDRESSES: Final[_Addresses] = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
_CONNECT_SECONDS: Final = 5.0  # loopback answers at once, unless the queue of the listener is full
_MAX_CONNECTIONS: Final = 64
_BACKLOG: Final = 64


class ForwardError(Exception):
    """A port cannot be forwarded; the message says why and what to do."""


class Forward(NamedTuple):
    """A port of the sandbox on the user's machine.

    Attributes:
        host_port: where it can be reached, on 127.0.0.1.
    """

    sandbox_port: int
    host_port: int

    @property
    def url(self) -> str:
        """Where a browser finds the server."""
        return f"http://{_LOOPBACK}:{self.host_port}"


class PortForwards:
    """The forwarded ports of one sandbox.

    Args:
        inside_socket: makes a TCP socket inside the sandbox, not connected, which the forwards own. Raises OSError if
            there is none.
    """

    def __init__(self, inside_socket: InsideSocket) -> None:
        self._inside_socket = inside_socket
        self._acceptors: dict[Forward, Acceptor] = {}

    @property
    def active(self) -> tuple[Forward, ...]:
        """What is forwarded, oldest first."""
        return tuple(self._acceptors)

    async def open(self, sandbox_port: int, host_port: int | None = None) -> Forward:
        """Forward a port on which a server listens.

        Args:
            sandbox_port: 1 to 65535.
            host_port: 0 lets the system choose; None takes the same number, if it is free.

        Raises:
            ForwardError: nobody listens in the sandbox, or the port of this machine cannot be had.
        """
        if not 1 <= sandbox_port <= 65535 or not 0 <= (host_port or 0) <= 65535:
            raise ForwardError("A port is a number from 1 to 65535.")
        with await self._connect(sandbox_port, _INSIDE_ADDRESSES) as probe:
            found = tuple(one for one in _INSIDE_ADDRESSES if one[0] == probe.family)
        listener = _listen_at_same(sandbox_port) if host_port is None else _listen(host_port)
        forward = Forward(sandbox_port, int(listener.getsockname()[1]))

        async def serve(connection: socket.socket) -> None:
            await self._serve(connection, sandbox_port, found)

        self._acceptors[forward] = acceptor = Acceptor(serve, _MAX_CONNECTIONS)
        acceptor.attach(listener)
        return forward

    async def close(self, forward: Forward) -> None:
        """Stop forwarding a port and cut its connections. Does nothing if it is not forwarded."""
        acceptor = self._acceptors.pop(forward, None)
        if acceptor is not None:
            await acceptor.close()

    async def close_all(self) -> None:
        while self._acceptors:
            await self.close(next(iter(self._acceptors)))

    async def _serve(self, connection: socket.socket, port: int, addresses: _Addresses) -> None:
        client = Stream(connection)
        try:
            server = Stream(await self._connect(port, addresses))
        except ForwardError:
            client.break_off()  # as a server does that ends
            return
        try:
            await splice(client, server)
        finally:
            server.close()

    async def _connect(self, port: int, addresses: _Addresses) -> socket.socket:
        """A socket inside the sandbox, connected to a server there.

        Raises:
            ForwardError: there is none.
        """
        problem = ForwardError(_inside_problem(port, ConnectionRefusedError(errno.ECONNREFUSED, "")))
        for family, address in addresses:
            try:
                sock = await self._make_socket(family)
            except ForwardError as error:
                problem = error if family == socket.AF_INET else problem  # a machine may have no IPv6
                continue
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    await asyncio.get_running_loop().sock_connect(sock, (address, port))
            except OSError as error:
                sock.close()
                if error.errno != errno.ECONNREFUSED:
                    problem = ForwardError(_inside_problem(port, error))
            except BaseException:
                sock.close()
                raise
            else:
                return sock
        raise problem

    async def _make_socket(self, family: int) -> socket.socket:
        try:
            sock = await self._inside_socket(family)
        except OSError as error:
            raise ForwardError(f"The sandbox cannot be reached ({_reason(error)}).") from error
        sock.setblocking(False)
        return sock


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_LOOPBACK, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ForwardError(_outside_problem(port, error)) from error
    return listener


def _listen_at_same(port: int) -> socket.socket:
    try:
        return _listen(port)
    except ForwardError:
        return _listen(0)


def _outside_problem(port: int, error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"Port {port} of this machine is taken: choose another, or 0 for any that is free."
        case errno.EACCES:
            return f"Port {port} of this machine needs privileges: choose one from 1024 on, or 0 for any that is free."
        case _:
            return f"Port {port} of this machine cannot be had ({_reason(error)}): choose another, or 0 for any."


def _inside_problem(port: int, error: OSError) -> str:
    if error.errno == errno.ECONNREFUSED:
        return f"Nobody listens on port {port} inside the sandbox: start the server first."
    return f"Port {port} inside the sandbox does not answer ({_reason(error)})."


def _reason(error: OSError) -> str:
    # asyncio replaces the words of the system by its own; time limits have no number.
    return os.strerror(error.errno) if error.errno else str(error) or "no answer in time"
