"""How kaa becomes known to an authorization server: by an id of the user's, by a document, or by registering."""

import time
from typing import Final, Literal, TypeAlias

import msgspec

from kaa.core.messages import Json
from kaa.llm.auth.errors import LoginError, LoginRefusedError
from kaa.llm.auth.oauth.exchange import ask_in_json, secret_of
from kaa.llm.http.routes import Login
from kaa.llm.http.transport import Transport, host_of
from kaa.mcp.oauth.discovery import AuthorizationServer
from kaa.mcp.oauth.settings import OAuthEntry

Proof: TypeAlias = Literal["none", "client_secret_post", "client_secret_basic", "private_key_jwt"]

# Servers that use the official SDK for Python look for the client's id in the form, whatever the header says.
_WITH_SECRET: Final[tuple[Proof, ...]] = ("client_secret_post", "client_secret_basic")


class Client(msgspec.Struct, frozen=True, omit_defaults=True):
    """kaa, as one authorization server knows it.

    Attributes:
        proof: how it proves who it is at the token endpoint (RFC 7591 2).
        redirect: the address it registered to come back to; empty if kaa did not register it.
        expires: when the secret ends, in seconds of Unix time; 0 for never.
        scope: the scopes that it may ask for; empty if the server did not say.
    """

    id: str
    secret: str = ""
    proof: Proof = "none"
    redirect: str = ""
    expires: float = 0
    scope: str = ""

    def __repr__(self) -> str:
        return f"Client({self.id!r})"

    def serves(self, redirect: str, scope: str) -> bool:
        """Return whether a login with these scopes that comes back to `redirect` needs no other registration."""
        is_current = not self.expires or self.expires > time.time()
        return (
            self.redirect == redirect
            and is_current
            and (not self.scope or set(scope.split()) <= set(self.scope.split()))
        )

    @property
    def fields(self) -> dict[str, str]:
        """What it sends in the forms to the token endpoint."""
        match self.proof:
            case "client_secret_post":
                return {"client_id": self.id, "client_secret": self.secret}
            case _:
                return {"client_id": self.id}

    @property
    def login(self) -> Login | None:
        """What it sends in a header besides."""
        return Login(self.id, self.secret) if self.proof == "client_secret_basic" else None


async def client_at(
    server: AuthorizationServer,
    settings: OAuthEntry,
    redirect: str,
    scope: str,
    kept: Client | None,
    transport: Transport,
) -> Client:
    """The client to log in with.

    Args:
        settings: what the user configured. A client id that is an https:// address is that of a metadata document.
        kept: a client of the same server, from the last login.
        transport: guarded.

    Raises:
        LoginError: none of the ways is open.
        ProviderError: the server cannot be reached.
    """
    host = host_of(server.token_url)
    has_document = settings.client_id.startswith("https://")
    if settings.registration != "dcr" and settings.client_id:
        if not has_document:
            proof = proof_with_secret(server) if settings.client_secret else "none"
            return Client(settings.client_id, settings.client_secret, proof)
        if server.reads_client_metadata:
            return Client(settings.client_id)
    if settings.registration == "cimd":
        why = f"{host} does not support it" if has_document else "`clientId` is not the https:// address of one"
        raise LoginError(f"kaa cannot log in with a client id metadata document: {why}. Check its `oauth` entry")
    if kept is not None and kept.serves(redirect, scope):
        return kept
    if server.registration_url is None:
        raise LoginError(
            f"{host} does not let clients register themselves: register kaa there, with the address {redirect} to "
            "return to, and set `clientId` and `callbackPort` in its `oauth` entry"
        )
    return await _registered(server, server.registration_url, settings, redirect, scope, transport)


def proof_with_secret(server: AuthorizationServer) -> Proof:
    """Return how a client with a secret proves who it is. Without a list, it is a header (RFC 8414 2)."""
    return next((proof for proof in _WITH_SECRET if proof in server.proofs), "client_secret_basic")


async def _registered(
    server: AuthorizationServer, url: str, settings: OAuthEntry, redirect: str, scope: str, transport: Transport
) -> Client:
    """RFC 7591 3. A program on the user's machine keeps no secret well, so it wants none where it can choose."""
    wanted: Proof = "none" if "none" in server.proofs else proof_with_secret(server)
    asked: dict[str, Json] = {
        "client_name": settings.client_name or "kaa",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted,
        "application_type": "native",
    }
    if scope:
        asked["scope"] = scope
    host = host_of(url)
    try:
        answer = await ask_in_json(transport, url, asked)
    except LoginRefusedError as error:
        raise LoginError(
            f"{host} does not register kaa ({error}): register it there, with the address {redirect} to return to, and "
            "set `clientId` in its `oauth` entry"
        ) from error
    secret = secret_of(answer, "client_secret", host) if answer.get("client_secret") else ""
    given = answer.get("token_endpoint_auth_method", wanted)
    proof: Proof = "none"
    if secret:
        proof = next((known for known in _WITH_SECRET if known == given), proof_with_secret(server))
        if given == "none":
            proof, secret = "none", ""
    expires = answer.get("client_secret_expires_at")
    ends = float(expires) if isinstance(expires, int | float) and not isinstance(expires, bool) else 0
    may = answer.get("scope")
    granted = may if isinstance(may, str) else ""
    return Client(secret_of(answer, "client_id", host), secret, proof, redirect, ends, granted)
