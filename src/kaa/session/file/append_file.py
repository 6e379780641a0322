"""A file that only grows: whole writes or none, one writer at a time, flushed to disk in the background."""

import contextlib
import errno
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kaa.session.errors import (
    NotASessionError,
    SessionError,
    SessionReadError,
    SessionReadOnlyError,
    SessionWriteError,
)
from kaa.session.file.lock import lock

PRIVATE_FILE = 0o600
AGENTS_ENDING = ".agents"
"""Of the names of folders with sessions of agents."""
_PRIVATE_FOLDER = 0o700
_READ_BUFFER_BYTES = 1024 * 1024
_CLOSED = -1
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


def create_private_folders(folder: Path) -> None:
    """Create a folder and its missing parents for the user alone; existing ones keep their mode."""
    if folder.is_dir():
        return
    create_private_folders(folder.parent)
    try:
        folder.mkdir(_PRIVATE_FOLDER)
    except FileExistsError:
        if not folder.is_dir():
            raise


def open_private(path: Path, flags: int) -> int:
    """Open a file of a session, for the user alone if it is made.

    A session may lie where commands can write, such as in the project. The folder of its agents, which kaa makes, is
    not followed if it is a link: what models say would get into a folder of the user's.

    Raises:
        OSError: it cannot be opened, or lies behind such a link.
    """
    if not path.parent.name.endswith(AGENTS_ENDING):
        return os.open(path, flags | os.O_CLOEXEC, PRIVATE_FILE)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return os.open(path.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE, dir_fd=folder)
    finally:
        os.close(folder)


def write_whole(descriptor: int, data: bytes, path: Path) -> None:
    """Append all of `data` to a file opened with O_APPEND, or nothing.

    Raises:
        SessionWriteError: the system refused; what had been written of `data` was taken back.
    """
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, data[written:])
    except OSError as error:
        end = os.lseek(descriptor, 0, os.SEEK_CUR)
        if written and os.fstat(descriptor).st_size == end:  # else a stranger has written behind us
            os.ftruncate(descriptor, end - written)
        raise SessionWriteError.because(path, error) from error


class AppendFile:
    """An open, locked file. Use `create` or `open`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._end = os.fstat(descriptor).st_size
        self._sync = DiskSync(descriptor, path)

    @classmethod
    def create(cls, path: Path, data: bytes) -> "AppendFile":
        """Create a private file (0600, folders 0700) that holds `data`, or no file at all.

        Raises:
            SessionWriteError: it exists already or cannot be written.
        """
        try:
            create_private_folders(path.parent)
            descriptor = open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        except OSError as error:
            raise SessionWriteError.because(path, error) from error
        try:
            lock(descriptor, path)
            file = cls(path, descriptor)
            file.append(data)
        except SessionError:
            path.unlink(missing_ok=True)
            os.close(descriptor)
            raise
        return file

    @classmethod
    def open(cls, path: Path) -> "AppendFile":
        """Open an existing file and lock it. Nothing is changed.

        Raises:
            SessionReadError: there is no such file.
            NotASessionError: it is not a regular file.
            SessionReadOnlyError: it may be read only.
            SessionWriteError: it may not be opened.
            SessionBusyError: another process writes it.
        """
        try:
            # Without O_NONBLOCK a pipe in the place of the file would make us wait for ever.
            descriptor = open_private(path, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise SessionReadError(path, error) from error
        except OSError as error:
            if error.errno in _READ_ONLY and os.access(path, os.R_OK):
                raise SessionReadOnlyError(
                    path, f"{error.strerror}. Continue in a copy (kaa --fork ID), or open it read-only (kaa --view ID)"
                ) from error
            raise SessionWriteError.because(path, error) from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotASessionError(path, "it is not a regular file")
            lock(descriptor, path)
        except SessionError:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def append(self, data: bytes) -> int:
        """Add `data` at the end; when this returns the kernel has it and killing us cannot lose it.

        Returns:
            The offset in bytes at which it begins.

        Raises:
            SessionWriteError: nothing was added.
        """
        if self._descriptor == _CLOSED:
            raise SessionWriteError(self.path, "it is closed already; open it again")
        status = os.fstat(self._descriptor)
        if status.st_nlink == 0:
            raise SessionWriteError(self.path, "the file was deleted while in use; start a new session")
        if status.st_size < self._end:  # what is written behind that would belong to nothing
            raise SessionWriteError(self.path, "the file was shortened while in use; start a new session")
        write_whole(self._descriptor, data, self.path)
        self._end = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        return self._end - len(data)

    def read(self, offset: int, length: int) -> bytes:
        """Read a piece; shorter at the end of the file.

        Raises:
            SessionReadError: the disk failed.
        """
        try:
            return os.pread(self._descriptor, length, offset)
        except OSError as error:
            raise SessionReadError(self.path, error) from error

    @contextlib.contextmanager
    def reader(self) -> Iterator[BinaryIO]:
        """All lines of the file, from its beginning.

        Raises:
            SessionReadError: the disk failed.
        """
        try:
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            with open(self._descriptor, "rb", buffering=_READ_BUFFER_BYTES, closefd=False) as lines:
                yield lines
        except OSError as error:
            raise SessionReadError(self.path, error) from error

    def request_sync(self) -> None:
        """Have everything written so far flushed to disk soon, without waiting for it."""
        self._sync.request()

    def close(self) -> None:
        """Flush what was requested, wait for the disk, and release the lock.

        Raises:
            SessionWriteError: the disk failed; what was flushed before is safe.
        """
        if self._descriptor == _CLOSED:
            return
        try:
            self._sync.close()
        finally:
            descriptor, self._descriptor = self._descriptor, _CLOSED
            os.close(descriptor)


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
