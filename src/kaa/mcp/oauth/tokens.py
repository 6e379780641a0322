"""Logins at MCP servers: kept in `mcp-auth.json`, sent with requests, and renewed; and the scopes that they ask for."""

import asyncio
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import msgspec

from kaa.core.messages import Json
from kaa.host.private_file import PrivateFileError
from kaa.llm.auth.auth_file import AuthFile
from kaa.llm.auth.errors import LoginError, UnkeptLoginError
from kaa.llm.auth.oauth.exchange import LoginTokens
from kaa.llm.auth.oauth.renewal import KeptLogin, NewTransport, OAuthAuthorizer, key_in, refreshed
from kaa.llm.http.transport import HttpRequest, origin_of
from kaa.mcp.errors import McpError
from kaa.mcp.oauth.challenge import Challenge
from kaa.mcp.oauth.discovery import Discovered
from kaa.mcp.oauth.guarded import GuardedTransport
from kaa.mcp.oauth.registration import Client
from kaa.mcp.oauth.settings import OAuthEntry

_MOST_MISSING: Final = 50
OFFLINE: Final = "offline_access"


class McpLogin(msgspec.Struct, frozen=True, rename="camel"):
    """What is kept of a login besides its tokens. All of it holds for one authorization server.

    Attributes:
        resource: what they are good for (RFC 8707).
        revocation_url: where they are revoked; empty if they cannot be.
        missing: scopes that the server demanded since then for more than the tokens permit.
    """

    issuer: str
    token_url: str
    resource: str
    scope: str
    client: Client
    revocation_url: str = ""
    missing: str = ""


class TokenStore:
    """The logins at MCP servers, by the servers' URLs.

    The format is that of auth.json, an entry of the type `oauth` for each URL, with the fields of `McpLogin`. Other
    entries stay as they are.

    Args:
        path: the file, `~/.kaa/agent/mcp-auth.json`; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self._file = AuthFile(path)
        self.changes = 0  # how often this process has logged in or out

    def __repr__(self) -> str:
        return f"TokenStore({str(self._file.path)!r})"

    def of(self, url: str) -> KeptLogin:
        """The login at a server, whether there is one or not."""
        return KeptLogin(self._file, canonical(url), "kaa mcp login")

    def details(self, url: str) -> McpLogin | None:
        """What is known of a login; None if there is none, or none that can be used.

        Raises:
            LoginError: the file cannot be read.
        """
        raw = self._entry(url)
        return _details(raw) if raw is not None else None

    def has(self, url: str) -> bool:
        """Whether there is a login at a server, usable or not.

        Raises:
            LoginError: the file cannot be read.
        """
        return self._entry(url) is not None

    def keep(self, url: str, login: McpLogin, tokens: LoginTokens) -> None:
        """Keep a new login, instead of what is there.

        Raises:
            PrivateFileError: the file cannot be written.
        """
        self.of(url).keep(tokens, msgspec.to_builtins(login))
        self.changes += 1

    def lacks(self, url: str, scope: str) -> None:
        """Note scopes that a login lacks, for the next one. Without a login this does nothing.

        Raises:
            LoginError: the file cannot be read.
            PrivateFileError: it cannot be written.
        """
        if (login := self.details(url)) is None or set(scope.split()) <= set(login.missing.split()):
            return
        with self._file.rewriting() as entries:
            if (raw := entries.get(canonical(url))) is not None:
                missing = dict.fromkeys((*scope.split(), *login.missing.split()))
                entry = msgspec.json.decode(raw, type=dict[str, Json])
                entry["missing"] = " ".join(tuple(missing)[:_MOST_MISSING])
                entries[canonical(url)] = msgspec.Raw(msgspec.json.encode(entry))

    def remove(self, url: str) -> bool:
        """Forget a login, with the client that kaa registered for it. False if there was none.

        Raises:
            PrivateFileError: the file cannot be read or written.
        """
        if canonical(url) not in self._file.read():
            return False
        with self._file.rewriting() as entries:
            removed = entries.pop(canonical(url), None)
        self.changes += 1
        return removed is not None

    def _entry(self, url: str) -> msgspec.Raw | None:
        try:
            return self._file.read().get(canonical(url))
        except PrivateFileError as error:
            raise LoginError(str(error)) from error


class McpAuthorizer:
    """An `Authorizer` for the requests to one MCP server.

    Without a usable login requests go without a token: the server says what it wants in its refusal, and many servers
    want nothing. Requests to other origins never get one. A header `Authorization` that is configured stays.
    """

    def __init__(self, url: str, store: TokenStore, new_transport: NewTransport) -> None:
        self._store = store
        self._url = url
        self._login = store.of(url)
        self._renewer = _Renewer(url, new_transport)
        self._seen = store.changes
        self._authorizer = OAuthAuthorizer(self._login, self._renewer)
        self._ended: LoginTokens | None = None  # cannot be renewed: the authorization server is not asked again

    @property
    def key(self) -> str:
        return self._authorizer.key

    async def authorize(self, request: HttpRequest) -> HttpRequest:
        if not may_have_token(request, self._url):
            return request
        if self._seen != self._store.changes:  # it would send the former token until that is refused
            self._seen = self._store.changes
            self._authorizer = OAuthAuthorizer(self._login, self._renewer)
        if self._ended is not None and await asyncio.to_thread(self._kept) == self._ended:
            return request
        try:
            authorized = await self._authorizer.authorize(request)
        except UnkeptLoginError as error:
            raise McpError(str(error)) from error
        except LoginError:
            self._ended = await asyncio.to_thread(self._kept)
            return request
        self._ended = None
        return authorized

    async def renew(self, refused: HttpRequest) -> bool:
        if self._ended is not None:
            return False
        try:
            return await self._authorizer.renew(refused)
        except UnkeptLoginError as error:
            raise McpError(str(error)) from error
        except LoginError:
            self._ended = await asyncio.to_thread(self._kept)
            return False

    def _kept(self) -> LoginTokens | None:
        try:
            return self._login.tokens()
        except LoginError:
            return None


class _Renewer:
    """Renews a login with what was kept of it: what the server says meanwhile changes nothing."""

    def __init__(self, url: str, new_transport: NewTransport) -> None:
        self._url = url
        self._new_transport = new_transport

    async def renewed(self, refresh: str, entry: msgspec.Raw) -> LoginTokens:
        login = _details(entry)
        if login is None:
            raise LoginError("the login lacks what is needed to renew it: log in again")
        transport = self._new_transport()
        try:
            fields = {"grant_type": "refresh_token", "refresh_token": refresh, "resource": login.resource}
            guarded = GuardedTransport(transport, self._url)
            if key := key_in(entry):
                from kaa.mcp.oauth.dpop import refreshed_with_proof  # lazy: few servers bind their tokens

                bound = fields | login.client.fields
                return await refreshed_with_proof(guarded, key, login.token_url, bound, login.client.login)
            return await refreshed(guarded, login.token_url, fields | login.client.fields, login.client.login)
        finally:
            await transport.close()


def may_have_token(request: HttpRequest, url: str) -> bool:
    """Return whether a request gets a token of the server at `url`: it leads there, and has no header of its own."""
    is_there = origin_of(request.url) == origin_of(url)
    return is_there and all(name.lower() != "authorization" for name, _ in request.headers)


def canonical(url: str) -> str:
    """The URL of a server in one spelling (RFC 8707 2): no fragment, scheme and host in small letters."""
    parts = urlsplit(url)
    user, at, place = parts.netloc.rpartition("@")
    path = "" if parts.path == "/" else parts.path
    return urlunsplit((parts.scheme.lower(), user + at + place.lower(), path, parts.query, ""))


def _details(raw: msgspec.Raw) -> McpLogin | None:
    try:
        return msgspec.json.decode(raw, type=McpLogin)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


"""The scope for which OpenID Connect servers give refresh tokens."""


def scopes_to_ask(settings: OAuthEntry, asked: Challenge | None, found: Discovered, before: McpLogin | None) -> str:
    """Return what the user or the server wants, and what the login permitted before if that was too little."""
    wanted = settings.scope or (asked.scope if asked else "") or " ".join(found.scopes)
    if asked is not None and asked.wants_more:
        wanted = f"{wanted} {asked.scope}"
    if before is not None and (before.missing or (asked is not None and asked.wants_more)):
        wanted = f"{before.scope} {wanted} {before.missing}"
    scopes = dict.fromkeys(wanted.split())
    if scopes and OFFLINE in found.server.scopes and settings.grant_type == "authorization_code":
        scopes[OFFLINE] = None  # servers that know it give refresh tokens for it alone
    return " ".join(scopes)
