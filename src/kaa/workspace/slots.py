"""Slots as their users see them: processes of the hands that wait for work, taken and given back."""

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec

from kaa.workspace.channel import Channel
from kaa.workspace.protocol import WorkspaceUnavailableError

if TYPE_CHECKING:
    from kaa.workspace.hands import Hands  # who gives them out knows what they are

SlotKind: TypeAlias = Literal["files", "command", "checkpoints", "guard"]


class GuardLostError(WorkspaceUnavailableError):
    """The guard is gone, or so busy that it does not answer. Nothing may run without it."""


class Slot(msgspec.Struct, frozen=True):
    """A process of the hands that waits for work."""

    pid: int
    channel: Channel
    hands: "Hands"

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
