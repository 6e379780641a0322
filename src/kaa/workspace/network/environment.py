"""The variables that lead commands to the proxy."""

_HERE = "localhost,127.0.0.1,::1"


def proxy_environment(port: int) -> dict[str, str]:
    """The variables for commands, given the port of the proxy inside the sandbox.

    They replace what the user's own environment says, for the proxies named there cannot be reached from the sandbox.
    `ALL_PROXY` names HTTP too: with SOCKS there, pip and httpx refuse to work unless further packages are installed.
    No variable serves every JVM: `JAVA_TOOL_OPTIONS` makes it print a line at each start, which breaks scripts. Maven
    and Gradle get `java_proxy_options` in variables of their own (`sandbox/environment.py`).
    """
    url = f"http://127.0.0.1:{port}"
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), url)
    lower = {**proxies, "no_proxy": _HERE}
    upper = {name.upper(): value for name, value in lower.items()}
    # Node's own fetch and http obey the others only when told so (Node 22.21 and 24.5).
    return {**lower, **upper, "NODE_USE_ENV_PROXY": "1"}


def java_proxy_options(port: int) -> tuple[str, ...]:
    """Options by which a JVM finds the proxy."""
    where = "Host=127.0.0.1", f"Port={port}"
    return tuple(f"-D{scheme}.proxy{what}" for scheme in ("http", "https") for what in where)
