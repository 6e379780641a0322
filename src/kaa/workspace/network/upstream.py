"""The proxies through which the user's own network is left, as the environment names them.

The variables as curl reads them: `https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`, in lower or upper case. A proxy
that kaa cannot speak to is not gone around: whoever set one may not want direct connections. With a proxy, names are
resolved by it: what they resolve to cannot be checked here, only addresses and well-known names can. Where the proxy
runs on this machine, a name must not lead here, as far as this machine knows it.
"""

import ipaddress
from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from kaa.workspace.network.destinations import Destination, HostError, canonical_host

_DEFAULT_PORT = 80  # of http:// URLs; curl would take 1080, others 80 or 8080
_VARIABLES = {"http": ("http_proxy", "all_proxy"), "https": ("https_proxy", "all_proxy")}


class UnsupportedProxyError(Exception):
    """The proxy that the environment names cannot be used. The message names the variable and no secrets."""


class UpstreamProxy(NamedTuple):
    """A proxy and what it wants to hear first."""

    host: str
    port: int
    authorization: str | None = None


class UpstreamProxies:
    """Chooses the proxy for a destination."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    @property
    def problem(self) -> str | None:
        """Why a proxy that is set cannot be used, if so."""
        try:
            for scheme in _VARIABLES:
                self._proxy(scheme)
        except UnsupportedProxyError as error:
            return str(error)
        return None

    def towards(self, destination: Destination, *, tunnel: bool) -> UpstreamProxy | None:
        """The proxy for a destination; None for a direct connection.

        Args:
            tunnel: whether bytes are passed, as for https, or one plain HTTP request.

        Raises:
            UnsupportedProxyError: there is one that cannot be used.
        """
        if self._is_exempt(destination):
            return None
        return self._proxy("https" if tunnel else "http")

    def _proxy(self, scheme: str) -> UpstreamProxy | None:
        for variable in _VARIABLES[scheme]:
            if value := self._value(variable):
                return _parse(variable, value)
        return None

    def _value(self, variable: str) -> str:
        return (self._environment.get(variable) or self._environment.get(variable.upper()) or "").strip()

    def _is_exempt(self, destination: Destination) -> bool:
        entries = (entry.strip().lower() for entry in self._value("no_proxy").split(","))
        return any(_exempts(entry, destination) for entry in entries if entry)


def _parse(variable: str, value: str) -> UpstreamProxy:
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        if parts.scheme != "http":
            raise UnsupportedProxyError(
                f"the proxy in {variable} is not supported: sandboxed commands can only go through http:// proxies. "
                f"Set {variable} to one, or unset it before starting kaa."
            )
        return UpstreamProxy(canonical_host(parts.hostname or ""), parts.port or _DEFAULT_PORT, _authorization(parts))
    except (HostError, ValueError):
        # Not chained, for the cause may quote a password.
        raise UnsupportedProxyError(f"the proxy in {variable} is no valid URL such as http://proxy:3128.") from None


def _authorization(parts: SplitResult) -> str | None:
    if parts.username is None:
        return None
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {b64encode(credentials.encode()).decode('ascii')}"


def _exempts(entry: str, destination: Destination) -> bool:
    """Whether an entry of `no_proxy` means a destination: `*`, a name with all below it, an address or a network."""
    if entry == "*":
        return True
    if destination.is_address:
        try:
            return ipaddress.ip_address(destination.host) in ipaddress.ip_network(entry.strip("[]"), strict=False)
        except ValueError:
            return entry == str(destination)
    name, colon, port = entry.rpartition(":")
    if colon and port.isdigit():
        if int(port) != destination.port:
            return False
        entry = name
    name = entry.removeprefix("*").strip(".")
    return bool(name) and (destination.host == name or destination.host.endswith(f".{name}"))
