"""Which TCP ports of a network namespace somebody listens on at loopback, as the kernel lists them."""

import ipaddress
import sys

_LISTENS = "0A"  # TCP_LISTEN, net/tcp_states.h


def listening_ports(process: int | str = "self") -> frozenset[int]:
    """The ports that a connection to loopback reaches, in the network of a process; none where that cannot be read.

    proc(5): `sl local_address rem_address st …`, an address as 32-bit words in the order of the machine.
    """
    return frozenset(port for table in ("tcp", "tcp6") for port in _ports(f"/proc/{process}/net/{table}"))


def _ports(path: str) -> list[int]:
    try:
        with open(path, encoding="ascii") as table:
            rows = [line.split()[1:4] for line in table][1:]
    except OSError:  # the process is gone, or another system
        return []
    local = (row[0].partition(":") for row in rows if len(row) == 3 and row[2] == _LISTENS)
    return [int(port, 16) for address, _, port in local if _is_reached_by_loopback(address)]


def _is_reached_by_loopback(address: str) -> bool:
    words = [bytes.fromhex(address[at : at + 8]) for at in range(0, len(address), 8)]
    packed = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    host = ipaddress.ip_address(packed)
    host = getattr(host, "ipv4_mapped", None) or host
    return host.is_loopback or host.is_unspecified
