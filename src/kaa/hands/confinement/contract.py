"""What the fork-server and its slots ask of a tier, whichever it is."""

import os
import socket
from collections.abc import Sequence
from typing import Protocol


class ConfinementError(Exception):
    """The tier cannot be held. The message is a reason that a person reads."""


class Confinement(Protocol):
    """The walls around slots. Made once by the fork-server; slots enclose themselves.

    Attributes:
        features: what holds and how far, for `kaa doctor`.
        warnings: sentences for the user about what this tier cannot do here.
        owns_process_namespace: whether a slot is the first process of a process namespace of its own, so that signals
            to all processes reach exactly what its command started.
        confines_signals: whether nothing in a slot can signal processes outside.
        helpers: processes of its own among the fork-server's children, which are no leftovers of slots.
    """

    features: dict[str, str]
    warnings: list[str]
    owns_process_namespace: bool
    confines_signals: bool
    helpers: frozenset[int]

    def fork(self) -> int:
        """Fork a slot. Like `os.fork`: returns 0 in the child."""
        ...

    def enclose(self, reports: int | None = None) -> None:
        """Confine the calling slot for good. Its code must be loaded and its first request unread.

        Args:
            reports: a pipe for connections that fail (`failed_connections`), where the tier knows of them.

        Raises:
            OSError: the kernel refused a step; the slot must end.
        """
        ...

    def catch_up(self) -> None:
        """In the fork-server: hide what appeared on the host since, from running slots too. `fork` does it as well.

        Raises:
            OSError: something cannot be hidden.
        """
        ...

    def hold(self) -> None:
        """In the fork-server: hold and hide what other programs replaced in writable directories, in running slots too.

        `catch_up` does it as well, but takes longer.

        Raises:
            OSError: something cannot be hidden.
        """
        ...

    def show(self) -> None:
        """In the fork-server: show what the user has in /tmp by now, and new in the home, in running slots too.

        Raises:
            OSError: something cannot be hidden.
        """
        ...

    def release(self) -> None:
        """In the fork-server: let go of the protected names that `hold` holds, until it is called again."""
        ...

    def close(self) -> None:
        """In the fork-server, once no slot is left: remove from the host what was made for the walls."""
        ...

    def namespaces(self) -> Sequence[int]:
        """Descriptors of the namespaces that later hands join, to be closed by the caller."""
        ...

    def proxy_listener(self) -> socket.socket | None:
        """A listening TCP socket on the loopback address of slots, for the brain's proxy, if they have one."""
        ...

    def inside_socket(self, family: int) -> socket.socket:
        """A stream socket in the network of the slots, neither bound nor connected."""
        ...


class Unconfined:
    """No walls: for calls that the user approved to run outside, and for full access."""

    owns_process_namespace = False
    confines_signals = False
    helpers: frozenset[int] = frozenset()

    def __init__(self) -> None:
        self.features: dict[str, str] = {}
        self.warnings: list[str] = []

    def fork(self) -> int:
        """Fork a slot."""
        return os.fork()

    def enclose(self, reports: int | None = None) -> None:
        """Nothing is enclosed."""

    def catch_up(self) -> None:
        """Nothing is hidden."""

    def hold(self) -> None:
        """Nothing is held."""

    def show(self) -> None:
        """Everything is seen."""

    def release(self) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing was made."""

    def namespaces(self) -> Sequence[int]:
        """There are none."""
        return ()

    def proxy_listener(self) -> socket.socket | None:
        """The network is the host's."""
        return None

    def inside_socket(self, family: int) -> socket.socket:
        """A socket of the host."""
        return socket.socket(family, socket.SOCK_STREAM)
