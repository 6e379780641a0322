"""Tokens of logins that may be bound to a key (DPoP): asked for, and sent with a proof for each request.

What makes keys and proofs is loaded where a server wants it.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from kaa.core.messages import Json
from kaa.llm.auth.errors import LoginError
from kaa.llm.auth.oauth.exchange import LoginTokens, ask, tokens_of
from kaa.llm.http.authorized import AuthorizedTransport, Authorizer
from kaa.llm.http.transport import HttpRequest, HttpResponse, Transport, host_of
from kaa.mcp.errors import McpError
from kaa.mcp.oauth.challenge import Challenge
from kaa.mcp.oauth.discovery import Discovered
from kaa.mcp.oauth.registration import Client
from kaa.mcp.oauth.settings import OAuthEntry

if TYPE_CHECKING:
    from kaa.mcp.oauth.dpop import DpopKey, ProvingTransport


async def key_of_login(settings: OAuthEntry, asked: Challenge | None, found: Discovered) -> "DpopKey | None":
    """Return a new key for a login whose tokens are to be bound to one; None for tokens that are good without one.

    Args:
        asked: what the server said when it refused a request; None if it let kaa in.
        found: what is known of the server, and of who gives tokens for it.

    Raises:
        LoginError: they have to be bound, and cannot be.
    """
    if not found.may_bind(settings, asked):
        return None
    from kaa.mcp.oauth.dpop import key_for_login  # lazy: few servers bind their tokens

    return await key_for_login(settings, asked, found)


async def ask_for_tokens(
    transport: Transport, url: str, fields: Mapping[str, str], client: Client, key: "DpopKey | None"
) -> tuple[LoginTokens, dict[str, Json]]:
    """Ask a token endpoint for the tokens of a login. Returns them, and the answer that they come from.

    Args:
        fields: the form, without what says who kaa is.
        key: what the tokens are to be bound to; None for nothing.

    Raises:
        LoginError: the server refused, or gave tokens of another kind.
        ProviderError: it cannot be reached.
    """
    form = {**fields, **client.fields}
    if key is None:
        answer = await ask(transport, url, form, client.login)
        return tokens_of(answer, host_of(url)), answer
    from kaa.mcp.oauth.dpop import ProvingTransport, ask_with_proof  # lazy: as above

    answer = await ask_with_proof(ProvingTransport(transport, key), url, form, client.login)
    return tokens_of(answer, host_of(url), key=key.text), answer


class McpServerAuthorizer(Authorizer, Protocol):
    """An `Authorizer` whose tokens may be bound to a key."""

    @property
    def key(self) -> str:
        """The key of the tokens that it sends; empty if they are good without one."""


def let_in(transport: Transport, authorizer: McpServerAuthorizer) -> Transport:
    """Return a transport whose requests have what a server wants of them.

    Args:
        transport: to the network; closing the result leaves it open.
    """
    return AuthorizedTransport(_BoundTransport(transport, authorizer), authorizer)


class _BoundTransport:
    """Sends requests with tokens that are bound to a key with a proof; the others as they are."""

    def __init__(self, transport: Transport, authorizer: McpServerAuthorizer) -> None:
        self._transport = transport
        self._authorizer = authorizer
        self._proving: ProvingTransport | None = None

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        """See `Transport`.

        Raises:
            McpError: the key cannot be used.
        """
        is_bound = any(name.lower() == "authorization" and value.startswith("DPoP ") for name, value in request.headers)
        key = self._authorizer.key if is_bound else ""
        transport = await self._proving_with(key) if key else self._transport
        async with transport.send(request) as response:
            yield response

    async def close(self) -> None: ...

    async def _proving_with(self, key: str) -> Transport:
        """The transport with proofs; another login has another key."""
        from kaa.mcp.oauth.dpop import DpopKey, ProvingTransport  # lazy: as above

        if self._proving is None or self._proving.key.text != key:
            try:
                loaded = await asyncio.to_thread(DpopKey, key)
            except LoginError as error:
                raise McpError(str(error)) from error
            self._proving = ProvingTransport(self._transport, loaded)
        return self._proving
