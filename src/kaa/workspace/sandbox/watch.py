"""The brain's end of the guard: says when something of kaa's may run, and asks what was planted meanwhile."""

import asyncio
import contextlib
import select

import msgspec

from kaa.hands import wire
from kaa.workspace.blocked import Blocked, BlockedKind
from kaa.workspace.channel import parse
from kaa.workspace.hands import Slot
from kaa.workspace.protocol import WorkspaceUnavailableError

_PATIENCE_SECONDS = 5.0
# The user's editor may do what it likes while nothing of kaa's runs; but tool calls come close together.
_IDLE_SECONDS = 1.0


class Finding(msgspec.Struct, frozen=True):
    """Something that appeared or changed and was defused: `path` became `kept_as`."""

    path: str
    kept_as: str
    why: str
    kind: BlockedKind = "protected"

    @property
    def blocked(self) -> Blocked:
        """The same as something that was blocked."""
        return Blocked(self.kind, self.path, self.kept_as)


class _Answer(msgspec.Struct, frozen=True):
    findings: tuple[Finding, ...] = ()
    more: int = 0


class Watch:
    """The guard's slot.

    Args:
        slot: of kind `guard`.
        root: the project, in which the user may do anything while nothing of kaa's runs.
    """

    def __init__(self, slot: Slot, root: str) -> None:
        self._slot = slot
        self._root = root
        self._turn = asyncio.Lock()
        self._answers_due = 0
        self._confined = 0
        self._permitted = 0
        self._minds: bool | None = None  # None: it has not been spoken to, and minds everything
        self._unclaimed: tuple[Finding, ...] = ()  # found when something else was asked
        self._signs: list[int] | None = None  # descriptors; none where the guard cannot give signs
        self._poll = select.poll()
        self._idle: asyncio.TimerHandle | None = None
        self._relaxing: asyncio.Task[None] | None = None

    def is_of(self, hands: object) -> bool:
        """Whether it belongs to these hands."""
        return self._slot.hands is hands

    async def begin(self) -> None:
        """From now on whatever appears may come from a command. Returns when the guard knows it.

        Raises:
            WorkspaceUnavailableError: the guard is gone.
            TimeoutError: it does not answer.
        """
        self._confined += 1
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if not self._slot.channel.is_alive():
            raise WorkspaceUnavailableError("The guard of the project is gone.")
        if self._signs is None:  # its first answer says too that it has noted what was there before
            await self._ask("signs")
            self._minds = True
        await self._tell()

    async def end(self) -> tuple[Finding, ...]:
        """Something that `begin` announced is over: what was found since the last time.

        Raises:
            WorkspaceUnavailableError: the guard is gone.
            TimeoutError: it does not answer.
        """
        self._confined -= 1
        if self._confined == 0:
            self._idle = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._relax)
        return await self._ask("check") if self._has_signs() else ()

    async def begin_permitted(self) -> None:
        """From now on something may appear that the user permitted. Raises as `begin`."""
        self._permitted += 1
        await self._tell()

    async def end_permitted(self) -> None:
        """Something that `begin_permitted` announced is over. Raises as `begin`."""
        self._permitted -= 1
        await self._tell()

    def close(self) -> None:
        """Let the guard go."""
        if self._idle is not None:
            self._idle.cancel()
        if self._relaxing is not None:
            self._relaxing.cancel()
        wire.close_all(self._signs or ())
        self._signs = []
        self._poll = select.poll()
        self._slot.channel.close()

    def _has_signs(self) -> bool:
        """Whether a check could find anything."""
        return not self._signs or bool(self._unclaimed) or bool(self._poll.poll(0))

    def _relax(self) -> None:
        self._relaxing = asyncio.ensure_future(self._tell_quietly())

    async def _tell_quietly(self) -> None:
        with contextlib.suppress(WorkspaceUnavailableError, TimeoutError):  # whoever begins next finds out
            await self._tell()

    async def _tell(self) -> None:
        """Have the guard mind what it should mind now, if that has changed."""
        minds = self._confined > 0 and self._permitted == 0
        if minds != self._minds and self._signs is not None:
            self._minds = minds
            found = await self._ask("accept" if minds else "expect")
            self._unclaimed += found

    async def _ask(self, operation: str) -> tuple[Finding, ...]:
        async with self._turn:
            self._answers_due += 1
            await self._slot.channel.send({"op": operation, "path": self._root})
            found, self._unclaimed = self._unclaimed, ()
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while self._answers_due:  # those to questions that were cancelled too
                    found += await self._answer()
            return found

    async def _answer(self) -> tuple[Finding, ...]:
        frame, descriptors = await self._slot.channel.receive_with_descriptors()
        self._answers_due -= 1
        if self._signs is None:
            self._signs = descriptors
            for descriptor in descriptors:
                self._poll.register(descriptor, select.POLLIN)
        else:
            wire.close_all(descriptors)
        return parse(frame.header, _Answer).findings
