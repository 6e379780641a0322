"""Who gives tokens for a server, and under which conditions.

Sources: the specification, Authorization, of 2026-07-28 and its predecessors; RFC 9728 (protected resources), RFC 8414
(authorization servers).
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import msgspec

from kaa.core.messages import Json
from kaa.llm.auth.errors import LoginError
from kaa.llm.auth.oauth.config import is_confidential
from kaa.llm.auth.oauth.exchange import read
from kaa.llm.auth.oauth.metadata import address_in, metadata_places, server_metadata
from kaa.llm.http.transport import Transport, host_of
from kaa.mcp.oauth.challenge import Challenge
from kaa.mcp.oauth.settings import OAuthEntry
from kaa.mcp.oauth.sites import belong_together

_RESOURCE: Final = "/.well-known/oauth-protected-resource"


class AuthorizationServer(msgspec.Struct, frozen=True):
    """A server that gives tokens.

    Attributes:
        issuer: its name; empty if it publishes no metadata.
        authorization_url: where the browser is sent; empty if it knows only logins without a person.
        token_url: where codes and refresh tokens become tokens.
        registration_url: where clients register themselves (RFC 7591), if they can.
        names_itself: whether its answers say whose they are (RFC 9207).
        reads_client_metadata: whether a client's id can be the address of its description (CIMD).
        proofs: how clients can prove who they are; empty if it does not say.
        scopes: those it knows; empty if it does not say.
        revocation_url: where tokens are revoked (RFC 7009); empty if they cannot be.
        signatures: the algorithms of the signatures by which clients can prove who they are; empty if it does not say.
        proof_algorithms: the algorithms of the proofs to whose keys it binds tokens (RFC 9449 5.1); empty if it does
            not say.
    """

    issuer: str
    authorization_url: str
    token_url: str
    registration_url: str | None = None
    names_itself: bool = False
    reads_client_metadata: bool = False
    proofs: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    revocation_url: str = ""
    signatures: tuple[str, ...] = ()
    proof_algorithms: tuple[str, ...] = ()


class Discovered(msgspec.Struct, frozen=True):
    """What a login needs to know.

    Attributes:
        resource: names the server in requests for tokens (RFC 8707), so that they are good for it alone.
        scopes: what the server suggests to ask for.
        binds_tokens: it takes no tokens but those that are bound to a key (RFC 9728 2).
        takes_bound_tokens: it says that it takes such tokens.
    """

    resource: str
    server: AuthorizationServer
    scopes: tuple[str, ...]
    binds_tokens: bool = False
    takes_bound_tokens: bool = False

    def may_bind(self, settings: OAuthEntry, asked: Challenge | None) -> bool:
        """Whether a login should get tokens that are bound to a key: both servers can do that, or it has to be."""
        takes = self.binds_tokens or self.takes_bound_tokens or (asked is not None and "dpop" in asked.schemes)
        needs = self.binds_tokens or (asked is not None and asked.schemes == ("dpop",))
        match settings.dpop:
            case "off":
                return False
            case "required":
                return True
            case "auto":
                return takes and (needs or bool(self.server.proof_algorithms))


async def discover(
    url: str, settings: OAuthEntry, challenge: Challenge | None, transport: Transport, *, users_own: bool = True
) -> Discovered:
    """Find out who gives tokens for the server at `url`.

    Args:
        url: of the MCP server, canonical.
        challenge: what it said when it refused a request; None if it let kaa in.
        transport: guarded, for the server chooses the addresses.
        users_own: whether the user wrote the settings: then whatever metadata they name are believed. Those of others
            must be the authorization server's own.

    Raises:
        LoginError: the server wants no login, or what it says about it is incomplete or that of another server.
        ProviderError: somebody cannot be reached, or must not be.
    """
    described = await _resource_metadata(url, challenge, transport)
    if described is None and challenge is None and not settings.auth_server_metadata_url:
        raise LoginError(f"{host_of(url)} does not ask for a login: there is nothing to log in to")
    told = described or {}
    resource = _resource(told, url)
    issuer = next(iter(texts_in(told, "authorization_servers")), _origin(url))
    if settings.auth_server_metadata_url:
        server = await _configured_server(settings.auth_server_metadata_url, issuer, transport, users_own=users_own)
    else:
        server = await _named_server(issuer, described is not None, transport)
    binds = told.get("dpop_bound_access_tokens_required") is True
    takes = binds or bool(texts_in(told, "dpop_signing_alg_values_supported"))
    return Discovered(resource, server, texts_in(told, "scopes_supported"), binds, takes)


def texts_in(told: Mapping[str, Json], field: str) -> tuple[str, ...]:
    """The texts of a list; what is none is left out."""
    value = told.get(field)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


async def _resource_metadata(url: str, challenge: Challenge | None, transport: Transport) -> dict[str, Json] | None:
    """RFC 9728 3 and 5: where the challenge says, else at the well-known address, with the path or without."""
    path = urlsplit(url).path.rstrip("/")
    named = challenge.resource_metadata if challenge else ""
    for place in dict.fromkeys(filter(None, (named, f"{_origin(url)}{_RESOURCE}{path}", _origin(url) + _RESOURCE))):
        try:
            return await read(transport, place)
        except LoginError:
            continue
    return None


def _resource(described: Mapping[str, Json], url: str) -> str:
    """RFC 9728 3.3: it has to be the server that kaa talks to, or what it is a part of."""
    resource = described.get("resource")
    if resource is None:
        return url
    if isinstance(resource, str):
        asked = urlsplit(url)
        try:
            named = urlsplit(resource)
        except ValueError:
            named = urlsplit("")
        inside = f"{asked.path.rstrip('/')}/".startswith(f"{named.path.rstrip('/')}/")
        if (named.scheme.lower(), named.netloc.lower()) == (asked.scheme, asked.netloc) and inside:
            return resource
    raise LoginError(
        f"{host_of(url)} describes itself as {str(resource)[:200]!r}, which is not its address {url}: kaa asks for no "
        "token, because it would be one for another server. Check the URL of the server"
    )


async def _configured_server(
    metadata_url: str, issuer: str, transport: Transport, *, users_own: bool
) -> AuthorizationServer:
    told = await read(transport, metadata_url)
    server = _server(told, issuer)
    if users_own:  # the user says that these belong together
        return server
    # RFC 8414 3.3: otherwise these could name the login page of another server, and their own address for its codes.
    if told.get("issuer") != server.issuer or metadata_url not in metadata_places(server.issuer):
        raise LoginError(
            f"`authServerMetadataUrl` is {metadata_url}, where metadata of {server.issuer} do not belong (RFC 8414):"
            f" {host_of(server.token_url)} would get the code of your login at {host_of(server.authorization_url)}. If"
            " these belong together, configure the server in your own mcp.json"
        )
    _check_hosts(server, server.issuer)
    return server


async def _named_server(issuer: str, is_named: bool, transport: Transport) -> AuthorizationServer:
    told = await server_metadata(issuer, transport)
    if told is not None:
        server = _server(told, issuer)
        _check_hosts(server, issuer)
        return server
    if is_named:
        raise LoginError(
            f"the authorization server {issuer} publishes no metadata: set `authServerMetadataUrl` in its `oauth` entry"
        )
    # Revision 2025-03-26: these addresses hold where a server says nothing.
    return AuthorizationServer("", f"{issuer}/authorize", f"{issuer}/token", f"{issuer}/register")


def _server(told: Mapping[str, Json], issuer: str) -> AuthorizationServer:
    authorization, token = address_in(told, "authorization_endpoint"), address_in(told, "token_endpoint")
    if token is None:
        raise LoginError(f"the metadata of {issuer} lack the token endpoint: kaa cannot log in")
    challenges = texts_in(told, "code_challenge_methods_supported")
    # The specification wants the list to be there; some large servers support S256 without it.
    if challenges and "S256" not in challenges:
        raise LoginError(f"{issuer} does not support PKCE with S256, which MCP demands: kaa cannot log in")
    named = told.get("issuer")
    return AuthorizationServer(
        named if isinstance(named, str) else issuer,
        authorization or "",
        token,
        address_in(told, "registration_endpoint"),
        told.get("authorization_response_iss_parameter_supported") is True,
        told.get("client_id_metadata_document_supported") is True,
        texts_in(told, "token_endpoint_auth_methods_supported"),
        texts_in(told, "scopes_supported"),
        _revocation_url(told, token),
        texts_in(told, "token_endpoint_auth_signing_alg_values_supported"),
        texts_in(told, "dpop_signing_alg_values_supported"),
    )


def _revocation_url(told: Mapping[str, Json], token_url: str) -> str:
    """It gets refresh tokens, which only the place they come from may have. Without it, a login works as well."""
    url = told.get("revocation_endpoint")
    return url if isinstance(url, str) and is_confidential(url) and belong_together(url, token_url) else ""


def _check_hosts(server: AuthorizationServer, issuer: str) -> None:
    """Whoever describes itself may name the login page of another, and its own address for the codes that come of it.

    `iss` (RFC 9207) protects from that, but not all servers send it. PKCE does not: kaa would send the verifier along.
    Where large providers use several hosts, these are of one domain.

    Raises:
        LoginError: the person would log in at one place, and the code would go to another.
    """
    if not server.authorization_url:
        return  # no code is given
    if any(belong_together(server.authorization_url, other) for other in (server.token_url, issuer)):
        return
    page, receiver = host_of(server.authorization_url), host_of(server.token_url)
    raise LoginError(
        f"{host_of(issuer)} names {page} for the login, and {receiver} to receive its code: kaa does not log in,"
        f" because {receiver} could use the code at {page}. If these belong together, set `authServerMetadataUrl` in"
        " the `oauth` of an entry in your own mcp.json"
    )


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
