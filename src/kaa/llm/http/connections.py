"""Connections to servers: opening them, and keeping idle ones for reuse."""

import asyncio
import contextlib
import select
import socket
import ssl
import time
from collections import defaultdict
from contextlib import suppress
from itertools import zip_longest
from typing import Any, Final, TypeAlias, cast

from kaa.llm.http.network_variables import ClientCertificate
from kaa.llm.http.routes import Route
from kaa.llm.http.tls import tls_context

_READ_BYTES: Final = 256 * 1024
_MAX_IDLE_SECONDS: Final = 90.0
_MAX_IDLE_PER_ROUTE: Final = 8
# Many routers forget connections that are silent for some minutes, as while a model thinks. The system's own default
# is two hours. Both in seconds.
_KEEPALIVE_IDLE: Final = 30
_KEEPALIVE_INTERVAL: Final = 15


class HttpConnection(asyncio.Protocol):
    """One open connection."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._transport: asyncio.Transport
        self._received = bytearray()
        self._is_paused = False
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    @classmethod
    async def to(cls, host: str, port: int) -> "HttpConnection":
        """Connect.

        Raises:
            OSError: the server cannot be reached.
        """
        connected = await dial(host, port)
        _, connection = await asyncio.get_running_loop().create_connection(cls, sock=connected)
        return connection

    @property
    def is_reusable(self) -> bool:
        """Whether the server neither closed the connection nor sent something that nobody asked for.

        Otherwise what it sent would be taken for the answer to the next request. What has arrived but was not read
        yet counts, for example the end of the connection.
        """
        if self._received or self._ended or self._transport.is_closing():
            return False
        unread = select.poll()
        unread.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not unread.poll(0)

    def send(self, data: bytes) -> None:
        """Hand over a request; it is sent while the answer is awaited."""
        self._transport.write(data)

    async def receive(self, idle_timeout: float) -> bytes:
        """What arrives next; empty once the server has closed.

        Raises:
            TimeoutError: nothing moved for `idle_timeout` seconds, in neither direction.
            OSError: the connection broke.
        """
        while not self._received:
            if self._error is not None:
                raise self._error
            if self._ended:
                return b""
            unsent = self._transport.get_write_buffer_size()
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(idle_timeout):
                    await self._waiter
            except TimeoutError:
                if self._transport.get_write_buffer_size() >= unsent:
                    raise
            finally:
                self._waiter = None
        data = bytes(self._received)
        self._received.clear()
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """From now on speak TLS, with a server that proves to be `host`.

        Raises:
            OSError: it cannot prove it, or the connection broke.
        """
        if self._received:  # it would be taken for something that `host` said
            raise ConnectionError("data arrived before the connection was encrypted")
        try:
            encrypted = await asyncio.get_running_loop().start_tls(self._transport, self, context, server_hostname=host)
        except TypeError as error:
            # Python before 3.11.8 and 3.12.2 stumbles when TLS within TLS fails (CPython issue 113214).
            raise error.__context__ or error from None
        assert encrypted is not None
        self._transport = encrypted

    def close(self) -> None:
        """Close at once, whatever goes on."""
        # asyncio of some 3.11 trips over a transport that a failed TLS handshake has closed already.
        with contextlib.suppress(AttributeError):
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        _keep_alive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) >= _READ_BYTES and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._error = exc
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class ConnectionPool:
    """Opens connections and keeps those that have finished an exchange. Belongs to one event loop."""

    def __init__(self, connect_timeout: float) -> None:
        self._connect_timeout = connect_timeout
        self._idle: defaultdict[Route, list[HttpConnection]] = defaultdict(list)
        self._tls: dict[ClientCertificate | None, ssl.SSLContext] = {}

    def reuse(self, route: Route) -> HttpConnection | None:
        """An idle connection, the most recently used first."""
        idle = self._idle[route]
        while idle:
            connection = idle.pop()
            if connection.is_reusable and time.monotonic() - connection.idle_since < _MAX_IDLE_SECONDS:
                return connection
            connection.close()
        return None

    def release(self, connection: HttpConnection, route: Route) -> None:
        """Keep a connection whose exchange is complete."""
        connection.idle_since = time.monotonic()
        idle = self._idle[route]
        idle.append(connection)
        if len(idle) > _MAX_IDLE_PER_ROUTE:
            idle.pop(0).close()

    async def open(self, route: Route) -> HttpConnection:
        """A new connection.

        Raises:
            TimeoutError: it took too long.
            OSError: the server or proxy cannot be reached or is not who it says it is.
            ProxyError: the proxy refused.
            HttpError: the proxy does not speak HTTP.
            CertificateError: the client certificate cannot be used.
        """
        async with asyncio.timeout(self._connect_timeout):
            first = route if route.proxy is None else route.proxy
            connection = await HttpConnection.to(first.host, first.port)
            try:
                # Not by asyncio itself: one that is cancelled in its handshake may linger for half a minute.
                if first.scheme == "https":
                    await connection.start_tls(await self._context(route if first is route else None), first.host)
                if route.through_tunnel:
                    from kaa.llm.http.tunnels import open_tunnel  # lazy: most users have no proxy

                    await open_tunnel(connection, route, self._connect_timeout)
                    if route.scheme == "https":
                        await connection.start_tls(await self._context(route), route.host)
            except BaseException:
                connection.close()
                raise
            return connection

    async def close(self) -> None:
        for idle in self._idle.values():
            while idle:
                idle.pop().close()
        await asyncio.sleep(0)  # transports say goodbye to their sockets in the next round of the loop

    async def _context(self, route: Route | None) -> ssl.SSLContext:
        """The TLS settings for a server, or for a proxy; reading all CAs takes tens of ms, hence the thread."""
        certificate = None if route is None else route.certificate
        if certificate not in self._tls:
            self._tls[certificate] = await asyncio.to_thread(tls_context, certificate)
        return self._tls[certificate]


def _keep_alive(connected: socket.socket) -> None:
    """Have the system ask for signs of life, so that a connection survives silence and a dead one is noticed."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle = getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", None))  # macOS has the second name
    if idle is not None:
        connected.setsockopt(socket.IPPROTO_TCP, idle, _KEEPALIVE_IDLE)
    if hasattr(socket, "TCP_KEEPINTVL"):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_INTERVAL)


# asyncio's own way to connect (`happy_eyeballs_delay`) drops a connected socket if it is cancelled before it hands the
# socket over.

_FALLBACK_DELAY_SECONDS: Final = 0.25  # RFC 8305: when IPv6 is slow to answer, IPv4 is tried beside it
_MAX_LABEL: Final = 64  # RFC 1035 (2.3.4): the parts of a name are shorter

# Family, type, protocol and address, as `getaddrinfo` has them.
_Address: TypeAlias = tuple[int, int, int, Any]  # any: addresses differ by family


async def dial(host: str, port: int) -> socket.socket:
    """A connected socket. If this is cancelled, no socket stays open.

    Raises:
        OSError: no address answers.
    """
    loop = asyncio.get_running_loop()
    waiting = await _addresses(host, port)
    attempts: list[asyncio.Task[socket.socket]] = []
    try:
        while True:
            if waiting:
                attempts.append(loop.create_task(_connected(waiting.pop(0))))
            if running := [attempt for attempt in attempts if not attempt.done()]:
                delay = _FALLBACK_DELAY_SECONDS if waiting else None
                await asyncio.wait(running, timeout=delay, return_when=asyncio.FIRST_COMPLETED)
            errors = [attempt.exception() for attempt in attempts if attempt.done()]
            if None in errors:
                won = next(attempt for attempt in attempts if attempt.done() and attempt.exception() is None)
                attempts.remove(won)
                return won.result()
            if not waiting and len(errors) == len(attempts):
                raise _failure(errors)
    finally:
        for attempt in attempts:
            attempt.cancel()
            attempt.add_done_callback(_discard)


async def _addresses(host: str, port: int) -> list[_Address]:
    """The addresses of a host, its families in turn."""
    # A text would load Python's tables for names in other scripts; what they refuse, it has to be.
    name = host.encode() if host.isascii() and max(map(len, host.split("."))) < _MAX_LABEL else host
    with suppress(socket.gaierror):  # an address needs no lookup, which would take a thread
        return _in_turn(socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST))
    return _in_turn(await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM))


def _in_turn(found: list[tuple[Any, Any, int, str, Any]]) -> list[_Address]:
    families: dict[int, list[_Address]] = {}
    for family, kind, protocol, _, address in found:
        families.setdefault(family, []).append((family, kind, protocol, address))
    return [address for turn in zip_longest(*families.values()) for address in turn if address is not None]


async def _connected(address: _Address) -> socket.socket:
    family, kind, protocol, place = address
    connecting = socket.socket(family, kind, protocol)
    try:
        connecting.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connecting, place)
    except BaseException:
        connecting.close()
        raise
    return connecting


def _discard(attempt: asyncio.Task[socket.socket]) -> None:
    """Close the socket of an attempt that nobody needs."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()


def _failure(errors: list[BaseException | None]) -> BaseException:
    """One error for those of all addresses."""
    found = {str(error): error for error in errors if error is not None}
    first = next(iter(found.values()))
    return first if len(found) == 1 else OSError(", ".join(found))
