"""Serves a guard in a process of its own, as an ordinary user and with few open files, whatever the test runs as."""

import os
import resource
import socket
import sys

from kaa.hands.connection import WireConnection
from kaa.hands.guard import serve
from kaa.hands.policy import Policy
from kaa.hands.settings import HandsSettings

OPEN_FILES = 256


def main(descriptor: int, root: str, user: int, watches: bool) -> None:
    """Guard a directory for the brain at the other end of a socket."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    if not watches:
        from kaa.hands.guard import service

        service._inotify = lambda: None
    connection = WireConnection(socket.socket(fileno=descriptor))
    serve(connection, HandsSettings(root, "/"), Policy("landlock", "workspace-write", (root,), git_writable=True))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] == "told by inotify")
