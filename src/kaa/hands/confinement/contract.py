"""What the fork-server and its slots ask of a tier, whichever it is."""

import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kaa.hands.below import RootDirectory
    from kaa.hands.confinement.view_watch import ViewWatch
    from kaa.hands.confinement.write_calls import WriteCalls


class ConfinementError(Exception):
    """The tier cannot be held. The message is a reason that a person reads."""


class ViewChangedError(Exception):
    """Files were replaced while the walls were built. No reason for a weaker tier: another try can succeed."""


class Confinement(ABC):
    """The walls around slots. Made once by the fork-server; slots enclose themselves.

    What a tier does not define itself is that of slots that are plain forks: nothing is mounted or held for them.

    Attributes:
        features: what holds and how far, for `kaa doctor`.
        warnings: sentences for the user about what this tier cannot do here.
        owns_process_namespace: whether a slot is the first process of a process namespace of its own, so that signals
            to all processes reach exactly what its command started.
        confines_signals: whether nothing in a slot can signal processes outside.
        notes_calls: whether it knows when slots for background commands may write.
        helpers: processes of its own among the fork-server's children, which are no leftovers of slots.
    """

    features: dict[str, str]
    warnings: list[str]
    owns_process_namespace = False
    confines_signals = False
    notes_calls = False
    helpers: frozenset[int] = frozenset()

    def fork(self) -> int:
        """Fork a slot. Like `os.fork`: returns 0 in the child."""
        return os.fork()

    @property
    def write_calls(self) -> "WriteCalls | None":
        """What is noted of slots for background commands; None where `notes_calls` says that the tier cannot."""
        return None

    @abstractmethod
    def enclose(self, reports: int | None = None, place: int | None = None, needed: int | None = None) -> None:
        """Confine the calling slot for good. Its code must be loaded and its first request unread.

        Args:
            reports: a pipe for connections that fail (`failed_connections`), where the tier knows of them.
            place: of the slot in `write_calls`, if its calls are to be noted.
            needed: a pipe: once nobody reads it any more, the slot may connect to nothing. Only used by tier `full`.

        Raises:
            OSError: the kernel refused a step; the slot must end.
        """

    def catch_up(self) -> None:  # noqa: B027 most tiers do nothing
        """In the fork-server: hide what appeared on the host since, from running slots too. `fork` does it as well.

        Raises:
            OSError: something cannot be hidden.
        """

    def hold(self) -> None:  # noqa: B027 most tiers do nothing
        """In the fork-server: hold and hide what other programs replaced in writable directories, in running slots too.

        `catch_up` does it as well, but takes longer.

        Raises:
            OSError: something cannot be hidden.
        """

    def show(self) -> None:  # noqa: B027 most tiers do nothing
        """In the fork-server: show what the user has in /tmp by now, and new in the home, in running slots too.

        Raises:
            OSError: something cannot be hidden.
        """

    def watch_view(self) -> "ViewWatch | None":
        """In the fork-server: what notices when `catch_up` has something to do; None where nothing can be hidden."""
        return None

    def release(self) -> None:  # noqa: B027 most tiers do nothing
        """In the fork-server: let go of the protected names that `hold` holds, until it is called again."""

    def beneath(self, directories: Sequence[str]) -> "Sequence[RootDirectory]":
        """In a slot that is not enclosed yet: return those of the directories that it has without mounts in them."""
        return ()

    def namespaces(self) -> Sequence[int]:
        """Descriptors of the namespaces that later hands join, to be closed by the caller."""
        return ()

    def proxy_listener(self) -> socket.socket | None:
        """A listening TCP socket on the loopback address of slots, for the brain's proxy, if they have one."""
        return None

    def inside_socket(self, family: int) -> socket.socket:
        """A stream socket in the network of the slots, neither bound nor connected."""
        return socket.socket(family, socket.SOCK_STREAM)


class Unconfined(Confinement):
    """No walls: for calls that the user approved to run outside, and for full access."""

    def __init__(self) -> None:
        self.features = {}
        self.warnings = []

    def enclose(self, reports: int | None = None, place: int | None = None, needed: int | None = None) -> None:
        """Nothing is enclosed."""
