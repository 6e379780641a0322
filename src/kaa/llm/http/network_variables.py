"""What environment variables say about the way to a server: proxies and the client certificate.

Proxies as curl and most programs read them: `https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`, in lower or upper
case. This machine itself is never reached through a proxy, so that local models work behind one.
Why not `urllib.request`: it takes 17 ms to import and knows neither networks nor `*.name` in `no_proxy`.
"""

from collections.abc import Mapping
from typing import NamedTuple

NETWORK_VARIABLES = frozenset(
    {
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "kaa_client_cert",
        "kaa_client_key",
        "kaa_client_key_password",
    }
)
"""In lower case; see `is_network_variable`."""

_LOOPBACK_NAMES = ("localhost", "::1")


def proxy_for(scheme: str, host: str, port: int, environment: Mapping[str, str]) -> str | None:
    """The URL of the proxy to use, or None for a direct connection."""
    host = host.lower().rstrip(".")
    if host in _LOOPBACK_NAMES or host.endswith(".localhost") or host.startswith("127."):
        return None
    proxy = _variable(environment, f"{scheme}_proxy") or _variable(environment, "all_proxy")
    if not proxy or _is_exempt(host, port, _variable(environment, "no_proxy")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


class ClientCertificate(NamedTuple):
    """What proves to a server who we are (mutual TLS).

    Attributes:
        file: path of the certificate chain in PEM format.
        key_file: path of its private key in PEM format; empty if it is in `file`.
    """

    file: str
    key_file: str = ""
    password: str = ""

    def __repr__(self) -> str:
        """Without the password."""
        return f"ClientCertificate({self.file!r}, {self.key_file!r})"


def client_certificate(variables: Mapping[str, str]) -> ClientCertificate | None:
    """The client certificate that `KAA_CLIENT_CERT` and its relatives name, or None."""
    file = _variable(variables, "kaa_client_cert")
    if not file:
        return None
    return ClientCertificate(
        file, _variable(variables, "kaa_client_key"), _variable(variables, "kaa_client_key_password")
    )


def is_network_variable(name: str) -> bool:
    """Whether this variable, in either case, says something about the way to a server."""
    return name.lower() in NETWORK_VARIABLES


def with_own(environment: Mapping[str, str], own: Mapping[str, str]) -> Mapping[str, str]:
    """`environment` with other network variables, whichever case either has. An empty proxy variable names no proxy."""
    if not own:
        return environment
    replaced = {name.lower() for name in own}
    return {name: value for name, value in environment.items() if name.lower() not in replaced} | dict(own)


def with_proxy(environment: Mapping[str, str], proxy: str | None) -> Mapping[str, str]:
    """`environment` with a proxy for whatever it names none for; its exemptions hold."""
    if not proxy or _variable(environment, "all_proxy"):
        return environment
    return {**environment, "all_proxy": proxy}


def _variable(environment: Mapping[str, str], name: str) -> str:
    return (environment.get(name) or environment.get(name.upper()) or "").strip()


def _is_exempt(host: str, port: int, exemptions: str) -> bool:
    return any(_matches(host, port, entry.strip().lower()) for entry in exemptions.split(",") if entry.strip())


def _matches(host: str, port: int, entry: str) -> bool:
    """Whether an entry of `no_proxy` means this address: `*`, a name with all below it, an address or a network."""
    if entry == "*":
        return True
    if "/" in entry:
        return _is_in_network(host, entry)
    name, colon, entry_port = entry.rpartition(":")
    if colon and entry_port.isdigit() and ":" not in name:
        if int(entry_port) != port:
            return False
        entry = name
    name = entry.strip("[]").removeprefix("*").strip(".")
    return host == name or host.endswith(f".{name}")


def _is_in_network(host: str, network: str) -> bool:
    import ipaddress  # only for those who write networks into no_proxy

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
