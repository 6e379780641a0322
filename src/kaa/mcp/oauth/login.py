"""Logging in to an MCP server: discovery, a client, the browser, tokens (specification, Authorization, 2026-07-28).

Logging out forgets the login here, and then has its tokens revoked there (RFC 7009).
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Final
from urllib.parse import urlsplit

from kaa.core.errors import ProviderError
from kaa.host.private_file import PrivateFileError
from kaa.llm.auth.errors import LoginError, LoginRefusedError
from kaa.llm.auth.oauth.browser import Issuer, Loopback, get_grant, new_state
from kaa.llm.auth.oauth.exchange import LoginTokens, revoke
from kaa.llm.auth.oauth.renewal import NewTransport
from kaa.llm.http.transport import Transport, host_of
from kaa.mcp.oauth.bound import ask_for_tokens, key_of_login
from kaa.mcp.oauth.challenge import challenge_of, parse_challenge
from kaa.mcp.oauth.discovery import AuthorizationServer, discover
from kaa.mcp.oauth.guarded import GuardedTransport
from kaa.mcp.oauth.registration import Client, client_at
from kaa.mcp.oauth.screen import McpLoginScreen
from kaa.mcp.oauth.settings import OAuthEntry
from kaa.mcp.oauth.tokens import OFFLINE, McpLogin, TokenStore, canonical, scopes_to_ask

_LIMIT_SECONDS: Final = 600.0
_THIS_MACHINE: Final = ("127.0.0.1", "localhost")


class UndescribedLoginError(LoginError):
    """A server lets nobody in without a login, and says nothing about one: it may want a key."""


async def log_in(
    url: str,
    settings: OAuthEntry,
    store: TokenStore,
    transport: Transport,
    screen: McpLoginScreen,
    *,
    challenge: str | None = None,
    users_own: bool = True,
    limit_seconds: float = _LIMIT_SECONDS,
) -> None:
    """Log in to a server, or again with more scopes, and keep the login. Cancelling it ends the login.

    Args:
        screen: shows the address to open, and takes what is pasted.
        challenge: the header `WWW-Authenticate` of the server's last refusal; None to ask the server for one.

    Raises:
        UndescribedLoginError: nothing says how to log in.
        LoginError: the person or a server said no, something does not fit, or the login cannot be kept.
        ProviderError: somebody cannot be reached, or must not be.
    """
    url = canonical(url)
    guarded = GuardedTransport(transport, url)
    before = await asyncio.to_thread(store.details, url)  # also: a file that cannot be used says so now
    asked = parse_challenge(challenge) if challenge is not None else await challenge_of(url, guarded)
    found = await discover(url, settings, asked, guarded, users_own=users_own)
    server = found.server
    if not server.authorization_url:
        raise LoginError(
            f"{host_of(server.token_url)} has no login page, only logins without a person: register a client there, and"
            ' set `"grantType": "client_credentials"`, `clientId` and `clientSecret` in its `oauth` entry'
        )
    for address in (server.authorization_url, server.token_url):
        await guarded.check(address)
    if before is not None and (before.issuer, before.token_url) != (server.issuer, server.token_url):
        if settings.client_secret:
            raise LoginError(
                f"{host_of(url)} names {host_of(server.token_url)} for its tokens now, and before it was"
                f" {host_of(before.token_url)}: kaa does not send your `clientSecret` there. If that is right, log out"
                " of the server (kaa mcp logout) and log in again"
            )
        before = None  # what one server gave is never shown to another, which may call itself by the same name
    scope = scopes_to_ask(settings, asked, found, before)
    async with AsyncExitStack() as stack:
        loopback = await _listening(stack, settings, server, before.client if before else None)
        try:
            kept = before.client if before else None
            client = await client_at(server, settings, loopback.address, scope, kept, guarded)
        except LoginError as error:
            if server.issuer:
                raise
            raise UndescribedLoginError(f"{host_of(url)} publishes no metadata of a login, and {error}") from error
        key = await key_of_login(settings, asked, found)
        fields = {"client_id": client.id, "resource": found.resource}
        if key is not None:
            fields["dpop_jkt"] = key.thumbprint  # RFC 9449 10: the code is good with this key only
        if scope:
            fields["scope"] = scope
        if OFFLINE in scope.split():
            fields["prompt"] = "consent"  # OpenID Connect Core 11
        screen.show_token_host(host_of(server.token_url))
        grant = await get_grant(loopback, server.authorization_url, fields, screen, limit_seconds=limit_seconds)
        form = {**grant, "resource": found.resource}
        tokens, answer = await ask_for_tokens(guarded, server.token_url, form, client, key)
    given = answer.get("scope")
    login = McpLogin(
        server.issuer,
        server.token_url,
        found.resource,
        given if isinstance(given, str) and given else scope,
        client,
        server.revocation_url,
    )
    try:
        await asyncio.to_thread(store.keep, url, login, tokens)
    except PrivateFileError as error:
        raise LoginError(f"the login cannot be kept: {error}") from error


async def _listening(
    stack: AsyncExitStack, settings: OAuthEntry, server: AuthorizationServer, kept: Client | None
) -> Loopback:
    """A listener where the configuration says, else where kaa is registered to come back to, else on any free port.

    Raises:
        LoginError: the configured address cannot be used.
    """
    issuer = Issuer(server.issuer, server.names_itself) if server.issuer else None
    state, name = new_state(), host_of(server.authorization_url)
    if settings.callback_url or settings.callback_port:
        host, port, path = _callback(settings)
        return await stack.enter_async_context(Loopback(path, state, name, host, port, issuer))
    if kept is not None and kept.redirect:
        parts = urlsplit(kept.redirect)
        loopback = Loopback(parts.path, state, name, parts.hostname or "", parts.port or 0, issuer)
        try:
            return await stack.enter_async_context(loopback)
        except LoginError:
            pass  # something else uses the port now: kaa registers anew
    return await stack.enter_async_context(Loopback("/callback", state, name, issuer=issuer))


def _callback(settings: OAuthEntry) -> tuple[str, int, str]:
    """Host, port and path of the address that the user registered."""
    if not settings.callback_url:
        return "127.0.0.1", settings.callback_port, "/callback"
    try:
        parts = urlsplit(settings.callback_url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme != "http" or parts.hostname not in _THIS_MACHINE or port is None or parts.query or not parts.path:
        raise LoginError(
            f"`callbackUrl` is {settings.callback_url!r}: kaa listens only on addresses such as "
            "http://localhost:8912/callback"
        )
    return parts.hostname, port, parts.path


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
