"""A slot: a forked process with a socket to the brain that does one kind of work."""

import socket

from kaa.hands.settings import Settings
from kaa.hands.wire import Connection, WireError


def run(kind: str, sock: socket.socket, settings: Settings) -> None:
    """Work as a slot of this kind until the work is done or the brain is gone.

    The order is part of the design: load code, then confine, then read the first request. Nothing the brain or the
    project says is looked at before the kernel holds this process.
    """
    match kind:
        case "files":
            from kaa.hands.files import serve  # hashing takes memory that command slots have no use for
        case "command":
            from kaa.hands.commands import serve  # loaded already by the server; here for symmetry
        case _:
            raise WireError(f"there is no slot for {kind!r}")
    # The slot confines itself here (namespaces, Landlock, seccomp), before its first operation.
    serve(Connection(sock), settings)
