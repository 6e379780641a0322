"""Talking to something outside by the internet protocols."""

import contextlib
import os
import socket
import struct
import urllib.parse

from tests.escapes.attempts.kit import Given, attempt
from tests.escapes.attempts.machine_code import Page, x32
from tests.escapes.attempts.uring import Ring

_TIMEOUT_SECONDS = 1.5
_IPPROTO_MPTCP = 262
_ALLOWED = ("--net", "allowed.example")


@attempt("tcp")
def connect(given: Given) -> None:
    """Connect to a server on loopback."""
    _say(given)


@attempt("tcp", "address", host="own")
def connect_to_address(given: Given) -> None:
    """Connect to a server on the machine's address."""
    _say(given)


@attempt("tcp", "IPv6", host="::1")
def connect_over_ipv6(given: Given) -> None:
    """Connect to a server on loopback over IPv6."""
    _say(given)


@attempt("tcp", "IPv6")
def connect_to_mapped_address(given: Given) -> None:
    """Connect over IPv6 to an address of IPv4."""
    with socket.socket(socket.AF_INET6) as sock:
        _send(sock, ("::ffff:" + given.address, given.port))


@attempt("tcp")
def connect_to_zero(given: Given) -> None:
    """Connect to 0.0.0.0, which is this host."""
    with socket.socket() as sock:
        _send(sock, ("0.0.0.0", given.port))


@attempt("tcp")
def connect_to_other_loopback(given: Given) -> None:
    """Connect from a different address of loopback."""
    with socket.socket() as sock:
        sock.bind(("127.45.67.89", 0))
        _send(sock, (given.address, given.port))


@attempt("tcp", "MPTCP")
def connect_by_multipath(given: Given) -> None:
    """Connect by MPTCP, for which Landlock has no right."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, _IPPROTO_MPTCP) as sock:
        _send(sock, (given.address, given.port))


@attempt("tcp")
def fast_open(given: Given) -> None:
    """Connect by sending, for which Landlock has no right."""
    with socket.socket() as sock:
        sock.settimeout(_TIMEOUT_SECONDS)
        sock.sendto(b"harm", socket.MSG_FASTOPEN, (given.address, given.port))


@attempt("tcp", "io_uring")
def connect_by_io_uring(given: Given) -> None:
    """Connect by io_uring, which no system-call filter sees."""
    with socket.socket() as sock, Ring() as ring:
        address = struct.pack("!H4s8x", given.port, socket.inet_aton(given.address))
        ring.connect(sock.fileno(), struct.pack("H", socket.AF_INET) + address)
        sock.send(b"harm")


@attempt("tcp", "32-bit calls")
def connect_by_32_bit_call(given: Given) -> None:
    """Connect by the call of 32-bit programs."""
    socketcall, new_socket, connect_it = 102, 1, 3
    page = Page()
    fd = page.call(socketcall, new_socket, page.store(struct.pack("3I", socket.AF_INET, socket.SOCK_STREAM, 0)))
    address = struct.pack("H", socket.AF_INET) + struct.pack("!H4s8x", given.port, socket.inet_aton(given.address))
    page.call(socketcall, connect_it, page.store(struct.pack("3I", fd, page.store(address), 16)))
    os.write(fd, b"harm")


@attempt("tcp", "x32 calls")
def connect_by_x32_call(given: Given) -> None:
    """Connect by the call of the x32 ABI."""
    new_socket, connect_it = 41, 42
    fd = x32(new_socket, socket.AF_INET, socket.SOCK_STREAM, 0)
    address = struct.pack("H", socket.AF_INET) + struct.pack("!H4s8x", given.port, socket.inet_aton(given.address))
    x32(connect_it, fd, address, 16)
    os.write(fd, b"harm")


@attempt("tcp", "SCTP", protocol=socket.IPPROTO_SCTP)
def connect_by_sctp(given: Given) -> None:
    """Connect by SCTP."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP) as sock:
        _send(sock, (given.address, given.port))


@attempt("tcp")
def with_bash(given: Given) -> None:
    """Connect with what every shell brings along."""
    os.execvp("bash", ["bash", "-c", f"echo harm >/dev/tcp/{given.address}/{given.port}"])


@attempt("udp")
def send_datagram(given: Given) -> None:
    """Send a datagram to loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"harm", (given.address, given.port))


@attempt("udp", "address", host="own")
def send_datagram_to_address(given: Given) -> None:
    """Send a datagram to the machine's address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"harm", (given.address, given.port))


@attempt("udp", "IPv6", host="::1")
def send_datagram_over_ipv6(given: Given) -> None:
    """Send a datagram over IPv6."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"harm", (given.address, given.port))


@attempt("udp")
def resolve_name(given: Given) -> None:
    """Ask a name server, with a secret as the name."""
    header = struct.pack("!6H", 1, 0x0100, 1, 0, 0, 0)
    question = b"\x06secret\x07example\x00" + struct.pack("!2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((given.address, given.port))
        sock.send(header + question)


@attempt("udp")
def send_many_datagrams(given: Given) -> None:
    """Send datagrams by the call that sends several."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendmsg([b"harm"], [], 0, (given.address, given.port))


@attempt("udp")
def broadcast(given: Given) -> None:
    """Broadcast on loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        for address in ("127.255.255.255", given.address):
            with contextlib.suppress(OSError):
                sock.sendto(b"harm", (address, given.port))


@attempt("raw", "root")
def send_raw(given: Given) -> None:
    """Send a packet of a protocol of our own."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, given.number) as sock:
        sock.sendto(given.text.encode(), (given.address, 0))


@attempt("udp", "root", "address", host="own")
def send_frame(given: Given) -> None:
    """Put a frame on the wire, with a datagram in it."""
    data = b"harm"
    udp = struct.pack("!4H", 4321, given.port, 8 + len(data), 0) + data
    source, destination = socket.inet_aton("10.9.8.7"), socket.inet_aton(given.address)
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, socket.IPPROTO_UDP, 0, source, destination)
    total = sum(struct.unpack("!10H", head))
    head = head[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + head[12:]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind(("lo", 0x0800))
        sock.send(bytes(12) + b"\x08\x00" + head + udp)


@attempt("interface-address", "root")
def configure_interface(given: Given) -> None:
    """Give the host's loopback another address, by netlink."""
    rtm_newaddr, request, create = 20, 1, 0x400
    local = struct.pack("HH4s", 8, 2, socket.inet_aton(given.address))
    body = struct.pack("BBBBI", socket.AF_INET, 32, 0, 254, 1) + local
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.bind((0, 0))
        sock.send(struct.pack("IHHII", 16 + len(body), rtm_newaddr, request | create, 1, 0) + body)
        sock.settimeout(0.2)
        with contextlib.suppress(TimeoutError):
            sock.recv(4096)


@attempt("vsock", "vsock loopback")
def connect_by_vsock(given: Given) -> None:
    """Connect to a socket of virtual machines: a namespace does not confine it (WSL runs programs of Windows by it)."""
    with socket.socket(socket.AF_VSOCK) as sock:
        sock.settimeout(_TIMEOUT_SECONDS)
        sock.connect((1, given.port))
        sock.send(b"harm")


@attempt("tcp")
def by_proxy(given: Given) -> None:
    """Ask the proxy for a server on loopback."""
    _ask_proxy(given, given.address)


@attempt("tcp", flags=_ALLOWED)
def by_proxy_with_some_hosts_allowed(given: Given) -> None:
    """Ask the proxy for a server on loopback while another host is allowed."""
    _ask_proxy(given, given.address)


@attempt("tcp", flags=("--net", "on"))
def by_proxy_with_network(given: Given) -> None:
    """Ask the proxy for a server on loopback while the network is on: that is the user's machine, not the internet."""
    _ask_proxy(given, given.address)


@attempt("tcp", flags=("--net", "on"))
def by_proxy_to_name(given: Given) -> None:
    """Ask the proxy for `localhost`."""
    _ask_proxy(given, "localhost")


@attempt("tcp", flags=("--net", "on"))
def by_proxy_to_number(given: Given) -> None:
    """Ask the proxy for loopback written as numbers of other shapes."""
    for host in ("2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "[::]"):
        _ask_proxy(given, host)


@attempt("tcp", "address", flags=("--net", "on"), host="own")
def by_proxy_to_own_address(given: Given) -> None:
    """Ask the proxy for the machine's own address, where services listen that trust it."""
    _ask_proxy(given, given.address)


@attempt("tcp", flags=_ALLOWED)
def by_proxy_to_lookalike(given: Given) -> None:
    """Ask the proxy for hosts whose names contain one that is allowed."""
    for host in (
        f"allowed.example@{given.address}",
        f"{given.address}#allowed.example",
        f"{given.address}/allowed.example",
        f"{given.address}:{given.port}#allowed.example",
        f"{given.address}%00allowed.example",
        f"{given.address}\x00.allowed.example",
    ):
        _ask_proxy(given, host)


@attempt("tcp", flags=_ALLOWED)
def by_smuggling(given: Given) -> None:
    """Hide a request in another: two hosts, two lengths, a second request behind the first."""
    target = f"{given.address}:{given.port}"
    for request in (
        f"GET http://{target}/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: allowed.example\r\nHost: {target}\r\n\r\n",
        f"CONNECT {target} HTTP/1.1\r\nHost: allowed.example:443\r\n\r\nharm",
        f"CONNECT allowed.example:443 HTTP/1.1\r\nHost: {target}\r\n\r\nCONNECT {target} HTTP/1.1\r\n\r\nharm",
        f"CONNECT allowed.example:443\r\n{target} HTTP/1.1\r\n\r\nharm",
        f"POST http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nContent-Length: 0\r\n"
        f"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://{target}/ HTTP/1.1\r\nHost: {target}\r\n\r\n",
    ):
        _tell_proxy(given, request.encode())


@attempt("tcp", flags=("--net", "on"))
def past_the_proxy(given: Given) -> None:
    """Connect without the proxy while the network is on."""
    _say(given)


def _say(given: Given) -> None:
    with socket.create_connection((given.address, given.port), _TIMEOUT_SECONDS) as sock:
        sock.send(b"harm")


def _send(sock: socket.socket, address: tuple[str, int]) -> None:
    sock.settimeout(_TIMEOUT_SECONDS)
    sock.connect(address)
    sock.send(b"harm")


def _ask_proxy(given: Given, host: str) -> None:
    target = f"{host}:{given.port}"
    _tell_proxy(given, f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\nharm".encode())
    _tell_proxy(given, f"GET http://{target}/ HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n".encode())


def _tell_proxy(given: Given, request: bytes) -> None:
    """Say something to the proxy. Without a sandbox there is none, and the server itself hears it."""
    proxy = urllib.parse.urlsplit(os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy") or "")
    if proxy.hostname is None and given.sandboxed:
        raise ConnectionError("there is no proxy")
    host, port = (proxy.hostname, proxy.port or 80) if proxy.hostname else (given.address, given.port)
    with socket.create_connection((host, port), _TIMEOUT_SECONDS) as sock:
        sock.sendall(request)
        with contextlib.suppress(OSError):
            sock.settimeout(0.15 if given.sandboxed else 0.01)
            sock.recv(4096)
            sock.sendall(b"harm")
