"""Lets one process at a time start a server for the first time: package runners fill its cache then, without locks.

A start that was cut short may leave half of a package there, which the runner takes for whole. Its lock says so.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from kaa.host.log import LOG
from kaa.host.regular_files import lock
from kaa.shell.mcp.config.entry import ConfiguredServer

_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600
_DIGITS = 12  # of a hash, in the name of a file
_PAUSE_SECONDS = 0.1


class FirstStart:
    """A first start that goes on, and how the one before it ended.

    Args:
        lock: the descriptor of the lock, which this process has; None if it has none.

    Attributes:
        was_cut_short: an earlier first start did not end by itself: kaa ended it, or was killed.
    """

    def __init__(self, lock: int | None = None) -> None:
        self._lock = lock
        self.was_cut_short = lock is not None and bool(os.pread(lock, 1, 0))
        if lock is not None:
            os.pwrite(lock, b"x", 0)

    def ended(self) -> None:
        """The program has started, or ended by itself: it was not cut short."""
        if self._lock is not None:
            os.ftruncate(self._lock, 0)


@asynccontextmanager
async def alone(
    folder: Path, server: ConfiguredServer, patience: float, log: Callable[[str], object]
) -> AsyncIterator[FirstStart]:
    """Wait until no other process starts a server for the first time, and keep them waiting meanwhile.

    Args:
        folder: of the locks; servers cannot write it.
        patience: seconds after which it starts in any case.
    """
    try:
        descriptor = _opened(folder, server)
    except OSError as error:  # the worst is that two first starts disturb each other
        LOG.info("mcp: first starts of %s are not locked: %s", server.name, error)
        yield FirstStart()
        return
    try:
        end, waits = asyncio.get_running_loop().time() + patience, False
        while (is_taken := _is_taken(descriptor)) and asyncio.get_running_loop().time() < end:
            if not waits:
                log("another kaa starts it for the first time: this one waits for that")
                waits = True
            await asyncio.sleep(_PAUSE_SECONDS)
        yield FirstStart(None if is_taken else descriptor)
    finally:
        os.close(descriptor)


def _opened(folder: Path, server: ConfiguredServer) -> int:
    folder.mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)
    name = sha256(ascii((server.source.file, server.name)).encode()).hexdigest()[:_DIGITS]
    how = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(folder / f"start-{name}.lock", how, _PRIVATE_FILE)


def _is_taken(descriptor: int) -> bool:
    """Take the lock. True if another process has it."""
    try:
        lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
