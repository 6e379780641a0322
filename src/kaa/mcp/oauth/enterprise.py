"""Enterprise-managed authorization (SEP-990): the identity provider of an enterprise decides who may use a server.

It exchanges the user's identity token for a grant that is good at one authorization server (RFC 8693, ID-JAG).
"""

from typing import Final

from kaa.llm.auth.errors import LoginError
from kaa.llm.auth.oauth.config import is_confidential
from kaa.llm.auth.oauth.exchange import ask, secret_of
from kaa.llm.http.routes import Login
from kaa.llm.http.transport import Transport, host_of
from kaa.mcp.oauth.discovery import Discovered
from kaa.mcp.oauth.settings import OAuthEntry

_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_TOKEN: Final = "urn:ietf:params:oauth:token-type:id_token"
_GRANT: Final = "urn:ietf:params:oauth:token-type:id-jag"


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
