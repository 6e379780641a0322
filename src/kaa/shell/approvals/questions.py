"""Keeps questions in order: a person is asked one thing at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class QuestionTurns:
    """One question at a time, in the order of the calls; after a stop, those that wait are not asked any more."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._stops = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[bool]:
        """Wait for one's turn. Gives whether the run was stopped meanwhile."""
        stops = self._stops
        async with self._lock:
            yield self._stops != stops

    def stop(self) -> None:
        """Ask nothing of what waits."""
        self._stops += 1
