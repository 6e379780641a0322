"""Which proxy the environment names for an address.

The variables as curl and most programs read them: `https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`, in
lower or upper case. This machine itself is never reached through a proxy, so that local models work behind one.
Why not `urllib.request`: it takes 17 ms to import and knows neither networks nor `*.name` in `no_proxy`.
"""

from collections.abc import Mapping

PROXY_VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy"})
"""In lower case; see `names_proxy`."""

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


def names_proxy(variable: str) -> bool:
    """Whether this variable, in either case, is one of those that say which proxy to use."""
    return variable.lower() in PROXY_VARIABLES


def with_own(environment: Mapping[str, str], own: Mapping[str, str]) -> Mapping[str, str]:
    """`environment` with other variables for proxies, whichever case theirs and its have. An empty one names none."""
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
