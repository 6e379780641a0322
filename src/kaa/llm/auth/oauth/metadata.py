"""The addresses of an authorization server: as they are configured, else as the server's metadata tells (RFC 8414)."""

from collections.abc import Mapping
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
    told = await server_metadata(config.issuer, transport)
    if told is None:
        raise LoginError(f"{config.issuer} publishes no metadata (RFC 8414): write `tokenUrl` into models.json")
    token = config.token_url or address_in(told, "token_endpoint")
    if token is None:
        raise LoginError(f"the metadata of {config.issuer} names no token endpoint: write `tokenUrl` into models.json")
    return Addresses(
        token,
        config.authorization_url or address_in(told, "authorization_endpoint"),
        config.device_url or address_in(told, "device_authorization_endpoint"),
    )


async def server_metadata(issuer: str, transport: Transport) -> dict[str, Json] | None:
    """What an authorization server says about itself, None if it says nothing.

    Raises:
        LoginError: somebody else's metadata are there.
        ProviderError: the server cannot be reached.
    """
    for place in metadata_places(issuer):
        try:
            told = await read(transport, place)
        except LoginError:
            continue
        named = told.get("issuer")
        if not isinstance(named, str) or named.rstrip("/") != issuer.rstrip("/"):
            raise LoginError(
                f"the metadata of {issuer} are those of another server ({named!r}): check `issuer` in its `oauth` entry"
            )
        return told
    return None


def metadata_places(issuer: str) -> tuple[str, ...]:
    """The addresses where an authorization server describes itself: nobody else can, if it is whom it says.

    RFC 8414 3: the well-known part comes before the path of the issuer; OpenID Connect puts it behind.
    """
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    origin = f"{parts.scheme}://{parts.netloc}"
    known = "/.well-known/"
    places = (f"{known}oauth-authorization-server{path}", f"{known}openid-configuration{path}")
    return tuple(origin + place for place in dict.fromkeys((*places, f"{path}{known}openid-configuration")))


def address_in(told: Mapping[str, Json], field: str) -> str | None:
    """An address in the metadata, None if there is none.

    Raises:
        LoginError: what is sent there could be read by others.
    """
    url = told.get(field)
    if url is None:
        return None
    if not isinstance(url, str) or not is_confidential(url):
        raise LoginError(f"the authorization server's {field} is not an https:// address: kaa does not use it")
    return url
