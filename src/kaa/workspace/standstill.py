"""While git runs outside the sandbox, nothing in the sandboxes of this process runs.

A command could time a new name by what git writes, and git would obey it before the guard moves it away.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Protocol
from weakref import WeakKeyDictionary

from kaa.workspace.protocol import WorkspaceUnavailableError

_PATIENCE_SECONDS = 20.0  # for what takes milliseconds, on a machine that swaps
_BUSY = "A command in the sandbox cannot be paused, as it must be while git runs outside; stop background processes."


class Stoppable(Protocol):
    """A command in a sandbox."""

    async def halt(self) -> bool:
        """Stop all its processes. Returns whether nothing of it runs."""

    def resume(self) -> None:
        """Have go on what `halt` stopped."""


class Standstill:
    """The commands in all sandboxes whose workspaces live in one event loop."""

    def __init__(self) -> None:
        self._commands: set[Stoppable] = set()
        self._reasons = 0
        self._over = asyncio.Event()
        self._past, self._since = 0.0, 0.0

    @contextlib.asynccontextmanager
    async def of_others(self) -> AsyncIterator[None]:
        """Let nothing run meanwhile.

        Raises:
            WorkspaceUnavailableError: something does not stop.
        """
        self._reasons += 1
        if self._reasons == 1:
            self._since = time.monotonic()
            self._over.clear()
        try:
            await self._halt_all()
            yield
        finally:
            if self._reasons == 1:
                self._past = self.seconds()
                for one in self._commands:
                    one.resume()
                self._over.set()
            self._reasons -= 1

    def seconds(self) -> float:
        """How long nothing was to run so far."""
        return self._past + (time.monotonic() - self._since if self._reasons else 0.0)

    async def admit(self, command: Stoppable, stopped: "asyncio.Future[None]") -> None:
        """Wait until this may run; it counts from then on, until `dismiss`.

        Raises:
            WorkspaceUnavailableError: it is stopped before.
        """
        while self._reasons and not stopped.done():
            over = asyncio.ensure_future(self._over.wait())
            await asyncio.wait((over, stopped), return_when=asyncio.FIRST_COMPLETED)
            over.cancel()
        if self._reasons:
            raise WorkspaceUnavailableError("The command was stopped before it began.")
        self._commands.add(command)

    def dismiss(self, command: Stoppable) -> None:
        self._commands.discard(command)

    async def _halt_all(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                halted = await asyncio.gather(*(one.halt() for one in self._commands))
        except TimeoutError:
            halted = [False]
        if not all(halted):
            raise WorkspaceUnavailableError(_BUSY)


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Standstill] = WeakKeyDictionary()


def standstill() -> Standstill:
    """Return that of the running event loop."""
    return _of_loops.setdefault(asyncio.get_running_loop(), Standstill())
