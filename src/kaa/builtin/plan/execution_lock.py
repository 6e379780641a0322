"""Keeps two conversations from executing the plan of one file at the same time."""

import fcntl
import os

from kaa.ext.errors import CommandError
from kaa.host import regular_files


class ExecutionLock:
    """A lock on a file, held until it is released or kaa ends.

    Args:
        path: of the file, absolute.

    Raises:
        CommandError: somebody else holds it, or the file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            raise CommandError(f"{path} cannot be opened: {error.strerror}") from error
        try:
            regular_files.lock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._descriptor)
            raise CommandError(f"another kaa executes {path} already; wait until it is done, or stop it") from error

    def release(self) -> None:
        """Let others have it."""
        os.close(self._descriptor)
