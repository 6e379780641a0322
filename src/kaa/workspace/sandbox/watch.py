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
        self._running = 0
        self._noted = False

    def is_of(self, hands: object) -> bool:
        """Whether it belongs to these hands."""
        return self._slot.hands is hands

    async def begin(self) -> None:
        """From now on whatever appears may come from a command. Returns when the guard knows it.

        Raises:
            WorkspaceUnavailableError: the guard is gone.
            TimeoutError: it does not answer.
        """
        self._running += 1
        if self._running == 1:
            # The first answer of all says that it has noted what was there before.
            await self._ask("accept" if self._noted else "check")
            self._noted = True

    async def end(self) -> tuple[Finding, ...]:
        """Something that `begin` announced is over: what was found since the last time.

        Raises:
            WorkspaceUnavailableError: the guard is gone.
            TimeoutError: it does not answer.
        """
        self._running -= 1
        return await self._ask("check", *(["expect"] if self._running == 0 else []))

    def close(self) -> None:
        """Let the guard go."""
        self._slot.channel.close()

    async def _ask(self, *operations: str) -> tuple[Finding, ...]:
        async with self._turn:
            for operation in operations:
                self._answers_due += 1
                await self._slot.channel.send({"op": operation, "path": self._root})
            found: tuple[Finding, ...] = ()
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while self._answers_due:  # those to questions that were cancelled too
                    frame = await self._slot.channel.receive()
                    self._answers_due -= 1
                    found += parse(frame.header, _Answer).findings
            return found
