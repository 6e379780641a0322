"""Slots as their users see them: processes of the hands that wait for work, taken and given back, and their answers."""

import asyncio
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec

from kaa.hands import wire
from kaa.workspace.channel import Channel, parse
from kaa.workspace.protocol import ContentChangedError, WorkspaceUnavailableError

if TYPE_CHECKING:
    from kaa.hands.confinement.failed_connections import FailedConnection
    from kaa.workspace.hands import Hands

_PIPE_BYTES = 64 * 1024  # all that a pipe holds, pipe(7)
SlotKind: TypeAlias = Literal["files", "command", "background", "checkpoints", "parser", "guard"]
_PATIENCE_SECONDS = 2.0
_CLOSED = "The workspace is closed."


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
    def expect(self, kind: SlotKind) -> None:
        """A slot of this kind will be taken soon: have it made, without waiting for it."""

    async def take(self, kind: SlotKind) -> Slot:
        """A slot of one's own.

        Raises:
            WorkspaceUnavailableError: there is none to be had.
        """

    def give_back(self, kind: SlotKind, slot: Slot) -> None:
        """Give back a slot that can be used again."""

    def gives(self, slot: Slot) -> bool:
        """Whether a slot taken before is of the kind that would be given now."""


class _Failure(msgspec.Struct, frozen=True):
    """What a slot answers if it cannot do something."""

    error: str | None = None
    errno: int = 0
    changed: bool = False


class SlotRequests:
    """A slot as its users see it: a call that returns an answer or raises an `OSError`."""

    def __init__(self, slots: Slots, kind: SlotKind) -> None:
        self._slots = slots
        self._kind: SlotKind = kind
        self._slot: Slot | None = None
        self._turn = asyncio.Lock()
        self._answer_due = False
        self._closed = False

    async def call(self, path: str, request: Mapping[str, object], body: bytes = b"") -> wire.Frame:
        """Send a request and wait for its answer. Requests are served in the order of the calls.

        A cancelled request may or may not have been carried out; never half.

        Args:
            path: the path as the caller gave it, for error messages.
            request: `op` and its arguments.
            body: bytes to write.

        Raises:
            OSError: the operating system refused.
            WorkspaceUnavailableError: the slot died meanwhile.
        """
        async with self._turn:
            await self._settle()
            slot = await self._living_slot()
            done = False
            try:
                await slot.channel.send(request, body)
                self._answer_due = True
                frame = await slot.channel.receive()
                self._answer_due = False
                done = True
            finally:
                if not done and not self._answer_due:
                    self._hang_up()  # a request was sent in part, or not at all
        failure = parse(frame.header, _Failure)
        if failure.changed:
            raise ContentChangedError(failure.errno, failure.error, path)
        if failure.error is not None:
            raise OSError(failure.errno, failure.error, path)
        return frame

    def expect(self) -> None:
        """A request follows soon: have the slot made, without waiting for it."""
        if self._slot is None:
            self._slots.expect(self._kind)

    def close(self) -> None:
        """Hang up, for good."""
        self._closed = True
        self._hang_up()

    async def _settle(self) -> None:
        """Wait for the answer to a request that was cancelled; if it does not come, the slot is replaced."""
        if not self._answer_due or self._slot is None:
            return
        slot = self._slot
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await slot.channel.receive()
        except OSError:  # TimeoutError is one too
            slot.kill()
            self._hang_up()
        self._answer_due = False

    async def _living_slot(self) -> Slot:
        if self._slot is not None and not (self._slot.channel.is_alive() and self._slots.gives(self._slot)):
            self._hang_up()
        if self._slot is None:
            slot = await self._slots.take(self._kind)
            if self._closed:  # meanwhile
                slot.close()
                raise WorkspaceUnavailableError(_CLOSED)
            self._slot = slot
        return self._slot

    def _hang_up(self) -> None:
        self._answer_due = False
        if self._slot is not None:
            self._slot.channel.close()
            self._slot = None
