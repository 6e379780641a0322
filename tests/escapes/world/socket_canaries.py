"""Canaries that listen. Nothing may arrive: the kernel completes a connection even before it is accepted."""

import contextlib
import os
import secrets
import socket
import struct

from tests.escapes.world.canary import Canary, Ending, Facts
from tests.escapes.world.machine import own_address

_KINDS = {
    "": socket.SOCK_STREAM,
    "datagram": socket.SOCK_DGRAM,
    "packets": socket.SOCK_SEQPACKET,
}
_EXPERIMENTS = 253  # protocol number for experiments, RFC 3692


class _Listening(Canary):
    """A socket that waits."""

    _socket: socket.socket | None = None

    def harm(self, ending: Ending) -> str:
        assert self._socket is not None
        return "something arrived" if arrived(self._socket) else ""

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


class Tcp(_Listening):
    """A server on loopback, or on the machine's own address."""

    def prepare(self) -> None:
        host = self.option("host", "127.0.0.1")
        self._address = own_address() if host == "own" else host
        family = socket.AF_INET6 if ":" in self._address else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM, int(self.options.get("protocol", 0)))
        # With the option, a connection by TCP fast open can be made.
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 5)
        self._socket.bind((self._address, 0))
        self._socket.listen(8)

    def facts(self) -> Facts:
        assert self._socket is not None
        return {"address": self._address, "port": self._socket.getsockname()[1]}


class Udp(_Listening):
    """A socket for datagrams on loopback, or on the machine's own address."""

    def prepare(self) -> None:
        host = self.option("host", "127.0.0.1")
        self._address = own_address() if host == "own" else host
        self._socket = socket.socket(socket.AF_INET6 if ":" in self._address else socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((self._address, 0))

    def facts(self) -> Facts:
        assert self._socket is not None
        return {"address": self._address, "port": self._socket.getsockname()[1]}


class Raw(Canary):
    """A socket for packets of a protocol that nobody else uses."""

    def prepare(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, _EXPERIMENTS)
        self._socket.setblocking(False)

    def facts(self) -> Facts:
        return {"address": "127.0.0.1", "number": _EXPERIMENTS, "text": self.secret}

    def harm(self, ending: Ending) -> str:
        with contextlib.suppress(BlockingIOError):
            while packet := self._socket.recv(4096):
                if self.secret.encode() in packet:  # a run beside this one has secrets of its own
                    return "a packet arrived"
        return ""

    def close(self) -> None:
        self._socket.close()


class Vsock(_Listening):
    """A socket of the host's for virtual machines."""

    def prepare(self) -> None:
        self._socket = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
        self._socket.bind((socket.VMADDR_CID_ANY, socket.VMADDR_PORT_ANY))
        self._socket.listen(8)

    def facts(self) -> Facts:
        assert self._socket is not None
        return {"port": self._socket.getsockname()[1]}


class Unix(_Listening):
    """A daemon's socket in the file system."""

    def prepare(self) -> None:
        base = self.option("base")
        if base == "project-later":
            self._path = self.arena.project / "daemon.sock"
        elif base == "kaa":
            folder = self.arena.home / ".kaa" / "agent" / "run"
            folder.mkdir(0o700, parents=True, exist_ok=True)
            for made in (folder.parents[1], folder.parent, folder):
                self.arena.person.own(made)
            self._path = folder / f"{self.name}.sock"
        else:
            self._path = self.arena.directory(self.name, base) / "daemon.sock"
        if not self.options.get("late"):
            self._listen()

    def _listen(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, _KINDS[self.option("kind")])
        if self.options.get("by_descriptor"):
            directory = os.open(self._path.parent, os.O_PATH)
            self._socket.bind(f"/proc/self/fd/{directory}/{self._path.name}")
            os.close(directory)
        else:
            self._socket.bind(str(self._path))
        self.arena.person.own(self._path)
        if self._socket.type != socket.SOCK_DGRAM:
            self._socket.listen(8)

    def facts(self) -> Facts:
        return {"path": str(self._path)}

    def started(self) -> None:
        if self.options.get("late"):
            self._listen()
        elif self.options.get("restarted"):
            self.close()
            self._path.unlink()
            self._listen()


class Abstract(_Listening):
    """A daemon's socket without a place in the file system."""

    def prepare(self) -> None:
        self._address = f"kaa-escape-{secrets.token_hex(8)}"
        self._socket = socket.socket(socket.AF_UNIX, _KINDS[self.option("kind")])
        self._socket.bind("\0" + self._address)
        if self._socket.type != socket.SOCK_DGRAM:
            self._socket.listen(8)

    def facts(self) -> Facts:
        return {"address": self._address}


class InterfaceAddress(Canary):
    """The addresses of the host's loopback."""

    def prepare(self) -> None:
        self._address = f"198.51.100.{1 + secrets.randbelow(254)}"  # for documentation, RFC 5737

    def facts(self) -> Facts:
        return {"address": self._address}

    def harm(self, ending: Ending) -> str:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            try:
                sock.bind((self._address, 0))
            except OSError:
                return ""
        return f"this host is {self._address} now"

    def close(self) -> None:
        delete_address, request = 21, 1
        local = struct.pack("HH4s", 8, 2, socket.inet_aton(self._address))
        body = struct.pack("BBBBI", socket.AF_INET, 32, 0, 254, 1) + local
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
            sock.send(struct.pack("IHHII", 16 + len(body), delete_address, request, 1, 0) + body)


def arrived(sock: socket.socket) -> bool:
    """Whether anything has come to a socket: a connection, or a datagram."""
    sock.setblocking(False)
    try:
        if sock.type == socket.SOCK_DGRAM:
            sock.recv(4096)
        else:
            sock.accept()[0].close()
    except BlockingIOError:
        return False
    return True
