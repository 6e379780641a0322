"""A slot: a forked process with a socket to the brain that does one kind of work."""

import contextlib
import gc
import os
import socket

from kaa.hands import commands, files, processes
from kaa.hands.confinement.contract import Confinement
from kaa.hands.connection import WireConnection
from kaa.hands.policy import Policy
from kaa.hands.settings import HandsSettings
from kaa.hands.wire import WireError


def run(
    kind: str,
    sock: socket.socket,
    settings: HandsSettings,
    policy: Policy,
    confinement: Confinement,
    reports: int | None,
    over: int,
    place: int | None = None,
) -> None:
    """Work as a slot of this kind until the work is done or the brain is gone.

    The order is part of the design: load code, then confine, then read the first request. Nothing the brain or the
    project says is looked at before the kernel holds this process.

    Args:
        policy: what it may do.
        reports: the end of a pipe for connections that fail, of slots for commands.
        over: readable when the brain is gone and no command is left.
        place: where its calls that can create and open files are noted, of slots for commands in the background.
    """
    connection = WireConnection(sock)
    match kind:
        case "command" | "background":
            processes.restore_open_files()
            confinement.enclose(reports, place)
            if reports is not None:
                os.close(reports)  # only who confines us may write there
            commands.serve(connection, settings, own_namespace=confinement.owns_process_namespace)
        case "files":
            confinement.enclose()
            files.serve(connection, settings)
        case "checkpoints":
            from kaa.hands.checkpoints import (
                service as checkpoints,
            )  # not before the fork: other slots have no use for it

            confinement.enclose()
            checkpoints.serve(connection, settings, policy)
        case "parser":
            from kaa.hands.parsing import service as parsing  # not before the fork, as above

            confinement.enclose()
            parsing.serve(connection)
        case "guard":
            from kaa.hands.guard import service  # not before the fork, as above

            beneath = confinement.beneath(policy.writable)
            confinement.enclose()
            service.serve(connection, settings, policy, over, beneath, confinement.write_calls)
        case _:
            raise WireError(f"there is no slot for {kind!r}")


def serve_files(sock: socket.socket, settings: HandsSettings) -> None:
    """Work as a slot for files that is enclosed already.

    All other descriptors are closed: this process was forked while the fork-server made its walls.
    """
    gc.freeze()  # what would be collected later may own descriptors by numbers that mean others then
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != sock.fileno():
            with contextlib.suppress(OSError):  # that of the list itself
                os.close(int(name))
    files.serve(WireConnection(sock), settings)
