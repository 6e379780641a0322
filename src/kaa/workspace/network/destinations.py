"""Hosts and ports in one canonical form, so that comparing them is comparing text.

Names are lower-case ASCII without the dot of the root. Addresses are written as `ipaddress` writes them, an
IPv4-mapped one as the IPv4 address that it is.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple

_MAX_NAME = 253  # RFC 1035, without the dot of the root
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# The resolver takes `127.1`, `0x7f.1` and `2130706433` for addresses: names do not end like this (RFC 3696, 2).
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[0-9]{1,5}")


class HostError(ValueError):
    """What was given is no host, or no host and port. The message says why."""


class Destination(NamedTuple):
    """Where a connection leads.

    Attributes:
        host: a name or an address in canonical form, IPv6 without brackets.
        port: 1 to 65535.
    """

    host: str
    port: int

    def __str__(self) -> str:
        return f"{in_brackets(self.host)}:{self.port}"

    @property
    def is_address(self) -> bool:
        """Whether the host is an address and no name."""
        return is_address(self.host)


def canonical_host(text: str) -> str:
    """A host in canonical form.

    Args:
        text: a name in ASCII or an address, IPv6 without brackets.

    Raises:
        HostError: it is neither.
    """
    if not text.isascii():
        raise HostError("the name of a host must be written in ASCII (xn--…)")
    if ":" in text:
        return _canonical_v6(text)
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _canonical_v4(name)
    if len(name) > _MAX_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise HostError("that is not the name of a host")
    return name


def parse_authority(text: str, default_port: int | None = None) -> Destination:
    """Parse `host:port`, as in `CONNECT host:port` and in URLs. IPv6 stands in brackets.

    Raises:
        HostError: it is something else, or the port is missing and there is no default.
    """
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or ":" not in host or (rest and not rest.startswith(":")):
            raise HostError("an IPv6 address with a port is written [address]:port")
        port, has_port = rest[1:], bool(rest)
    else:
        host, colon, port = text.partition(":")
        has_port = bool(colon)
    if not has_port and default_port is None:
        raise HostError("the port is missing")
    return Destination(canonical_host(host), parse_port(port) if has_port else default_port or 0)


def parse_port(text: str) -> int:
    """Parse a port.

    Raises:
        HostError: it is none.
    """
    if not _PORT.fullmatch(text) or not 1 <= int(text) <= 65535:
        raise HostError("a port is a number from 1 to 65535")
    return int(text)


def is_address(host: str) -> bool:
    """Whether a canonical host is an address and no name."""
    return ":" in host or host.rpartition(".")[2].isdigit()


def in_brackets(host: str) -> str:
    """A canonical host as it stands before a port."""
    return f"[{host}]" if ":" in host else host


def _canonical_v4(text: str) -> str:
    try:
        return str(IPv4Address(text))
    except ValueError:
        raise HostError("an IPv4 address is written as four decimal numbers") from None


def _canonical_v6(text: str) -> str:
    if "%" in text:
        raise HostError("addresses of one interface cannot be reached")
    try:
        address = ip_address(text)
    except ValueError:
        raise HostError("that is not an IPv6 address") from None
    assert isinstance(address, IPv6Address)
    return str(address.ipv4_mapped or address)
