"""The real network behind the `Transport` seam: HTTP/1.1 over asyncio's own connections.

Why no library does all of it: docs/architecture.md, "Decisions".
"""

import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

from kaa.core.errors import BadRequestError, NetworkError, StalledStreamError
from kaa.llm.http.connections import ConnectionPool, HttpConnection
from kaa.llm.http.http1 import HttpError, ResponseDecoder, encode_request
from kaa.llm.http.network_variables import with_own, with_proxy
from kaa.llm.http.routes import ProxyError, ProxyLoginError, Route, basic_authorization, login_of, route_to
from kaa.llm.http.tls import CertificateError
from kaa.llm.http.transport import HttpRequest, HttpResponse

_CONNECT_TIMEOUT_SECONDS: Final = 15.0
_IDLE_TIMEOUT_SECONDS: Final = 120.0
_PROXY_LOGIN_REQUIRED: Final = 407  # as in `tunnels`, which most users never load
_REQUEST_TIMEOUT: Final = 408
_OWN_HEADERS: Final = {"user-agent": "kaa", "accept-encoding": "gzip"}
# What says where a request ends (RFC 9112): two of these, and two servers may see two different requests.
_FRAMING_HEADERS: Final = frozenset(("content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade"))
# X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH of OpenSSL.
_WRONG_NAME: Final = (62, 64)


class LiveTransport:
    """The real network. Connections are kept and reused.

    Proxies, CAs and client certificates come from the environment. Redirects are not followed, because a key in a
    header would follow them to any host. Belongs to one event loop.

    Args:
        connect_timeout: seconds to establish a connection.
        idle_timeout: seconds the server may stay silent, before its answer and within it.
        proxy: URL of the proxy to use where the environment names none; None for none.
    """

    def __init__(
        self,
        *,
        connect_timeout: float = _CONNECT_TIMEOUT_SECONDS,
        idle_timeout: float = _IDLE_TIMEOUT_SECONDS,
        proxy: str | None = None,
    ) -> None:
        self._connect_timeout = connect_timeout
        self._idle_timeout = idle_timeout
        self._proxy = proxy
        self._pool = ConnectionPool(connect_timeout)

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        route, message = _prepare(request, self._proxy)
        exchange = await self._exchange(route, message, request.host, once=request.once)
        decoder = exchange.decoder
        try:
            assert decoder.status is not None
            if decoder.status == _PROXY_LOGIN_REQUIRED and route.proxy is not None:
                from kaa.llm.http.tunnels import login_required  # lazy: most users have no proxy

                raise _unusable_proxy(request.host, login_required(decoder.headers.get("proxy-authenticate")))
            yield HttpResponse(decoder.status, decoder.headers, exchange)
        finally:
            if decoder.complete and decoder.reusable:
                self._pool.release(exchange.connection, route)
            else:
                exchange.connection.close()

    async def close(self) -> None:
        await self._pool.close()

    async def _exchange(self, route: Route, message: bytes, host: str, *, once: bool) -> "_Exchange":
        """Send a request and wait for the head of the answer."""
        idle = None if once else self._pool.reuse(route)
        if idle is not None:
            exchange = _Exchange(idle, host, self._idle_timeout)
            try:
                await exchange.begin(message)
            except NetworkError as error:
                # Closed by the server while idle: that says nothing about this request.
                if exchange.answered or isinstance(error, StalledStreamError):
                    raise
            else:
                if exchange.decoder.status != _REQUEST_TIMEOUT:
                    return exchange
                idle.close()  # 408 is what a server may say to a connection that idles, before it closes it
        exchange = _Exchange(await self._open(route, host), host, self._idle_timeout)
        await exchange.begin(message)
        return exchange

    async def _open(self, route: Route, host: str) -> HttpConnection:
        try:
            return await self._pool.open(route)
        except TimeoutError as error:
            raise _unreachable(host, route, f"no answer within {self._connect_timeout:g} s") from error
        except UnicodeError:
            raise _unsendable(host) from None
        except ssl.SSLCertVerificationError as error:
            raise _untrusted(host, route, error) from error
        except ProxyLoginError as error:
            raise _unusable_proxy(host, str(error)) from error
        except CertificateError as error:
            raise _lasting(NetworkError(f"cannot connect to {host}: {error}.")) from error
        except (OSError, ProxyError, HttpError) as error:
            raise _unreachable(host, route, _reason(error)) from error


class _Exchange:
    """One request and its answer on a connection; iterating it gives the body."""

    def __init__(self, connection: HttpConnection, host: str, idle_timeout: float) -> None:
        self.connection = connection
        self.decoder = ResponseDecoder()
        self._host = host
        self._idle_timeout = idle_timeout
        self.answered = False  # with anything at all
        self._first = b""  # what of the body came together with the head

    async def begin(self, message: bytes) -> None:
        """Send the request and read up to the end of the answer's head; failing that, close the connection.

        Raises:
            NetworkError: the server did not answer as it should.
        """
        try:
            self.connection.send(message)
            while self.decoder.status is None:
                self._first = await self._receive()
        except BaseException:
            self.connection.close()
            raise

    def __aiter__(self) -> "_Exchange":
        return self

    async def __anext__(self) -> bytes:
        body, self._first = self._first, b""
        while not body:
            if self.decoder.complete:
                raise StopAsyncIteration
            body = await self._receive()
        return body

    async def _receive(self) -> bytes:
        """What the next read adds to the body."""
        try:
            data = await self.connection.receive(self._idle_timeout)
            if not data:
                self.decoder.end()
                return b""
            self.answered = True
            return self.decoder.feed(data)
        except TimeoutError as error:
            raise StalledStreamError(
                f"{self._host} sent nothing for {self._idle_timeout:g} s: the server is overloaded or the connection "
                "is dead. Try again."
            ) from error
        except (OSError, HttpError) as error:
            raise NetworkError(f"the connection to {self._host} broke ({_reason(error)}). Try again.") from error


def _prepare(request: HttpRequest, proxy: str | None) -> tuple[Route, bytes]:
    """Where to send `request`, and its bytes.

    Raises:
        BadRequestError: it cannot be sent. Not chained, for the cause may quote a secret.
        NetworkError: the proxy cannot be used.
    """
    try:
        parts = urlsplit(request.url)
        host = _ascii_host(request)
        headers = {"host": host, **_OWN_HEADERS}
        if login := login_of(parts):
            headers["authorization"] = basic_authorization(login)
        headers.update((name.lower(), value) for name, value in request.headers)
        if framing := sorted(_FRAMING_HEADERS & headers.keys()):
            raise _refused_header(framing[0])
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        route = route_to(parts, with_own(with_proxy(os.environ, proxy), request.variables))
        if route.proxy is not None and not route.through_tunnel:
            target = f"{parts.scheme}://{host}{target}"
            if route.proxy.login:
                headers["proxy-authorization"] = basic_authorization(route.proxy.login)
        return route, encode_request(request.method, target, headers.items(), request.body)
    except ValueError:
        raise _unsendable(request.host) from None
    except ProxyError as error:
        raise _unusable_proxy(request.host, str(error)) from error


def _ascii_host(request: HttpRequest) -> str:
    return request.host if request.host.isascii() else request.host.encode("idna").decode()


def _refused_header(name: str) -> BadRequestError:
    return BadRequestError(
        f"cannot send a request with the header '{name}' from your configuration: kaa sets it itself. Remove it from "
        "'headers' in models.json."
    )


def _unusable_proxy(host: str, reason: str) -> NetworkError:
    return _lasting(
        NetworkError(
            f"cannot use the proxy for {host}: {reason}. Check http_proxy, https_proxy and all_proxy in the "
            "environment and in auth.json, and httpProxy in the settings."
        )
    )


def _lasting(failure: NetworkError) -> NetworkError:
    """`failure` as one that trying again does not cure."""
    failure.transient = False
    return failure


def _unsendable(host: str) -> BadRequestError:
    if not host:
        return BadRequestError(
            "the base URL names no host. Check the base URL: it must begin with http:// or https://, as in "
            "http://localhost:8080/v1."
        )
    return BadRequestError(
        f"cannot send a request to {host}: the URL or a header is not valid. "
        "Check the base URL (http:// or https://, a port below 65536) and that the key has no line break."
    )


def _unreachable(host: str, route: Route, reason: str) -> NetworkError:
    return NetworkError(
        f"cannot connect to {host}{_via(route)} ({reason}): check that the address is right, the server runs and your "
        "network or proxy lets kaa through."
    )


def _untrusted(host: str, route: Route, error: ssl.SSLCertVerificationError) -> NetworkError:
    remedy = (
        "check the base URL and the proxy settings; the server that answers has another name."
        if error.verify_code in _WRONG_NAME
        else "if your network uses its own certificate authority, set SSL_CERT_FILE to its PEM file; if the system has "
        "none, install the package ca-certificates."
    )
    return _lasting(
        NetworkError(
            f"cannot connect to {host}{_via(route)}: the certificate is not trusted ({error.verify_message}): {remedy}"
        )
    )


def _via(route: Route) -> str:
    return f" through the proxy {route.proxy.address}" if route.proxy else ""


def _reason(error: Exception) -> str:
    match error:
        case ssl.SSLError(reason="TLSV13_ALERT_CERTIFICATE_REQUIRED"):
            return "the server wants a client certificate: name one in KAA_CLIENT_CERT and KAA_CLIENT_KEY"
        case ssl.SSLError():
            return f"TLS failed: {error.reason or error}"
        case OSError(errno=int(number)) if number > 0:  # a failed lookup has numbers of its own, below zero
            return os.strerror(number)  # asyncio replaces the system's words by its own
        case OSError():
            return error.strerror or str(error)
        case _:
            return str(error)
