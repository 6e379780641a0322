"""Logging out of an MCP server: the login is forgotten here, and then its tokens are revoked there (RFC 7009)."""

import asyncio

from kaa.core.errors import ProviderError
from kaa.llm.auth.errors import LoginError, LoginRefusedError
from kaa.llm.auth.oauth.exchange import LoginTokens, revoke
from kaa.llm.auth.oauth.renewal import NewTransport
from kaa.llm.http.transport import Transport, host_of
from kaa.mcp.oauth.guarded import GuardedTransport
from kaa.mcp.oauth.tokens import McpLogin, TokenStore, canonical


async def log_out(url: str, store: TokenStore, new_transport: NewTransport) -> str | None:
    """Forget the login at a server and have its tokens revoked. It is forgotten even if they are not.

    Returns:
        What became of the tokens, as a sentence; None if there was no login.

    Raises:
        LoginError: the logins cannot be read.
        PrivateFileError: they cannot be written.
    """

    def forget() -> tuple[bool, McpLogin | None, LoginTokens | None]:
        login = store.details(url)
        try:
            tokens = store.of(url).tokens()
        except LoginError:
            tokens = None
        return store.remove(url), login, tokens

    was_there, login, tokens = await asyncio.to_thread(forget)
    if not was_there:
        return None
    if login is None or tokens is None or not login.revocation_url:
        return "Its tokens stay valid until they expire: the authorization server names no address to revoke them."
    transport = new_transport()
    try:
        await _revoke(login, tokens, GuardedTransport(transport, canonical(url)))
    except (LoginError, ProviderError) as error:
        return f"Its tokens could not be revoked and stay valid until they expire: {error}"
    finally:
        await transport.close()
    return f"Its tokens were revoked at {host_of(login.revocation_url)}."


async def _revoke(login: McpLogin, tokens: LoginTokens, transport: Transport) -> None:
    """With a refresh token, most servers end its access tokens, too, and some refuse these afterwards."""
    client = login.client
    if tokens.refresh:
        fields = {"token": tokens.refresh, "token_type_hint": "refresh_token", **client.fields}
        await revoke(transport, login.revocation_url, fields, client.login)
    try:
        fields = {"token": tokens.access, "token_type_hint": "access_token", **client.fields}
        await revoke(transport, login.revocation_url, fields, client.login)
    except LoginRefusedError:
        if not tokens.refresh:
            raise
