"""Slots as their users see them: processes of the hands that wait for work, taken and given back."""

import io
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec

from kaa.workspace.channel import Channel
from kaa.workspace.protocol import WorkspaceUnavailableError

if TYPE_CHECKING:
    from kaa.hands.confinement.failed_connections import FailedConnection
    from kaa.workspace.hands import Hands  # who gives them out knows what they are

_PIPE_BYTES = 64 * 1024  # all that a pipe holds, pipe(7)

SlotKind: TypeAlias = Literal["files", "command", "background", "checkpoints", "parser", "guard"]


class GuardLostError(WorkspaceUnavailableError):
    """The guard is gone, or so busy that it does not answer. Nothing may run without it."""


class Slot(msgspec.Struct, frozen=True):
    """A process of the hands that waits for work. `reports`: of connections that fail, if it runs commands."""

    pid: int
    channel: Channel
    hands: "Hands"
    reports: io.FileIO | None = None

    def take_failed_connections(self) -> "tuple[FailedConnection, ...]":
        """Where what it ran could not connect to since the last time."""
        data = self.reports.read(_PIPE_BYTES) if self.reports is not None else None
        if not data:
            return ()
        from kaa.hands.confinement.failed_connections import parse_reports  # lazy: most commands connect to nothing

        return parse_reports(data)

    def close(self) -> None:
        """Hang up: it ends, with all that it runs."""
        self.channel.close()
        if self.reports is not None:
            self.reports.close()

    def kill(self) -> None:
        """Kill it because it does not answer."""
        self.hands.kill(self.pid)


class Slots(Protocol):
    """Gives out slots."""

    def expect(self, kind: SlotKind) -> None:
        """A slot of this kind will be taken soon: have it made, without waiting for it."""
        ...

    async def take(self, kind: SlotKind) -> Slot:
        """A slot of one's own.

        Raises:
            WorkspaceUnavailableError: there is none to be had.
        """
        ...

    def give_back(self, kind: SlotKind, slot: Slot) -> None:
        """Give back a slot that can be used again."""
        ...

    def gives(self, slot: Slot) -> bool:
        """Whether a slot taken before is of the kind that would be given now."""
        ...
