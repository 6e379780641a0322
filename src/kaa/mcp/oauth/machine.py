"""Logins without a person: kaa gets tokens as a client of its own (SEP-1046), or with a workload's token (SEP-1933).

With enterprise-managed authorization (SEP-990), the identity provider of an enterprise decides who may use a server: it
exchanges the user's identity token for a grant that is good at one authorization server (RFC 8693, ID-JAG).
"""

import asyncio
import os
from typing import Final

import msgspec

from kaa.core.errors import AuthError
from kaa.host.private_file import PrivateFileError
from kaa.host.regular_files import read_regular
from kaa.llm.auth.errors import LoginError, LoginRefusedError
from kaa.llm.auth.oauth.config import is_confidential
from kaa.llm.auth.oauth.exchange import LoginTokens, ask, secret_of
from kaa.llm.auth.oauth.renewal import NewTransport, is_fresh
from kaa.llm.http.routes import Login
from kaa.llm.http.transport import HttpRequest, Transport, host_of, origin_of
from kaa.mcp.errors import McpError
from kaa.mcp.oauth.bound import ask_for_tokens, key_of_login
from kaa.mcp.oauth.challenge import challenge_of, parse_challenge
from kaa.mcp.oauth.discovery import AuthorizationServer, Discovered, discover
from kaa.mcp.oauth.guarded import GuardedTransport
from kaa.mcp.oauth.registration import Client, proof_with_secret
from kaa.mcp.oauth.settings import OAuthEntry
from kaa.mcp.oauth.sites import belong_together
from kaa.mcp.oauth.tokens import McpLogin, TokenStore, canonical, may_have_token, scopes_to_ask

_JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_OWN_ONLY: Final = "counts in your own mcp.json only"
_ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
# Connecting tries several revisions of the protocol, and models try again.
_PAUSE_SECONDS: Final = 60.0
_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_TOKEN: Final = "urn:ietf:params:oauth:token-type:id_token"
_GRANT: Final = "urn:ietf:params:oauth:token-type:id-jag"


async def log_in_alone(
    url: str,
    settings: OAuthEntry,
    store: TokenStore,
    transport: Transport,
    *,
    challenge: str | None = None,
    users_own: bool = True,
    replaces: bool = False,
) -> LoginTokens:
    """Log in to a server without a person. The login is kept if the user wrote the settings, and has no other there.

    Args:
        challenge: the header `WWW-Authenticate` of the server's last refusal; None to ask the server for one.
        replaces: the user asked for it: a login of another client goes.

    Raises:
        LoginError: the settings lack something, a server refused, or the login cannot be kept.
        ProviderError: somebody cannot be reached, or must not be.
    """
    url = canonical(url)
    guarded = GuardedTransport(transport, url)
    before = await asyncio.to_thread(store.details, url)
    asked = parse_challenge(challenge) if challenge is not None else await challenge_of(url, guarded)
    found = await discover(url, settings, asked, guarded, users_own=users_own)
    server = found.server
    await guarded.check(server.token_url)
    is_named = users_own and settings.auth_server_metadata_url
    if not is_named and not belong_together(server.token_url, url):
        raise LoginError(
            f"{host_of(url)} names {host_of(server.token_url)} for its tokens: kaa does not send what proves who it is"
            " to another domain without a person. If that is right, set `authServerMetadataUrl` in its `oauth` entry"
        )
    is_own = before is not None and before.client.id == settings.client_id
    if before is not None and is_own and (before.issuer, before.token_url) != (server.issuer, server.token_url):
        raise LoginError(
            f"the last login got its token at {host_of(before.token_url)}, and {host_of(url)} names"
            f" {host_of(server.token_url)} now: kaa sends nothing there. If that is right, forget the login of the"
            " server (kaa mcp logout) and log in again"
        )
    # Nobody sees what a server asks for: what is configured is the limit.
    scope = settings.scope or scopes_to_ask(settings, asked, found, before if is_own else None)
    client, proof = await asyncio.to_thread(_proven, server, settings, users_own=users_own)
    if settings.grant_type == "jwt-bearer":
        assertion = await _assertion(settings, found, scope, transport, users_own=users_own)
        proof |= {"grant_type": _JWT_BEARER, "assertion": assertion}
    form = {**proof, "resource": found.resource, "scope": scope}
    sent = {name: value for name, value in form.items() if value}
    key = await key_of_login(settings, asked, found)
    tokens, answer = await ask_for_tokens(guarded, server.token_url, sent, client, key)
    tokens = msgspec.structs.replace(tokens, refresh="")
    is_others = before is not None and before.client.id != client.id
    if not users_own or (is_others and not replaces):  # who names a server must not decide whose data go there
        return tokens
    given = answer.get("scope")
    granted = given if isinstance(given, str) and given else scope
    login = McpLogin(server.issuer, server.token_url, found.resource, granted, client, server.revocation_url)
    try:
        await asyncio.to_thread(store.keep, url, login, tokens)
    except PrivateFileError as error:
        raise LoginError(f"the login cannot be kept: {error}") from error
    return tokens


def _proven(server: AuthorizationServer, settings: OAuthEntry, *, users_own: bool) -> tuple[Client, dict[str, str]]:
    """Return the client, and the fields that entitle it to a token. Reads files."""
    name = settings.client_id
    key = settings.private_key or _content(settings.private_key_file, "privateKeyFile", users_own=users_own)
    client, proof = Client(name), dict[str, str]()
    if key:
        from kaa.mcp.oauth.signing import client_assertion  # lazy: most have a secret

        signed = client_assertion(key, settings.key_id, name, server.issuer or server.token_url, server.signatures)
        client = Client(name, proof="private_key_jwt")
        proof = {"client_assertion_type": _ASSERTION_TYPE, "client_assertion": signed}
    elif settings.client_secret:
        client = Client(name, settings.client_secret, proof_with_secret(server))
    if settings.grant_type == "jwt-bearer":
        return client, proof
    if not name or client.proof == "none":
        raise LoginError(
            '`"grantType": "client_credentials"` needs `clientId`, and `clientSecret` or `privateKey` or'
            " `privateKeyFile`, in the `oauth` entry"
        )
    return client, {"grant_type": settings.grant_type, **proof}


async def _assertion(
    settings: OAuthEntry, found: Discovered, scope: str, transport: Transport, *, users_own: bool
) -> str:
    """Return the token that stands for the user or the workload."""

    async def text(given: str, path: str, field: str) -> str:
        return given or await asyncio.to_thread(_content, path, field, users_own=users_own)

    if settings.idp_token_url:
        if not users_own:  # the user's identity would go where others say
            raise LoginError(f"`idpTokenUrl` {_OWN_ONLY}: move the server there")
        id_token = await text(settings.id_token, settings.id_token_file, "idTokenFile")
        return await grant_of_enterprise(settings, id_token, found, scope, transport)
    assertion = await text(settings.assertion, settings.assertion_file, "assertionFile")
    if not assertion:
        raise LoginError('`"grantType": "jwt-bearer"` needs `assertion` or `assertionFile` in the `oauth` entry')
    return assertion


def _content(path: str, field: str, *, users_own: bool) -> str:
    if not path:
        return ""
    if not users_own:  # it would send a file of the user to a host that others named
        raise LoginError(f"`{field}` {_OWN_ONLY}: use a variable instead, or move the server there")
    try:
        return read_regular(os.path.expanduser(path)).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LoginError(f"`{field}` in the `oauth` entry cannot be read: {error}") from error


class MachineAuthorizer:
    """An `Authorizer` that logs in by itself when the server refuses a request."""

    def __init__(
        self, url: str, settings: OAuthEntry, store: TokenStore, new_transport: NewTransport, *, users_own: bool = True
    ) -> None:
        self._url = url
        self._settings = settings
        self._store = store
        self._new_transport = new_transport
        self._users_own = users_own
        self._tokens: LoginTokens | None = None
        self._refusal, self._asks_again = "", 0.0
        self._logging_in = asyncio.Lock()

    @property
    def key(self) -> str:
        return self._tokens.key if self._tokens is not None else ""

    async def authorize(self, request: HttpRequest) -> HttpRequest:
        """See `Authorizer`. The server says in its refusal what a login needs."""
        if not may_have_token(request, self._url):
            return request
        tokens = self._tokens
        if tokens is None or not is_fresh(tokens, margin=0):
            tokens = await asyncio.to_thread(self._kept)
        if tokens is None:
            return request
        self._tokens = tokens
        scheme = "DPoP" if tokens.key else "Bearer"
        headers = (*request.headers, ("authorization", f"{scheme} {tokens.access}"))
        return msgspec.structs.replace(request, headers=headers)

    async def renew(self, refused: HttpRequest) -> bool:
        """See `Authorizer`.

        Raises:
            McpError: the login failed; the message says why.
        """
        sent = next((value for name, value in refused.headers if name.lower() == "authorization"), "")
        access = sent.partition(" ")[2]
        is_configured = bool(sent) and self._tokens is None
        if is_configured or origin_of(refused.url) != origin_of(self._url):
            return False
        async with self._logging_in:
            held = self._tokens if self._tokens is not None else await asyncio.to_thread(self._kept)
            if held is None or held.access == access:
                held = await asyncio.to_thread(self._kept)
            if held is None or held.access == access:
                held = await self._logged_in()
            self._tokens = held
        return True

    async def _logged_in(self) -> LoginTokens:
        now = asyncio.get_running_loop().time()
        if self._refusal and now < self._asks_again:  # what is refused once would be again
            raise McpError(self._refusal)
        transport = self._new_transport()
        try:
            return await log_in_alone(self._url, self._settings, self._store, transport, users_own=self._users_own)
        except LoginRefusedError as error:
            self._refusal, self._asks_again = str(error), now + _PAUSE_SECONDS
            raise McpError(str(error)) from error
        except AuthError as error:  # also an address that kaa must not use
            raise McpError(str(error)) from error
        finally:
            await transport.close()

    def _kept(self) -> LoginTokens | None:
        """Return the kept tokens that are this client's and hold. Reads the file."""
        try:
            details = self._store.details(self._url)
            tokens = self._store.of(self._url).tokens() if details is not None else None
        except LoginError:
            return None
        is_own = details is not None and details.client.id == self._settings.client_id
        return tokens if is_own and tokens is not None and is_fresh(tokens, margin=0) else None


async def grant_of_enterprise(
    settings: OAuthEntry, id_token: str, found: Discovered, scope: str, transport: Transport
) -> str:
    """Have the identity provider give a grant for a server.

    Args:
        settings: have the address of the identity provider, and kaa's client there.
        found: the server and who gives tokens for it.
        transport: to the identity provider, which the user configured.

    Raises:
        LoginError: the settings lack something, or the identity provider refused.
        ProviderError: it cannot be reached.
    """
    place = settings.idp_token_url
    if not is_confidential(place):
        raise LoginError(f"`idpTokenUrl` is {place!r}: kaa sends identity tokens only to addresses with https://")
    if not id_token:
        raise LoginError("`idpTokenUrl` needs `idToken` or `idTokenFile` in the `oauth` entry")
    if not found.server.issuer:
        raise LoginError(f"{host_of(found.resource)} publishes no metadata, which a login through an enterprise needs")
    fields = {
        "grant_type": _EXCHANGE,
        "requested_token_type": _GRANT,
        "audience": found.server.issuer,
        "resource": found.resource,
        "scope": scope,
        "subject_token": id_token,
        "subject_token_type": _ID_TOKEN,
        "client_id": settings.idp_client_id,
    }
    secret = settings.idp_client_secret
    client = Login(settings.idp_client_id, secret) if secret else None
    answer = await ask(transport, place, {name: value for name, value in fields.items() if value}, client)
    if answer.get("issued_token_type") != _GRANT:
        raise LoginError(f"{host_of(place)} gave a token of another type than {_GRANT}: check `idpTokenUrl`")
    return secret_of(answer, "access_token", host_of(place))
