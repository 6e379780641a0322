"""Where IP addresses lead: for checks of what others make kaa or a sandboxed command connect to.

The tables are the special-purpose registries of IANA (RFC 6890 and its successors) and the metadata services of the
large clouds. They are ours because `ipaddress.is_global` changed its mind between patch releases of Python.
"""

import socket
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address


class AddressKind(Enum):
    """Where an address leads. The later, the worse."""

    PUBLIC = 1
    """The internet."""
    PRIVATE = 2
    """The user's own networks, and ranges that are not routed."""
    FORBIDDEN = 3
    """This machine, the local link, the cloud's metadata service, groups, or nothing that makes sense."""


_FORBIDDEN_V4 = (
    IPv4Network("0.0.0.0/8"),  # "this host": Linux connects to loopback
    IPv4Network("127.0.0.0/8"),
    IPv4Network("169.254.0.0/16"),  # link-local; 169.254.169.254 is the metadata service of most clouds
    IPv4Network("192.0.0.0/24"),  # protocol assignments; 192.0.0.192 is Oracle's metadata service
    IPv4Network("224.0.0.0/4"),  # multicast
    IPv4Network("240.0.0.0/4"),  # reserved, and broadcast
    IPv4Network("100.100.100.200/32"),  # Alibaba's metadata service
    IPv4Network("168.63.129.16/32"),  # Azure's
)
_PRIVATE_V4 = (
    IPv4Network("10.0.0.0/8"),
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.168.0.0/16"),
    IPv4Network("100.64.0.0/10"),  # shared by the customers of a provider, and VPNs
    IPv4Network("192.0.2.0/24"),  # documentation, as are the next two
    IPv4Network("198.51.100.0/24"),
    IPv4Network("203.0.113.0/24"),
    IPv4Network("192.88.99.0/24"),  # once 6to4 relays
    IPv4Network("198.18.0.0/15"),  # benchmarks
)

_FORBIDDEN_V6 = (
    IPv6Network("2001::/32"),  # Teredo carries an IPv4 address in disguise
    IPv6Network("fd00:ec2::254/128"),  # metadata services: Amazon,
    IPv6Network("fd20:ce::254/128"),  # Google,
    IPv6Network("fd00:42::42/128"),  # Scaleway
)
_PRIVATE_V6 = (
    IPv6Network("fc00::/7"),
    IPv6Network("fec0::/10"),  # site-local, deprecated
    IPv6Network("2001::/23"),  # protocol assignments
    IPv6Network("2001:db8::/32"),  # documentation, as is the next
    IPv6Network("3fff::/20"),
)
_PUBLIC_V6 = IPv6Network("2000::/3")  # all that has been given out; whatever is outside is not for us

# Forms that carry an IPv4 address, and how many bits follow it: the kernel or a gateway connects to that one.
_EMBEDDED_V4 = (
    (IPv6Network("::ffff:0:0/96"), 0),  # IPv4-mapped
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64, RFC 6052
    (IPv6Network("2002::/16"), 80),  # 6to4, RFC 3056
)


def kind_of(address: str) -> AddressKind:
    """Classify an address, written as usual; an IPv6 one may name an interface behind `%`.

    Raises:
        ValueError: it is none.
    """
    parsed = ip_address(address.partition("%")[0])
    return _kind_of_v4(parsed) if isinstance(parsed, IPv4Address) else _kind_of_v6(parsed)


def is_own(address: str) -> bool:
    """Return True if an address is one of this machine's, whose firewall lets it reach itself. Sends nothing."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.connect((address, 9))
            return ip_address(sender.getsockname()[0]) == ip_address(address)
    except (OSError, ValueError):  # there is no way to it
        return False


def _kind_of_v4(address: IPv4Address) -> AddressKind:
    if any(address in network for network in _FORBIDDEN_V4):
        return AddressKind.FORBIDDEN
    if any(address in network for network in _PRIVATE_V4):
        return AddressKind.PRIVATE
    return AddressKind.FORBIDDEN if is_own(str(address)) else AddressKind.PUBLIC


def _kind_of_v6(address: IPv6Address) -> AddressKind:
    for network, bits_behind in _EMBEDDED_V4:
        if address in network:
            return _kind_of_v4(IPv4Address((int(address) >> bits_behind) & 0xFFFFFFFF))
    if any(address in network for network in _FORBIDDEN_V6):
        return AddressKind.FORBIDDEN
    if any(address in network for network in _PRIVATE_V6):
        return AddressKind.PRIVATE
    return AddressKind.FORBIDDEN if address not in _PUBLIC_V6 or is_own(str(address)) else AddressKind.PUBLIC
