"""Requests that one key, the same for all, does not let in: tokens that expire, signatures over each request."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from kaa.core.errors import ProviderError
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

    async def renew(self, refused: HttpRequest) -> bool:
        """Get another token, if that may help. False if it cannot.

        Args:
            refused: the request that was answered with 401, as `authorize` gave it: others may have led to another
                token since then.
        """


class AuthorizedTransport:
    """Sends every request as `authorizer` lets it in, and once more with another token if it was refused.

    Closing it leaves `transport` open, which others use too.
    """

    def __init__(self, transport: Transport, authorizer: Authorizer) -> None:
        self._transport = transport
        self._authorizer = authorizer

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        """Send a request. Errors raised while the answer is read do not repeat what let the request in."""
        let_in = await self._authorizer.authorize(request)
        try:
            async with self._transport.send(let_in) as response:
                if response.status != _UNAUTHORIZED or not await self._authorizer.renew(let_in):
                    yield response
                    return
            let_in = await self._authorizer.authorize(request)
            async with self._transport.send(let_in) as response:
                yield response
        except ProviderError as error:
            error.args = tuple(_without_secrets(said, request, let_in) for said in error.args)
            raise

    async def close(self) -> None: ...


def _without_secrets(said: object, request: HttpRequest, let_in: HttpRequest) -> object:
    """`said` without what the authorizer added: servers repeat tokens in their complaints."""
    if not isinstance(said, str):
        return said
    from kaa.llm.redaction import Redactor  # lazy: most runs meet no error

    added = set(let_in.headers) - set(request.headers)
    return Redactor(value.rpartition(" ")[2] for _, value in added).redact(said)


def authorized(transport: Transport, authorizer: Authorizer | None) -> Transport:
    """`transport` as it is, or with an authorizer before it."""
    return transport if authorizer is None else AuthorizedTransport(transport, authorizer)
