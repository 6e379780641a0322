"""Asks a proxy to pass bytes on to a server: CONNECT over HTTP, or SOCKS5."""

import asyncio
import ipaddress
import socket
from typing import Final

from kaa.llm.http.connections import HttpConnection
from kaa.llm.http.http1 import ResponseDecoder, encode_request
from kaa.llm.http.routes import Proxy, ProxyError, ProxyLoginError, Route, basic_authorization

PROXY_LOGIN_REQUIRED: Final = 407
_UNAUTHORIZED: Final = 401

# RFC 1928 and, for the login, RFC 1929.
_VERSION: Final = 5
_NO_LOGIN, _LOGIN = 0, 2
_CONNECT: Final = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_ADDRESS_BYTES: Final = {_IPV4: 4, _IPV6: 16}
_REFUSALS: Final = {
    1: "general failure",
    2: "its rules do not allow the connection",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "time to live expired",
    7: "it does not support CONNECT",
    8: "it does not support this type of address",
}


async def open_tunnel(connection: HttpConnection, route: Route, idle_timeout: float) -> None:
    """From now on `connection`, which leads to the proxy of `route`, leads to the server.

    Args:
        idle_timeout: seconds that the proxy may stay silent.

    Raises:
        TimeoutError: it was silent for longer.
        OSError: the connection broke.
        ProxyError: the proxy refused.
        HttpError: the proxy does not speak HTTP.
    """
    assert route.proxy is not None
    if route.proxy.speaks_socks:
        await _SocksHandshake(connection, route.proxy, idle_timeout).connect(route.host, route.port)
    else:
        await _connect_over_http(connection, route, route.proxy, idle_timeout)


def login_required(offered: str | None) -> str:
    """What to say of a proxy that wants a name and password.

    Args:
        offered: its `Proxy-Authenticate` header.
    """
    if offered and not offered.lower().startswith("basic"):
        scheme = offered.split(None, 1)[0]
        return f"it requires a login with {scheme[:40]!r}, and kaa supports only Basic"
    return "it requires a name and password, or refuses those in its URL: write http://NAME:PASSWORD@HOST:PORT"


async def _connect_over_http(connection: HttpConnection, route: Route, proxy: Proxy, idle_timeout: float) -> None:
    target = f"[{route.host}]:{route.port}" if ":" in route.host else f"{route.host}:{route.port}"
    headers = {"host": target}
    if proxy.login:
        headers["proxy-authorization"] = basic_authorization(proxy.login)
    connection.send(encode_request("CONNECT", target, headers.items(), b""))
    decoder = ResponseDecoder()
    while decoder.status is None:
        decoder.feed(await _received(connection, idle_timeout))
    if decoder.status in (_UNAUTHORIZED, PROXY_LOGIN_REQUIRED):  # tinyproxy says the first of a wrong password
        raise ProxyLoginError(login_required(decoder.headers.get("proxy-authenticate")))
    if not 200 <= decoder.status < 300:
        raise ProxyError(f"it answered with HTTP {decoder.status}")


class _SocksHandshake:
    """The handshake of SOCKS5, one answer at a time."""

    def __init__(self, connection: HttpConnection, proxy: Proxy, idle_timeout: float) -> None:
        self._connection = connection
        self._proxy = proxy
        self._idle_timeout = idle_timeout
        self._unread = b""

    async def connect(self, host: str, port: int) -> None:
        """Have the proxy connect to a server."""
        await self._log_in()
        address = await self._address(host, port)
        self._connection.send(bytes((_VERSION, _CONNECT, 0)) + address + port.to_bytes(2))
        version, refusal, _, kind = await self._read(4)
        if version != _VERSION:
            raise ProxyError("it does not speak SOCKS5")
        if refusal:
            raise ProxyError(f"it answered: {_REFUSALS.get(refusal, f'error {refusal}')}")
        # The address that it connects from, which nobody needs, and a port.
        length = (await self._read(1))[0] if kind == _NAME else _ADDRESS_BYTES.get(kind, 0)
        await self._read(length + 2)

    async def _log_in(self) -> None:
        methods = (_NO_LOGIN, _LOGIN) if self._proxy.login else (_NO_LOGIN,)
        self._connection.send(bytes((_VERSION, len(methods), *methods)))
        version, method = await self._read(2)
        if version != _VERSION:
            raise ProxyError("it does not speak SOCKS5")
        if method == _NO_LOGIN:
            return
        if method != _LOGIN or self._proxy.login is None:
            raise ProxyLoginError("it requires a name and password: write socks5://NAME:PASSWORD@HOST:PORT")
        name, password = (word.encode() for word in self._proxy.login)
        if max(len(name), len(password)) > 255:
            raise ProxyError("name and password may have 255 bytes each")
        self._connection.send(bytes((1, len(name))) + name + bytes((len(password),)) + password)
        _, refused = await self._read(2)
        if refused:
            raise ProxyLoginError("it refuses the name and password in its URL")

    async def _address(self, host: str, port: int) -> bytes:
        """A host as the request names it. `socks5` has its address looked up here, `socks5h` by the proxy."""
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            if self._proxy.scheme == "socks5h":
                name = host.encode("ascii" if host.isascii() else "idna")
                return bytes((_NAME, len(name))) + name
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
            address = ipaddress.ip_address(found[0][4][0])
        return bytes((_IPV4 if address.version == 4 else _IPV6,)) + address.packed

    async def _read(self, count: int) -> bytes:
        while len(self._unread) < count:
            self._unread += await _received(self._connection, self._idle_timeout)
        taken, self._unread = self._unread[:count], self._unread[count:]
        return taken


async def _received(connection: HttpConnection, idle_timeout: float) -> bytes:
    data = await connection.receive(idle_timeout)
    if not data:
        raise ProxyError("it closed the connection")
    return data
