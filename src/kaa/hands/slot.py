"""A slot: a forked process with a socket to the brain that does one kind of work."""

import socket

from kaa.hands import commands
from kaa.hands.settings import Settings
from kaa.hands.wire import Connection, WireError


def run(kind: str, sock: socket.socket, settings: Settings) -> None:
    """Work as a slot of this kind until the work is done or the brain is gone.

    The order is part of the design: load code, then confine, then read the first request. Nothing the brain or the
    project says is looked at before the kernel holds this process.
    """
    match kind:
        case "files":
            from kaa.hands import files  # not before the fork: hashing takes memory that command slots have no use for

            serve = files.serve
        case "command":
            serve = commands.serve
        case _:
            raise WireError(f"there is no slot for {kind!r}")
    # The slot confines itself here (namespaces, Landlock, seccomp), before its first operation.
    serve(Connection(sock), settings)
