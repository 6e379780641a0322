"""The addresses of an authorization server: as they are configured, else as the server's metadata tells (RFC 8414)."""

from typing import NamedTuple
from urllib.parse import urlsplit

from kaa.core.messages import Json
from kaa.llm.auth.errors import LoginError
from kaa.llm.auth.oauth.config import OAuthConfig, is_confidential
from kaa.llm.auth.oauth.exchange import read
from kaa.llm.http.transport import Transport


class Addresses(NamedTuple):
    """Where to ask for what; None where the server has no such thing."""

    token: str
    authorization: str | None
    device: str | None


async def addresses_of(config: OAuthConfig, transport: Transport) -> Addresses:
    """The addresses of the server behind `config`. What is configured counts before what the server says.

    Raises:
        LoginError: the metadata is not there, or not of this server, or lacks what is needed.
        ProviderError: the server cannot be reached.
    """
    if config.issuer is None:
        assert config.token_url is not None  # OAuthConfig sees to that
        return Addresses(config.token_url, config.authorization_url, config.device_url)
    told = await _metadata(config.issuer, transport)
    token = config.token_url or _address(told, "token_endpoint")
    if token is None:
        raise LoginError(f"the metadata of {config.issuer} names no token endpoint: write `tokenUrl` into models.json")
    return Addresses(
        token,
        config.authorization_url or _address(told, "authorization_endpoint"),
        config.device_url or _address(told, "device_authorization_endpoint"),
    )


async def _metadata(issuer: str, transport: Transport) -> dict[str, Json]:
    """RFC 8414 3: the well-known part comes before the path of the issuer; OpenID Connect puts it behind."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    origin = f"{parts.scheme}://{parts.netloc}"
    try:
        told = await read(transport, f"{origin}/.well-known/oauth-authorization-server{path}")
    except LoginError:
        told = await read(transport, f"{origin}{path}/.well-known/openid-configuration")
    named = told.get("issuer")
    if not isinstance(named, str) or named.rstrip("/") != issuer.rstrip("/"):
        raise LoginError(f"the metadata of {issuer} is that of another server: check `issuer` in models.json")
    return told


def _address(told: dict[str, Json], field: str) -> str | None:
    url = told.get(field)
    if url is None:
        return None
    if not isinstance(url, str) or not is_confidential(url):
        raise LoginError(f"the authorization server's {field} is not an https:// address: kaa does not use it")
    return url
