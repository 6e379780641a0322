"""Connections of a slot that failed, as the connect broker tells them to the brain: only it knows where they led.

Each command slot has a pipe of its own, whose writing end only the broker keeps, so the brain knows to which command a
report belongs, and a command that floods its pipe loses its own reports only. Commands choose what is reported: paths
are hostile names, and a report says only that somebody asked for one.
"""

import errno
import json
import os
import socket
import struct
from typing import NamedTuple

_MOST_BYTES = 4096  # PIPE_BUF: what is written at once, whole or not at all
_MOST_REPORTS = 64  # of one command
_NOBODY_THERE = frozenset({errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH})
_TCP_CLOSE = 7  # net/tcp_states.h
_INET, _INET6 = struct.Struct("!2xH4s"), struct.Struct("!2xHI16s")  # struct sockaddr_in, sockaddr_in6
_STAND_IN, _MOST_OF_PATH = b"\0kaa:", 100  # sun_path has 108 bytes


class FailedConnection(NamedTuple):
    """Where a command could not connect to: the path of a unix socket, or an address and a TCP port."""

    path: str = ""
    address: str = ""
    port: int = 0


class FailureReporter:
    """The broker's end.

    Args:
        pipe: for writing; it does not block. Stays the caller's.
    """

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def of_path(self, path: str) -> None:
        """Nobody of the sandbox listens at a path."""
        self._write(FailedConnection(path=path))

    def of_socket(self, sock: socket.socket, address: bytes, error: int) -> None:
        """A connection to an internet address failed."""
        if sock.type != socket.SOCK_STREAM or not (error in _NOBODY_THERE or _is_refused_meanwhile(sock, error)):
            return
        if failed := _parse_address(sock, address):
            self._write(failed)

    def _write(self, failed: FailedConnection) -> None:
        line = json.dumps(failed).encode("ascii") + b"\n"
        if len(line) <= _MOST_BYTES:
            try:
                os.write(self._pipe, line)
            except OSError:  # it is full, or the brain does not listen
                return


def parse_reports(data: bytes) -> tuple["FailedConnection", ...]:
    """What was reported, each once; of very many the first ones."""
    taken: dict[FailedConnection, None] = {}
    for line in data.splitlines():
        if len(taken) < _MOST_REPORTS:
            taken[FailedConnection(*json.loads(line))] = None
    return tuple(taken)


def stand_in(path: str) -> bytes:
    """The abstract name, in the sandbox's network, at which the brain serves a socket of the host with this path.

    Any command could listen there first, and would then get connections of commands only.
    """
    return _STAND_IN + os.fsencode(path)[-_MOST_OF_PATH:]


def _is_refused_meanwhile(sock: socket.socket, error: int) -> bool:
    """Whether a caller that does not wait will find its connection refused: on loopback that is known by now."""
    return error == errno.EINPROGRESS and sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _TCP_CLOSE


def _parse_address(sock: socket.socket, address: bytes) -> FailedConnection | None:
    """An address as `connect` takes it."""
    match sock.family:
        case socket.AF_INET if len(address) >= _INET.size:
            port, host = _INET.unpack_from(address)
        case socket.AF_INET6 if len(address) >= _INET6.size:
            port, _, host = _INET6.unpack_from(address)
        case _:
            return None
    return FailedConnection(address=socket.inet_ntop(sock.family, host), port=port)
