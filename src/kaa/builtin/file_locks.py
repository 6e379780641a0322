"""One change of a file at a time, whatever the names it is reached by."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class FileLocks:
    """Locks by real path. A lock lives only as long as someone holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, real_path: str) -> AsyncIterator[None]:
        """Wait for the changes of this file that came before, and let later ones wait."""
        lock = self._locks.get(real_path)
        if lock is None:
            lock = self._locks[real_path] = asyncio.Lock()
        async with lock:
            yield

    def __len__(self) -> int:
        """How many files are being changed."""
        return len(self._locks)
