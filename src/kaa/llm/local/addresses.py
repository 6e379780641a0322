"""Which server is meant by `:1234`, `:1234/model`, `http://host:port/v1`, `ollama/model` and the names in sessions.

A server at its usual place goes by its own name, another one on this machine by `local:PORT`; so a session that goes on
finds it again. An address beyond this machine is only taken from what the user wrote for this run.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

# The ports on which they listen unless told otherwise: docs.ollama.com/faq, lmstudio.ai/docs/developer,
# llama.cpp's tools/server/README.md, docs.vllm.ai/en/stable/serving.
USUAL_PORTS: Final = {"ollama": 11434, "lmstudio": 1234, "llamacpp": 9931, "vllm": 8000}
# Where older versions listen: llama-server until November 2026.
_FORMER_PORTS: Final = {"llamacpp": 8080}

_LOOPBACK: Final = "127.0.0.1"
_PORT = re.compile(r"(?:local)?:([0-9]{1,5})(?:/(.*))?", re.DOTALL)
_LARGEST_PORT: Final = 65535


class AddressError(ValueError):
    """An address that cannot be used; the message says what to write."""


class Address(NamedTuple):
    """A server, and the model of it that is meant; none: whichever it has.

    Attributes:
        root: such as `http://127.0.0.1:1234`, without a path.
        former: where an older version of the server is, if nobody is at `root`; empty for nowhere.
    """

    root: str
    model: str = ""
    former: str = ""


def root_of(name: str, environ: Mapping[str, str]) -> str:
    """Where the server of this usual name is. Ollama's variable counts, as it does for Ollama's own client."""
    if name == "ollama" and (host := environ.get("OLLAMA_HOST", "").strip()):
        return _ollama_root(host)
    return f"http://{_LOOPBACK}:{USUAL_PORTS[name]}"


def roots_of(name: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where the server of this usual name may be, the likeliest place first."""
    former = _former_root(name)
    return (root_of(name, environ), former) if former else (root_of(name, environ),)


def _former_root(name: str) -> str:
    return f"http://{_LOOPBACK}:{_FORMER_PORTS[name]}" if name in _FORMER_PORTS else ""


def address_in(query: str, environ: Mapping[str, str]) -> Address | None:
    """The address that the user wrote in place of a model; None if it is none.

    Raises:
        AddressError: it is one, and cannot be used.
    """
    if match := _PORT.fullmatch(query):
        return Address(_on_this_machine(match.group(1)), match.group(2) or "")
    if query.startswith(("http://", "https://")):
        return _of_url(query)
    name, _, model = query.partition("/")
    return Address(root_of(name, environ), model, _former_root(name)) if name in USUAL_PORTS else None


def address_of_provider(provider: str, model: str, environ: Mapping[str, str]) -> Address | None:
    """The address that the name of a provider stands for, as sessions and settings keep it; None if for none."""
    if provider in USUAL_PORTS:
        return Address(root_of(provider, environ), model, _former_root(provider))
    match = _PORT.fullmatch(provider)
    return Address(_on_this_machine(match.group(1)), model) if match and not match.group(2) else None


def name_for(root: str, kind: str, environ: Mapping[str, str]) -> str:
    """What the server goes by, as a provider."""
    return kind if kind in USUAL_PORTS and root in roots_of(kind, environ) else name_by_port(root)


def name_by_port(root: str) -> str:
    """What a server goes by whose usual name means another one."""
    parts = urlsplit(root)
    return f"local:{parts.port}" if parts.hostname == _LOOPBACK else parts.netloc


def names_of(root: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names by which a server at `root` can go."""
    return (*(name for name in USUAL_PORTS if root in roots_of(name, environ)), name_by_port(root))


def is_address(text: str) -> bool:
    """Whether a provider or a model names a place rather than somebody: what no project may set."""
    return bool(_PORT.fullmatch(text)) or "://" in text


def _on_this_machine(port: str) -> str:
    if not 0 < int(port) <= _LARGEST_PORT:
        raise AddressError(f"there is no port {port}: ports go up to {_LARGEST_PORT}")
    return f"http://{_LOOPBACK}:{int(port)}"


def _of_url(url: str) -> Address:
    usage = "write it as http://host:port or http://host:port/v1, or put the server into models.json"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressError(f"this is not the address of a server: {usage}") from None
    if not parts.hostname or parts.username is not None or parts.query or parts.fragment:
        raise AddressError(f"the address may contain only a host, a port and /v1: {usage}")
    first, _, model = parts.path.removeprefix("/").partition("/")
    if first not in ("", "v1"):
        raise AddressError(f"{parts.hostname} is to be asked below {parts.path}: {usage}")
    host = _LOOPBACK if parts.hostname in ("localhost", "::1") else parts.hostname
    host = f"[{host}]" if ":" in host else host
    return Address(f"{parts.scheme}://{host}{f':{port}' if port else ''}", model)


def _ollama_root(host: str) -> str:
    """`OLLAMA_HOST` as Ollama reads it: host, host:port or an address; one to listen on everywhere means here."""
    scheme, separator, rest = host.rpartition("://")
    try:
        parts = urlsplit(f"//{rest}")
        port = parts.port
    except ValueError:
        return f"http://{_LOOPBACK}:{USUAL_PORTS['ollama']}"
    name = parts.hostname or _LOOPBACK
    name = _LOOPBACK if name in ("0.0.0.0", "::", "localhost", "::1") else name  # noqa: S104 it is not listened on
    usual = {"http": 80, "https": 443}.get(scheme, USUAL_PORTS["ollama"]) if separator else USUAL_PORTS["ollama"]
    return f"{scheme or 'http'}://{f'[{name}]' if ':' in name else name}:{port or usual}"
