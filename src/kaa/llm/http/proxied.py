"""Requests that go through proxies of their own, instead of those that the environment names for all."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from msgspec.structs import replace

from kaa.llm.http.transport import HttpRequest, HttpResponse, Transport


class ProxiedTransport:
    """Sends every request through the proxies that `variables` name; see `HttpRequest.proxies`.

    Closing it leaves `transport` open, which others use too.
    """

    def __init__(self, transport: Transport, variables: Mapping[str, str]) -> None:
        self._transport = transport
        self._variables = dict(variables)

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        """See `Transport`."""
        async with self._transport.send(replace(request, proxies=self._variables)) as response:
            yield response

    async def close(self) -> None:
        """See `Transport`."""


def proxied(transport: Transport, variables: Mapping[str, str]) -> Transport:
    """`transport` as it is, or with proxies of its own."""
    return ProxiedTransport(transport, variables) if variables else transport
