"""Connections to servers: opening them, through proxies and TLS where wanted, and keeping idle ones for reuse."""

import asyncio
import contextlib
import os
import ssl
import time
from base64 import b64encode
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from kaa.llm.http.http1 import ResponseDecoder, encode_request
from kaa.llm.http.proxies import proxy_for

_READ_BYTES: Final = 256 * 1024
_MAX_IDLE_SECONDS: Final = 90.0
_MAX_IDLE_PER_ROUTE: Final = 8
_FALLBACK_DELAY_SECONDS: Final = 0.25  # RFC 8305: when IPv6 is slow to answer, IPv4 is tried beside it
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
# Where systems keep the CAs, for a Python whose OpenSSL was built for another one.
_CA_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


class ProxyError(Exception):
    """The proxy cannot be used or did not let us through; the message says why."""


class Route(NamedTuple):
    """How to reach a server. Connections with the same route are interchangeable."""

    scheme: str
    host: str
    port: int
    proxy: SplitResult | None = None

    @property
    def through_tunnel(self) -> bool:
        """Whether the proxy only passes bytes, because they are encrypted."""
        return self.proxy is not None and self.scheme == "https"


def route_to(parts: SplitResult, environment: Mapping[str, str]) -> Route:
    """The route to the server of a URL, through the proxy that the environment names for it.

    Raises:
        ValueError: the URL names no server kaa can reach.
        ProxyError: the same is true of the proxy.
    """
    route = _direct_route(parts)
    proxy = proxy_for(route.scheme, route.host, route.port, environment)
    if proxy is None:
        return route
    try:
        address = urlsplit(proxy)
        _direct_route(address)
    except ValueError:
        # Not chained, for the cause may quote a password.
        if proxy.lower().startswith("socks"):
            raise ProxyError(
                "kaa speaks no SOCKS; name an HTTP proxy, which most programs that offer SOCKS can be as well"
            ) from None
        raise ProxyError("its address is not a valid http:// or https:// URL") from None
    return route._replace(proxy=address)


def _direct_route(parts: SplitResult) -> Route:
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ValueError("no http:// or https:// with a host")
    return Route(parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS[parts.scheme])


class Connection:
    """One open connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.idle_since = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the server has not closed it, as far as is known."""
        return not self._reader.at_eof() and not self._writer.is_closing()

    def send(self, data: bytes) -> None:
        """Hand over a request; it is sent while the answer is awaited."""
        self._writer.write(data)

    async def receive(self, idle_timeout: float) -> bytes:
        """What arrives next; empty once the server has closed.

        Raises:
            TimeoutError: nothing moved for `idle_timeout` seconds, in neither direction.
            OSError: the connection broke.
        """
        while True:
            unsent = self._writer.transport.get_write_buffer_size()
            try:
                async with asyncio.timeout(idle_timeout):
                    return await self._reader.read(_READ_BYTES)
            except TimeoutError:
                if self._writer.transport.get_write_buffer_size() >= unsent:
                    raise

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """From now on speak TLS, with a server that proves to be `host`.

        Raises:
            OSError: it cannot prove it, or the connection broke.
        """
        try:
            await self._writer.start_tls(context, server_hostname=host)
        except TypeError as error:
            # Python before 3.11.8 and 3.12.2 stumbles when TLS within TLS fails (CPython issue 113214).
            raise error.__context__ or error from None

    def close(self) -> None:
        """Close at once, whatever goes on."""
        # asyncio of some 3.11 trips over a transport that a failed TLS handshake has closed already.
        with contextlib.suppress(AttributeError):
            self._writer.transport.abort()


class ConnectionPool:
    """Opens connections and keeps those that have finished an exchange. Belongs to one event loop."""

    def __init__(self, connect_timeout: float) -> None:
        self._connect_timeout = connect_timeout
        self._idle: defaultdict[Route, list[Connection]] = defaultdict(list)
        self._tls: ssl.SSLContext | None = None

    def reuse(self, route: Route) -> Connection | None:
        """An idle connection, the most recently used first."""
        idle = self._idle[route]
        while idle:
            connection = idle.pop()
            if connection.is_open and time.monotonic() - connection.idle_since < _MAX_IDLE_SECONDS:
                return connection
            connection.close()
        return None

    def release(self, connection: Connection, route: Route) -> None:
        """Keep a connection whose exchange is complete."""
        connection.idle_since = time.monotonic()
        idle = self._idle[route]
        idle.append(connection)
        if len(idle) > _MAX_IDLE_PER_ROUTE:
            idle.pop(0).close()

    async def open(self, route: Route) -> Connection:
        """A new connection.

        Raises:
            TimeoutError: it took too long.
            OSError: the server or proxy cannot be reached or is not who it says it is.
            ProxyError: the proxy refused.
            HttpError: the proxy does not speak HTTP.
        """
        async with asyncio.timeout(self._connect_timeout):
            if route.proxy is None:
                return await self._connect(route)
            connection = await self._connect(_direct_route(route.proxy))
            if route.through_tunnel:
                try:
                    await self._open_tunnel(connection, route, route.proxy)
                except BaseException:
                    connection.close()
                    raise
            return connection

    async def close(self) -> None:
        """Close all idle connections."""
        for idle in self._idle.values():
            while idle:
                idle.pop().close()
        await asyncio.sleep(0)  # transports say goodbye to their sockets in the next round of the loop

    async def _connect(self, route: Route) -> Connection:
        streams = await asyncio.open_connection(
            route.host, route.port, happy_eyeballs_delay=_FALLBACK_DELAY_SECONDS, limit=_READ_BYTES
        )
        connection = Connection(*streams)
        if route.scheme == "https":
            # Not by open_connection itself: one that is cancelled in its handshake may linger for half a minute.
            try:
                await connection.start_tls(await self._context(), route.host)
            except BaseException:
                connection.close()
                raise
        return connection

    async def _open_tunnel(self, connection: Connection, route: Route, proxy: SplitResult) -> None:
        target = f"[{route.host}]:{route.port}" if ":" in route.host else f"{route.host}:{route.port}"
        headers = [("host", target), *basic_authorization("proxy-authorization", proxy)]
        connection.send(encode_request("CONNECT", target, headers, b""))
        decoder = ResponseDecoder()
        while decoder.status is None:
            data = await connection.receive(self._connect_timeout)
            if not data:
                raise ProxyError("it closed the connection")
            decoder.feed(data)
        if not 200 <= decoder.status < 300:
            raise ProxyError(f"it answered with HTTP {decoder.status}")
        await connection.start_tls(await self._context(), route.host)

    async def _context(self) -> ssl.SSLContext:
        """The TLS settings; reading all CAs takes tens of ms, hence the thread."""
        if self._tls is None:
            self._tls = await asyncio.to_thread(_tls_context)
        return self._tls


def basic_authorization(header: str, parts: SplitResult) -> list[tuple[str, str]]:
    """The name and password of a URL as a header of that name; nothing if it has none."""
    if not parts.username:
        return []
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return [(header, f"Basic {b64encode(pair.encode()).decode()}")]


def _tls_context() -> ssl.SSLContext:
    """TLS with the CAs of the system and those of SSL_CERT_FILE and SSL_CERT_DIR."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):
        bundle = next((path for path in _CA_BUNDLES if os.path.exists(path)), None)
        if bundle is not None:
            context.load_verify_locations(bundle)
    return context
