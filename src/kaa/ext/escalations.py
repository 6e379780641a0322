"""What a yes to a tool call changes besides letting it run. Light on purpose: every conversation imports this."""

from typing import Final, Literal, TypeAlias

import msgspec

# What a yes changes beyond this call being run: the call leaves the sandbox; and in this session a host, a port or a
# unix socket of the user's machine may be reached, or its `whole network` where hosts cannot be told apart; a directory
# may be written, a path may be read. Of `file`, kaa itself writes the content that the question shows, once.
EscalationKind: TypeAlias = Literal[
    "outside", "network", "whole network", "port", "socket", "directory", "read", "file"
]

_ROOT_SOCKETS = frozenset({"docker.sock", "containerd.sock", "podman.sock", "crio.sock", "lxd.socket", "unix.socket"})


class Escalation(msgspec.Struct, rename="camel", frozen=True):
    """A limit of the sandbox that a yes removes. `what`: the host, the port or the path."""

    kind: EscalationKind
    what: str = ""

    @property
    def text(self) -> str:
        """What a yes does, for people."""
        match self.kind:
            case "outside":
                return "runs this call outside the sandbox"
            case "network":
                return f"allows network access to {self.what}"
            case "whole network":
                return (
                    "lets commands use this machine's whole network for this session, also its private part: the"
                    " sandbox cannot permit single hosts on this machine"
                )
            case "port":
                return f"lets commands reach localhost:{self.what} of this machine for this session"
            case "socket":
                return f"lets commands reach the unix socket {self.what} for this session"
            case "directory":
                return f"allows writing in {self.what} for this session"
            case "read":
                return f"allows reading {self.what} for this session"
            case "file":
                return "writes exactly what is shown below, once"

    @property
    def warning(self) -> str | None:
        """What the person should know about what is permitted; None if there is nothing."""
        if self.kind != "socket":
            return None
        if self.what.rpartition("/")[2] in _ROOT_SOCKETS:
            return f"who can use {self.what} can do everything on this machine, as root"
        return f"the program at {self.what} acts with your rights for every command that connects to it"


OUTSIDE: Final = Escalation("outside")
WHOLE_NETWORK: Final = Escalation("whole network")
