"""Slots without process namespaces of their own: plain forks that restrict themselves."""

import socket

from kaa.hands.confinement.contract import Confinement
from kaa.hands.confinement.restrictions import Restrictions


class ForkTier(Confinement):
    """What the tiers `bwrap` and `landlock` have in common.

    Landlock hides what comes later by itself, and holds no names; bubblewrap's view is what it was made, and nobody can
    mount in it: for protected names the guard has to do.
    """

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

    def enclose(self, reports: int | None = None, place: int | None = None, needed: int | None = None) -> None:
        self._restrictions.impose()

    def proxy_listener(self) -> socket.socket | None:
        """On the loopback address, if it is not the host's."""
        return socket.create_server(("127.0.0.1", 0)) if self._own_loopback else None
