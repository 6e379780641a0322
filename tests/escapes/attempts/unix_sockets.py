"""Talking to a daemon of the user's by a unix socket: docker, D-Bus, tmux and ssh-agent act for whoever connects."""

import os
import socket
import struct

from tests.escapes.attempts.kit import Given, attempt
from tests.escapes.attempts.uring import Ring


@attempt("unix")
def connect(given: Given) -> None:
    """Connect to a daemon."""
    _say(given.path)


@attempt("unix", kind="datagram")
def send_datagram(given: Given) -> None:
    """Send a datagram to a daemon."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"harm", given.path)


@attempt("unix", kind="packets")
def connect_for_packets(given: Given) -> None:
    """Connect to a daemon that takes packets."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.connect(given.path)
        sock.send(b"harm")


@attempt("unix", base="/tmp")
def connect_in_tmp(given: Given) -> None:
    """Connect to a daemon whose socket is in /tmp, as tmux's is."""
    _say(given.path)


@attempt("unix", "root", base="/run")
def connect_in_run(given: Given) -> None:
    """Connect to a daemon whose socket is in /run, as docker's is."""
    _say(given.path)


@attempt("unix", base="home")
def connect_in_home(given: Given) -> None:
    """Connect to a daemon whose socket is in the home, as gpg-agent's is."""
    _say(given.path)


@attempt("unix", late=True)
def connect_to_later_daemon(given: Given) -> None:
    """Connect to a daemon that was started after the sandbox."""
    _say(given.path)


@attempt("unix", late=True, base="home")
def connect_to_later_daemon_in_home(given: Given) -> None:
    """Connect to a daemon of the home that was started after the sandbox."""
    _say(given.path)


@attempt("unix", late=True, kind="datagram")
def send_to_later_daemon(given: Given) -> None:
    """Send a datagram to a daemon that was started after the sandbox."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"harm", given.path)


@attempt("unix", base="kaa", late=True)
def connect_to_kaa(given: Given) -> None:
    """Connect to a kaa of the user's, which lets other terminals of the user steer it."""
    _say(given.path)


@attempt("unix", base="project-later", late=True)
def connect_to_daemon_in_project(given: Given) -> None:
    """Connect to a daemon of the host's that listens in the project."""
    _say(given.path)


@attempt("unix", by_descriptor=True)
def connect_to_daemon_of_unknown_name(given: Given) -> None:
    """Connect to a daemon that bound its socket by a relative name: the kernel's list does not say where it is."""
    _say(given.path)


@attempt("unix", restarted=True)
def connect_to_restarted_daemon(given: Given) -> None:
    """Connect to a daemon that was started again after the sandbox was made."""
    _say(given.path)


@attempt("unix")
def through_symlink(given: Given) -> None:
    """Connect by a symbolic link of the project's."""
    os.symlink(given.path, f"{given.project}/daemon")
    _say(f"{given.project}/daemon")


@attempt("unix")
def through_descriptor(given: Given) -> None:
    """Connect by a descriptor of the socket's name."""
    _say(f"/proc/self/fd/{os.open(given.path, os.O_PATH)}")


@attempt("unix")
def through_hard_link(given: Given) -> None:
    """Connect by a hard link in the project."""
    os.link(given.path, f"{given.project}/daemon-linked")
    _say(f"{given.project}/daemon-linked")


@attempt("unix")
def through_directory(given: Given) -> None:
    """Connect by a relative name."""
    os.chdir(os.path.dirname(given.path))
    _say(os.path.basename(given.path))


@attempt("unix", "io_uring")
def by_io_uring(given: Given) -> None:
    """Connect by io_uring."""
    with socket.socket(socket.AF_UNIX) as sock, Ring() as ring:
        ring.connect(sock.fileno(), struct.pack("H", socket.AF_UNIX) + given.path.encode() + b"\0")
        sock.send(b"harm")


@attempt("unix", kind="datagram")
def from_socket_pair(given: Given) -> None:
    """Send by one end of a pair, whose making is allowed where that of sockets may not be."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        theirs.connect(given.path)
        theirs.send(b"harm")


@attempt("abstract")
def connect_to_abstract(given: Given) -> None:
    """Connect to a daemon whose socket has no place in the file system."""
    _say("\0" + given.address)


@attempt("abstract", kind="datagram")
def send_to_abstract(given: Given) -> None:
    """Send a datagram to such a daemon."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"harm", "\0" + given.address)


def _say(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(1.5)
        sock.connect(path)
        sock.send(b"harm")
