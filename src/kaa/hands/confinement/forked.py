"""Slots without process namespaces of their own: plain forks that restrict themselves."""

import os
import socket
from collections.abc import Sequence

from kaa.hands.confinement.restrictions import Restrictions


class ForkTier:
    """What the tiers `bwrap` and `landlock` have in common."""

    owns_process_namespace = False
    helpers: frozenset[int] = frozenset()

    def __init__(
        self,
        restrictions: Restrictions,
        features: dict[str, str],
        warnings: list[str],
        own_loopback: bool,
        confines_signals: bool,
    ) -> None:
        self._restrictions = restrictions
        self._own_loopback = own_loopback
        self.confines_signals = confines_signals
        self.features = features
        self.warnings = warnings

    def fork(self) -> int:
        """Fork a slot."""
        return os.fork()

    def enclose(self, reports: int | None = None) -> None:
        """Confine the calling slot."""
        self._restrictions.impose()

    def catch_up(self) -> None:
        """Landlock hides what comes later by itself; bubblewrap's view is what it was made."""

    def hold(self) -> None:
        """Landlock holds no names, and nobody can mount in bubblewrap's view: the guard has to do."""

    def show(self) -> None:
        """Landlock shows what may be seen by itself; bubblewrap's view is what it was made."""

    def release(self) -> None:
        """Nothing is held by this."""

    def close(self) -> None:
        """There is nothing on the host to remove."""

    def namespaces(self) -> Sequence[int]:
        """None that others could join."""
        return ()

    def proxy_listener(self) -> socket.socket | None:
        """On the loopback address, if it is not the host's."""
        return socket.create_server(("127.0.0.1", 0)) if self._own_loopback else None

    def inside_socket(self, family: int) -> socket.socket:
        """In the network of the slots."""
        return socket.socket(family, socket.SOCK_STREAM)
