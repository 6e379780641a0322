"""Requests that one key, the same for all, does not let in: tokens that expire, signatures over each request."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from kaa.llm.http.transport import HttpRequest, HttpResponse, Transport

_UNAUTHORIZED = 401


class Authorizer(Protocol):
    """Gives each request what it needs to be let in."""

    async def authorize(self, request: HttpRequest) -> HttpRequest:
        """`request` with its token or signature.

        Raises:
            AuthError: there is none, and none can be had; the message says what to do.
            ProviderError: whoever gives tokens cannot be reached.
        """
        ...

    async def renew(self) -> bool:
        """The last request was refused (401): get another token, if that may help. False if it cannot."""
        ...


class AuthorizedTransport:
    """Sends every request as `authorizer` lets it in, and once more with another token if it was refused.

    Closing it leaves `transport` open, which others use too.
    """

    def __init__(self, transport: Transport, authorizer: Authorizer) -> None:
        self._transport = transport
        self._authorizer = authorizer

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        """See `Transport`."""
        async with self._transport.send(await self._authorizer.authorize(request)) as response:
            if response.status != _UNAUTHORIZED or not await self._authorizer.renew():
                yield response
                return
        async with self._transport.send(await self._authorizer.authorize(request)) as response:
            yield response

    async def close(self) -> None:
        """See `Transport`."""


def authorized(transport: Transport, authorizer: Authorizer | None) -> Transport:
    """`transport` as it is, or with an authorizer before it."""
    return transport if authorizer is None else AuthorizedTransport(transport, authorizer)
