"""Logins at providers: the entry `oauth` in the user's models.json, and servers that give API keys without one."""

from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_HIGHEST_PORT = 65535


class OAuthConfig(msgspec.Struct, rename="camel", frozen=True):
    """A client that is registered at an authorization server.

    Attributes:
        client_id: of the user's own registration; public, no secret.
        issuer: names the server; its metadata (RFC 8414) tells the addresses that are not given here.
        authorization_url: where the browser is sent.
        token_url: where codes and refresh tokens become tokens.
        device_url: where a code for another device is asked for (RFC 8628).
        redirect_host: how the registration names this machine.
        redirect_port: where the browser comes back to; 0 for any that is free, as RFC 8252 wants servers to allow.
        redirect_path: the path of that address.
        parameters: added to the address the browser is sent to, such as an audience.
    """

    client_id: str
    issuer: str | None = None
    authorization_url: str | None = None
    token_url: str | None = None
    device_url: str | None = None
    scopes: tuple[str, ...] = ()
    redirect_host: Literal["127.0.0.1", "localhost"] = "127.0.0.1"
    redirect_port: int = 0
    redirect_path: str = "/callback"
    parameters: dict[str, str] = {}

    def __post_init__(self) -> None:
        """Refuse what would give tokens to whoever listens. msgspec tells where in the file the mistake is."""
        for url in (self.issuer, self.authorization_url, self.token_url, self.device_url):
            if url is not None and not is_confidential(url):
                raise ValueError("Expected addresses that begin with https://")
        if not self.issuer and not (self.token_url and (self.authorization_url or self.device_url)):
            raise ValueError("Expected `issuer`, or `tokenUrl` with `authorizationUrl` or `deviceUrl`")
        if not self.client_id.strip():
            raise ValueError("Expected the `clientId` of your own registration")
        if not 0 <= self.redirect_port <= _HIGHEST_PORT:
            raise ValueError("Expected a `redirectPort` from 0 to 65535")
        if not self.redirect_path.startswith("/") or set("?# \r\n") & set(self.redirect_path):
            raise ValueError("Expected a `redirectPath` that begins with / and has neither query nor blanks")

    @property
    def has_browser_login(self) -> bool:
        """Whether one can log in with a browser on this machine, as far as is known without asking the server."""
        return bool(self.authorization_url or self.issuer)

    @property
    def has_device_login(self) -> bool:
        """Whether one can log in with a browser on another machine, as far as is known without asking."""
        return bool(self.device_url or self.issuer)


def is_confidential(url: str) -> bool:
    """Whether what is sent to `url` can be read by nobody on the way: TLS, or this machine itself."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or not url.isascii() or not url.isprintable() or " " in url:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)


class KeyGrant(NamedTuple):
    """A server that gives an API key after its user agrees. It needs no client id.

    Attributes:
        authorization_url: where the browser is sent, with a `callback_url` and a challenge, but without a state.
        key_url: where the code that comes back becomes a key; asked in JSON.
    """

    authorization_url: str
    key_url: str


# Source: https://openrouter.ai/docs/guides/overview/auth/oauth, read in 2026.
KEY_GRANTS: Final = {
    "openrouter": KeyGrant("https://openrouter.ai/auth", "https://openrouter.ai/api/v1/auth/keys"),
}
