"""The brain's end of the guard: says when something of kaa's may run, and asks what was planted meanwhile."""

import asyncio

import msgspec

from kaa.workspace.blocked import Blocked, BlockedKind
from kaa.workspace.channel import parse
from kaa.workspace.hands import Slot

_PATIENCE_SECONDS = 5.0


class Finding(msgspec.Struct, frozen=True):
    """Something that appeared or changed and was defused: `path` became `kept_as`."""

    path: str
    kept_as: str
    why: str
    kind: BlockedKind = "protected"

    @property
    def blocked(self) -> Blocked:
        """The same as something that was blocked."""
        return Blocked(self.kind, self.path)


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
        self._minds = False

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
        await self._tell()

    async def end(self) -> tuple[Finding, ...]:
        """Something that `begin` announced is over: what was found since the last time.

        Raises:
            WorkspaceUnavailableError: the guard is gone.
            TimeoutError: it does not answer.
        """
        self._confined -= 1
        return await self._tell() or await self._ask("check")

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
        self._slot.channel.close()

    async def _tell(self) -> tuple[Finding, ...]:
        """Have the guard mind what it should mind now, if that has changed; what it found until then."""
        minds = self._confined > 0 and self._permitted == 0
        if minds == self._minds:
            return ()
        self._minds = minds
        return await self._ask("accept" if minds else "expect")

    async def _ask(self, operation: str) -> tuple[Finding, ...]:
        async with self._turn:
            self._answers_due += 1
            await self._slot.channel.send({"op": operation, "path": self._root})
            found: tuple[Finding, ...] = ()
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while self._answers_due:  # those to questions that were cancelled too
                    frame = await self._slot.channel.receive()
                    self._answers_due -= 1
                    found += parse(frame.header, _Answer).findings
            return found
