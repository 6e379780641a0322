"""Services of the user's machine that the user admitted: what listens there answers inside the sandbox too.

For a port, the brain listens on the same number of the sandbox's loopback. For a unix socket, it listens at an abstract
name there, to which the connect broker leads connections to its path. Each connection is spliced to the one service
that was admitted: the way to it is kept open, so nothing that commands put in its place is reached.
"""

import asyncio
import contextlib
import errno
import os
import socket
import stat
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from kaa.hands.confinement.failed_connections import stand_in
from kaa.workspace.network.acceptor import Acceptor
from kaa.workspace.network.streams import Stream, splice

# Makes a stream socket of a family inside the sandbox.
MakeSocket: TypeAlias = Callable[[int], Awaitable[socket.socket]]

_LOOPBACK: Final = "127.0.0.1"
_HOST_ADDRESSES: Final = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
_CONNECT_SECONDS: Final = 5.0
_MAX_CONNECTIONS: Final = 64
_BACKLOG: Final = 64


class ServiceError(Exception):
    """A service cannot be admitted; the message says why and what to do."""


class HostServices:
    """The admitted services of one sandbox, by what the user calls them: a port number or the path of a socket.

    Args:
        make_socket: makes sockets inside. Raises OSError if the sandbox is gone.
    """

    def __init__(self, make_socket: MakeSocket) -> None:
        self._make_socket = make_socket
        self._acceptors: dict[str, tuple[Acceptor, int]] = {}

    @property
    def admitted(self) -> tuple[str, ...]:
        """What is admitted, oldest first."""
        return tuple(self._acceptors)

    async def admit(self, service: str, writable: Sequence[str] = ()) -> str:
        """Let commands reach a service until it is closed. Returns its name; does nothing if it is admitted.

        Args:
            service: a port number, or the absolute path of a unix socket.
            writable: directories that commands can write, without links.

        Raises:
            ServiceError: there is no such service, or it cannot be served inside.
        """
        name = service_name(service)
        if name in self._acceptors:
            return name
        if name.isdecimal():
            pinned, listener = -1, await self._listen_on_port(int(name))
        else:
            pinned = _pin(name, writable)
            try:
                listener = await self._listen_for_path(name)
            except BaseException:
                os.close(pinned)
                raise

        async def serve(connection: socket.socket) -> None:
            await _serve(connection, int(name) if pinned < 0 else pinned, is_path=pinned >= 0)

        acceptor = Acceptor(serve, _MAX_CONNECTIONS)
        self._acceptors[name] = acceptor, pinned
        acceptor.attach(listener)
        return name

    async def close(self, name: str) -> None:
        """Withdraw a service and cut its connections. Does nothing if it is not admitted."""
        acceptor, pinned = self._acceptors.pop(name, (None, -1))
        if acceptor is not None:
            await acceptor.close()
        if pinned >= 0:
            os.close(pinned)

    async def close_all(self) -> None:
        while self._acceptors:
            await self.close(next(iter(self._acceptors)))

    async def _listen_on_port(self, port: int) -> socket.socket:
        listener = await self._inside(socket.AF_INET)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((_LOOPBACK, port))
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            raise ServiceError(_port_problem(port, error)) from error
        return listener

    async def _listen_for_path(self, path: str) -> socket.socket:
        listener = await self._inside(socket.AF_UNIX)
        try:
            listener.bind(stand_in(path))
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            raise ServiceError(f"{path} cannot be served inside the sandbox ({error.strerror}).") from error
        return listener

    async def _inside(self, family: int) -> socket.socket:
        try:
            return await self._make_socket(family)
        except OSError as error:
            raise ServiceError(f"The sandbox cannot be reached ({error.strerror or error}).") from error


def service_name(service: str) -> str:
    """What a service is called: its port, or the path of its socket without links.

    Raises:
        ServiceError: it is neither.
    """
    if service.isdecimal() and service.isascii() and len(service) <= 5 and 1 <= int(service) <= 65535:
        return str(int(service))
    if service.startswith("/") and "\0" not in service:
        return os.path.realpath(service)
    raise ServiceError(
        f"invalid service {service!r}: use a port from 1 to 65535, or the absolute path of a unix socket"
    )


def _pin(path: str, writable: Sequence[str]) -> int:
    """A descriptor of a socket file.

    Raises:
        ServiceError: there is none, or commands could put another one in its place before this.
    """
    if any(path.startswith(f"{root.rstrip('/')}/") for root in writable):
        raise ServiceError(f"{path} is in a directory that commands can write, and they could replace it.")
    pinned = -1
    with contextlib.suppress(OSError):
        pinned = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        if stat.S_ISSOCK(os.fstat(pinned).st_mode):
            return pinned
        os.close(pinned)
    raise ServiceError(f"There is no unix socket at {path}.")


async def _serve(connection: socket.socket, target: int, *, is_path: bool) -> None:
    client = Stream(connection)
    try:
        server = Stream(await (_connect_path(target) if is_path else _connect_port(target)))
    except OSError:
        client.break_off()  # as a service does that ends
        return
    try:
        await splice(client, server)
    finally:
        server.close()


async def _connect_port(port: int) -> socket.socket:
    try:
        return await _connect(*_HOST_ADDRESSES[0], port)
    except OSError:
        return await _connect(*_HOST_ADDRESSES[1], port)


async def _connect(family: int, address: str, port: int) -> socket.socket:
    return await _connected(socket.socket(family, socket.SOCK_STREAM), (address, port))


async def _connect_path(pinned: int) -> socket.socket:
    return await _connected(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), f"/proc/self/fd/{pinned}")


async def _connected(sock: socket.socket, address: str | tuple[str, int]) -> socket.socket:
    sock.setblocking(False)
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            await asyncio.get_running_loop().sock_connect(sock, address)
    except BaseException:
        sock.close()
        raise
    return sock


def _port_problem(port: int, error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"A command listens on port {port} inside the sandbox: stop it first."
        case errno.EACCES:
            return f"Port {port} cannot be served inside the sandbox: ports below 1024 need privileges."
        case _:
            return f"Port {port} cannot be served inside the sandbox ({error.strerror})."
