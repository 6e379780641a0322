"""HTTP as the wire adapters need it: one request out, a streamed response back.

The seam between wire formats and the network: `LiveTransport` is the real one, record and replay are others.
"""

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace


class Headers(msgspec.Struct, frozen=True):
    """Response headers in the order they came; names are found in any case."""

    items: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str | None:
        """The first value of `name`, or None."""
        wanted = name.lower()
        return next((value for key, value in self.items if key.lower() == wanted), None)


class HttpRequest(msgspec.Struct, frozen=True):
    """A complete request. `headers` and `variables` may hold secrets: never log or show them.

    Attributes:
        variables: like environment variables (`https_proxy`, `KAA_CLIENT_CERT` …), and preferred to those, for this
            request; see `kaa.llm.http.network_variables`.
        once: it has effects, so it goes over a new connection: on one that was idle, nobody knows whether a request
            that got no answer arrived, and it is sent again.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    variables: dict[str, str] = {}
    once: bool = False

    def __repr__(self) -> str:
        """Without headers, body, variables and query, for this may reach a log."""
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

    async def beginning(self, most: int) -> bytes:
        """The body, up to some more than `most` bytes: it is longer than that if the result is. Raises as `chunks`."""
        found = bytearray()
        async for chunk in self.chunks():
            found += chunk
            if len(found) > most:
                break
        return bytes(found)


class Transport(Protocol):
    """Something that carries HTTP requests."""

    def send(self, request: HttpRequest) -> AbstractAsyncContextManager[HttpResponse]:
        """Send `request`; entering waits for the response's head, leaving closes the response.

        Raises:
            ProviderError: on entering, if no response came.
        """

    async def close(self) -> None: ...


def host_of(url: str) -> str:
    """Host and port of `url`, without anything secret; the empty string if it has none."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


class TransportWithVariables:
    """Sends every request with `variables`; see `HttpRequest.variables`.

    Closing it leaves `transport` open, which others use too.
    """

    def __init__(self, transport: Transport, variables: Mapping[str, str]) -> None:
        self._transport = transport
        self._variables = dict(variables)

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        async with self._transport.send(replace(request, variables=self._variables)) as response:
            yield response

    async def close(self) -> None:
        """Do nothing: whoever opened the transport closes it."""


def with_variables(transport: Transport, variables: Mapping[str, str]) -> Transport:
    """`transport` as it is, or with network variables of its own."""
    return TransportWithVariables(transport, variables) if variables else transport


def origin_of(url: str) -> tuple[str, str, int | None] | None:
    """Scheme, host and port (RFC 6454 4); None of what is no URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), port or {"https": 443, "http": 80}.get(scheme)
