"""Flushing a file to disk without making anybody wait: requests are gathered and served by one thread."""

import contextlib
import errno
import os
import threading
from pathlib import Path

from kaa.session.errors import SessionWriteError

# Some network and user-space file systems cannot flush.
_NO_FLUSH_HERE = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
# A turn writes several entries in quick succession; a flush for each would have this thread disturb the event loop.
_GATHER_SECONDS = 0.05


class DiskSync:
    """Serves `request` for one file from a thread that starts with the first request.

    However many requests come within a moment or while the disk is busy, one flush serves them all.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = path
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: OSError | None = None

    def request(self) -> None:
        """Have everything that was written so far flushed soon.

        Raises:
            SessionWriteError: an earlier flush failed, so the disk cannot be trusted.
        """
        self._raise_failure()
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="kaa-session-sync", daemon=True)
            self._thread.start()
        self._wake.set()

    def close(self) -> None:
        """Wait until all requests are served, and end the thread. May take as long as the disk does.

        Raises:
            SessionWriteError: a flush failed.
        """
        if self._thread is not None:
            self._closing.set()
            self._wake.set()
            self._thread.join()
        self._raise_failure()

    def _serve(self) -> None:
        try:
            self._flush_folder()
            while True:
                self._wake.wait()
                self._closing.wait(_GATHER_SECONDS)
                # Cleared first: what is requested from here on gets a flush of its own, and whoever closes from here
                # on wakes us once more.
                self._wake.clear()
                last = self._closing.is_set()
                os.fsync(self._descriptor)
                if last:
                    return
        except OSError as error:
            if error.errno not in _NO_FLUSH_HERE:
                self._failure = error

    def _flush_folder(self) -> None:
        """Make the file's name durable, which fsync of the file alone does not promise."""
        # A folder may forbid being opened, and some file systems cannot flush one: the file still counts.
        with contextlib.suppress(OSError):
            folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise SessionWriteError.because(self._path, self._failure) from self._failure
