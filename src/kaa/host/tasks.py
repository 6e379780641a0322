"""Tasks in the background that end with the object that began them."""

import asyncio
from collections.abc import Coroutine


class Tasks:
    """The tasks of one object, which awaits them at its end."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        """Do something in the background."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        for task in tuple(self._running):
            task.cancel()

    async def end(self) -> None:
        """Cancel all, and wait until they have ended."""
        running = tuple(self._running)
        self.cancel()
        await asyncio.gather(*running, return_exceptions=True)
