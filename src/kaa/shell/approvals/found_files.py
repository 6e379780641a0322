"""Asks about files that the guard moved away, where no result tells of these.

Only processes in the background ran, or the call was stopped that ran. They may be what the user has just saved in an
editor. So the question comes at once, also while the agent does nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from kaa.ext.asking import NobodyToAskError
from kaa.shell.approvals.rule_file import ApprovalsError
from kaa.shell.approvals.set_aside import Outcome
from kaa.workspace.blocked import Blocked

_GATHERING_SECONDS: Final = 0.3  # a checkout brings several files, which are one question


class FoundFiles:
    """The files that nobody was asked about yet.

    Args:
        offer: asks about some; None where nobody is asked.
        notify: tells the person of what stays where it was moved to.
    """

    def __init__(
        self,
        offer: Callable[[Sequence[Blocked]], Awaitable[Outcome | None]],
        notify: Callable[[str], None],
    ) -> None:
        self._offer = offer
        self._notify = notify
        self._waiting: dict[Blocked, Callable[[Blocked], None]] = {}
        self._asking: asyncio.Task[None] | None = None
        self._is_closed = False

    def add(self, found: Blocked, forget: Callable[[Blocked], None]) -> None:
        """Ask about one more. `forget`: gets it if it is put back, to keep it from the model."""
        if self._is_closed:
            self._tell([found])
            return
        self._waiting[found] = forget
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._ask())

    async def close(self) -> None:
        """Withdraw the question, and say where the files are that nobody was asked about."""
        self._is_closed = True
        if self._asking is None:
            return
        self._asking.cancel()
        await asyncio.wait({self._asking})
        self._tell(self._waiting)
        self._waiting.clear()

    async def _ask(self) -> None:
        while self._waiting:
            await asyncio.sleep(_GATHERING_SECONDS)
            first = tuple(self._waiting)
            try:
                outcome = await self._offer(first)
            except (OSError, ApprovalsError, NobodyToAskError):
                outcome = None
            settled = () if outcome is None else outcome.settled
            for one in first:
                forget = self._waiting.pop(one)
                if one in settled:
                    forget(one)
            self._tell([one for one in first if one not in settled])

    def _tell(self, blocked: Iterable[Blocked]) -> None:
        for one in blocked:
            self._notify(one.notice)
