"""Requests with network variables of their own, preferred to those of the environment."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from msgspec.structs import replace

from kaa.llm.http.transport import HttpRequest, HttpResponse, Transport


class TransportWithVariables:
    """Sends every request with `variables`; see `HttpRequest.variables`.

    Closing it leaves `transport` open, which others use too.
    """

    def __init__(self, transport: Transport, variables: Mapping[str, str]) -> None:
        self._transport = transport
        self._variables = dict(variables)

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        """See `Transport`."""
        async with self._transport.send(replace(request, variables=self._variables)) as response:
            yield response

    async def close(self) -> None:
        """See `Transport`."""


def with_variables(transport: Transport, variables: Mapping[str, str]) -> Transport:
    """`transport` as it is, or with network variables of its own."""
    return TransportWithVariables(transport, variables) if variables else transport
