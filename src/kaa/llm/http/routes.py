"""How a server is reached: directly or through a proxy, and with which client certificate."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from kaa.llm.http.network_variables import ClientCertificate, client_certificate, proxy_for

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
# `socks5h` leaves looking up names to the proxy (as curl has it); 1080 is the port of RFC 1928.
_DEFAULT_PROXY_PORTS: Final = {**_DEFAULT_PORTS, "socks5": 1080, "socks5h": 1080}


class ProxyError(Exception):
    """The proxy cannot be used or refused the connection; the message says why."""


class ProxyLoginError(ProxyError):
    """The proxy wants a name and password, or others than those it was given."""


class Login(NamedTuple):
    """A name and a password."""

    user: str
    password: str

    def __repr__(self) -> str:
        """Without the password."""
        return f"Login({self.user!r})"


class Proxy(NamedTuple):
    """A proxy and what it wants to be let in with."""

    scheme: str
    host: str
    port: int
    login: Login | None = None

    @property
    def speaks_socks(self) -> bool:
        """Whether it speaks SOCKS5 and not HTTP."""
        return self.scheme.startswith("socks5")

    @property
    def address(self) -> str:
        """Host and port for messages, without the password."""
        return f"{self.host}:{self.port}"


class Route(NamedTuple):
    """How to reach a server. Connections with the same route are interchangeable."""

    scheme: str
    host: str
    port: int
    proxy: Proxy | None = None
    certificate: ClientCertificate | None = None

    @property
    def through_tunnel(self) -> bool:
        """Whether the proxy passes bytes on without reading them."""
        return self.proxy is not None and (self.scheme == "https" or self.proxy.speaks_socks)


def route_to(parts: SplitResult, variables: Mapping[str, str]) -> Route:
    """The route to the server of a URL.

    Args:
        variables: environment variables, which may name a proxy and a client certificate.

    Raises:
        ValueError: the URL names no server that kaa can reach.
        ProxyError: the proxy is not usable.
    """
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ValueError("no http:// or https:// with a host")
    route = Route(parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS[parts.scheme])
    proxy = proxy_for(route.scheme, route.host, route.port, variables)
    certificate = client_certificate(variables) if parts.scheme == "https" else None
    return route._replace(proxy=None if proxy is None else _proxy(proxy), certificate=certificate)


def basic_authorization(login: Login) -> str:
    """The value of a header that logs in with a name and password (RFC 7617)."""
    return f"Basic {b64encode(f'{login.user}:{login.password}'.encode()).decode()}"


def login_of(parts: SplitResult) -> Login | None:
    """The name and password of a URL, if it has any."""
    return Login(unquote(parts.username), unquote(parts.password or "")) if parts.username else None


def _proxy(url: str) -> Proxy:
    try:
        parts = urlsplit(url)
        default = _DEFAULT_PROXY_PORTS.get(parts.scheme)
        if default and parts.hostname:
            return Proxy(parts.scheme, parts.hostname, parts.port or default, login_of(parts))
    except ValueError:
        pass  # not chained, because the cause may quote a password
    if url.lower().startswith("socks"):
        raise ProxyError("kaa supports SOCKS version 5 only: write socks5://host:port or socks5h://host:port")
    raise ProxyError("its address is not a valid http://, https://, socks5:// or socks5h:// URL")
