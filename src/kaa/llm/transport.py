"""HTTP as the wire adapters need it: one request out, a streamed response back.

The only file that knows the HTTP client (pyreqwest). Record and replay are other `Transport`s behind the
same seam.
"""

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import msgspec

from kaa.core.errors import BadRequestError, NetworkError, ProviderError, StalledStreamError

if TYPE_CHECKING:
    from pyreqwest.client import Client
    from pyreqwest.exceptions import PyreqwestError
    from pyreqwest.response import Response

_CONNECT_TIMEOUT_SECONDS = 15.0
_IDLE_TIMEOUT_SECONDS = 120.0
# Cancelled requests and parallel sub-agents leave idle connections; more than these are not worth keeping.
_IDLE_CONNECTIONS_PER_HOST = 8


class Headers(msgspec.Struct, frozen=True):
    """Response headers in the order they came; names are found in any case."""

    items: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str | None:
        """The first value of `name`, or None."""
        wanted = name.lower()
        return next((value for key, value in self.items if key.lower() == wanted), None)


class HttpRequest(msgspec.Struct, frozen=True):
    """A complete request. `headers` may hold secrets: never log or show them."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def __repr__(self) -> str:
        """Without headers, body and query, for this may reach a log."""
        return f"HttpRequest({self.method!r}, {self.host!r})"

    @property
    def host(self) -> str:
        """Host and port as they may be shown to people: without credentials, path or query."""
        return host_of(self.url)


class HttpResponse(msgspec.Struct, frozen=True):
    """A response whose head has arrived. `body` can be iterated once, inside the context that gave it."""

    status: int
    headers: Headers
    body: AsyncIterable[bytes]

    def chunks(self) -> AsyncIterator[bytes]:
        """The decompressed body in pieces of any size, as they arrive.

        Raises:
            NetworkError: the connection broke.
            StalledStreamError: the server went silent.
        """
        return aiter(self.body)


class Transport(Protocol):
    """Something that carries HTTP requests."""

    def send(self, request: HttpRequest) -> AbstractAsyncContextManager[HttpResponse]:
        """Send `request`; entering waits for the response's head, leaving closes the response.

        Raises:
            ProviderError: on entering, if no response came.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


def host_of(url: str) -> str:
    """Host and port of `url`, without anything secret; the empty string if it has none."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


class LiveTransport:
    """The real network. Connections are kept and reused; proxies and CAs come from the environment.

    Redirects are never followed, because a key in a custom header would follow them to any host.

    Args:
        connect_timeout: seconds to establish a connection.
        idle_timeout: seconds the server may stay silent, before its answer and within it.
    """

    def __init__(
        self,
        *,
        connect_timeout: float = _CONNECT_TIMEOUT_SECONDS,
        idle_timeout: float = _IDLE_TIMEOUT_SECONDS,
    ) -> None:
        self._connect_timeout = connect_timeout
        self._idle_timeout = idle_timeout
        self._client: Client | None = None

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        """See `Transport`."""
        # pyreqwest takes longer to load than kaa needs for its first frame.
        from pyreqwest.exceptions import PyreqwestError

        try:
            builder = self._connected_client().request(request.method, request.url)
            builder = builder.headers(list(request.headers)).body_bytes(request.body)
            # Unless told otherwise the client holds a body back until it has 64 KiB of it: nothing would stream.
            streamed = builder.streamed_read_buffer_limit(0).build_streamed()
            response = await streamed.__aenter__()
        except ValueError:
            # Not chained: the client's own message quotes the header it does not like, perhaps the key.
            raise BadRequestError(
                f"kaa cannot send a request to {request.host or 'an address without a host'}: the URL or a header "
                "is not valid. Check the base URL (http:// or https://, a host) and that the key has no line break."
            ) from None
        except PyreqwestError as error:
            raise self._translate(error, request) from error
        try:
            headers = Headers(tuple(response.headers.items()))
            yield HttpResponse(response.status, headers, _LiveBody(self, request, response))
        finally:
            await streamed.__aexit__(None, None, None)

    async def close(self) -> None:
        """See `Transport`."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _connected_client(self) -> "Client":
        if self._client is None:
            from pyreqwest.client import ClientBuilder

            self._client = (
                ClientBuilder()
                .connect_timeout(timedelta(seconds=self._connect_timeout))
                .read_timeout(timedelta(seconds=self._idle_timeout))
                .pool_max_idle_per_host(_IDLE_CONNECTIONS_PER_HOST)
                .follow_redirects(False)
                .referer(False)
                .user_agent("kaa")
                .build()
            )
        return self._client

    def _translate(self, error: "PyreqwestError", request: HttpRequest) -> ProviderError:
        """What a failure of the client means for the person in front of the screen."""
        from pyreqwest.exceptions import ConnectError, DetailedPyreqwestError, RequestTimeoutError

        details = error.details if isinstance(error, DetailedPyreqwestError) else {"causes": None}
        causes = [cause["message"] for cause in details["causes"] or ()]
        reason = causes[-1] if len(causes) > 1 else error.message
        connecting = "client error (Connect)" in causes
        if isinstance(error, RequestTimeoutError):
            if connecting:
                return NetworkError(
                    f"{request.host} did not accept a connection within {self._connect_timeout:g} s: check the "
                    "address, your network and the proxy settings."
                )
            return StalledStreamError(
                f"{request.host} sent nothing for {self._idle_timeout:g} s: the server is overloaded or the "
                "connection is dead. Try again."
            )
        if "certificate" in reason:
            failure = NetworkError(
                f"the certificate of {request.host} is not trusted ({reason}): if your network uses its own "
                "certificate authority, set SSL_CERT_FILE to its PEM file."
            )
            failure.transient = False
            return failure
        if connecting or isinstance(error, ConnectError):
            return NetworkError(
                f"cannot connect to {request.host} ({reason}): check that the address is right, the server runs "
                "and your network or proxy lets kaa through."
            )
        return NetworkError(f"the connection to {request.host} broke ({reason}). Try again.")


class _LiveBody:
    """The chunks of one response."""

    def __init__(self, transport: LiveTransport, request: HttpRequest, response: "Response") -> None:
        self._transport = transport
        self._request = request
        self._reader = response.body_reader

    def __aiter__(self) -> "_LiveBody":
        return self

    async def __anext__(self) -> bytes:
        from pyreqwest.exceptions import PyreqwestError

        try:
            chunk = await self._reader.read_chunk()
        except PyreqwestError as error:
            raise self._transport._translate(error, self._request) from error
        if chunk is None:
            raise StopAsyncIteration
        return bytes(chunk)
