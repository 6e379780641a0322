"""Files that are their owner's alone: keys, decisions on trust, records and data of extensions.

As ssh does with its keys, what others could have read or changed is refused instead of used: the owner should know.
"""

import errno
import fcntl
import glob
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from kaa.host import regular_files

_Records = TypeVar("_Records")

_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
_OF_OTHERS = 0o077
# Of the names of files that are still written.
_MARK_BYTES = 8
_WRITABLE_BY_OTHERS = 0o022


class PrivateFileError(Exception):
    """The file cannot be read, written or relied on; the message says why and what to do."""


def unwritable(error: OSError, folder: Path) -> str:
    """Why something in a folder of kaa's home cannot be written, in parentheses, and what to do about it."""
    closed = error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
    return f"({error.strerror})" + (f". Make {folder} writable, or set KAA_DIR to a folder that is" if closed else "")


class PrivateFile:
    """A file of mode 0600 in a folder that only its owner writes to. Never a symbolic link.

    Args:
        path: the file; neither it nor its folder need exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> bytes | None:
        """The content, None if there is no file.

        Raises:
            PrivateFileError: it cannot be read, or others could have read or changed it.
        """
        try:
            # A named pipe would make us wait for its writer.
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK) and self._path.is_symlink():
                raise self._is_a_link() from error
            raise PrivateFileError(f"{self._path} cannot be read ({error.strerror})") from error
        try:
            self._check(os.fstat(descriptor))
            with open(descriptor, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)

    @contextmanager
    def rewriting(self) -> Iterator[bytes | None]:
        """Keep other processes from `replace` while the block lasts; gives the content as it is now.

        Raises:
            PrivateFileError: as `read` and `replace` do.
        """
        if self._path.is_symlink():
            raise self._is_a_link()
        try:
            self._path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
            folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise self._not_written(error) from error
        try:
            regular_files.lock(folder, fcntl.LOCK_EX)
            self._clear_away()
            yield self.read()
            os.fsync(folder)
        except OSError as error:
            raise self._not_written(error) from error
        finally:
            os.close(folder)

    def replace(self, content: bytes) -> None:
        """Make `content` the file's, all of it or none, also when the machine stops meanwhile.

        Raises:
            PrivateFileError: it cannot be written; the old content is still there.
        """
        temporary = self._path.with_name(f"{self._unfinished}{os.urandom(_MARK_BYTES).hex()}")
        try:
            descriptor = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _PRIVATE_FILE
            )
            try:
                with open(descriptor, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(descriptor)
                temporary.replace(self._path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise self._not_written(error) from error

    @property
    def _unfinished(self) -> str:
        """How the names of files begin that are still written."""
        return f".{self._path.name}."

    def _clear_away(self) -> None:
        """Remove what writers left behind that were killed: it may hold keys. Nobody else writes now."""
        for left in self._path.parent.glob(f"{glob.escape(self._unfinished)}{'[0-9a-f]' * 2 * _MARK_BYTES}"):
            with suppress(OSError):
                left.unlink()

    def _check(self, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise PrivateFileError(f"{self._path} cannot be read (not a regular file)")
        if status.st_uid != os.geteuid():
            # Root too: a value in it may be a command, which must not run with more rights than its author's.
            raise PrivateFileError(
                f"{self._path} belongs to another user (uid {status.st_uid}): if it is to be used, make it yours with"
                "  chown"
            )
        if status.st_mode & _OF_OTHERS:
            raise PrivateFileError(
                f"other users can read or change {self._path} (mode {stat.S_IMODE(status.st_mode):o}): run"
                f"  chmod 600 {self._path}  and, if others use this machine, replace the keys in it"
            )
        folder = os.stat(self._path.parent)
        replaceable = folder.st_mode & _WRITABLE_BY_OTHERS and not folder.st_mode & stat.S_ISVTX
        if replaceable or folder.st_uid not in (0, os.geteuid()):
            raise PrivateFileError(
                f"other users can replace {self._path}, because {self._path.parent} is not only yours: run"
                f"  chmod 700 {self._path.parent}  as its owner"
            )

    def _is_a_link(self) -> PrivateFileError:
        return PrivateFileError(f"{self._path} is a symbolic link: kaa uses only a regular file")

    def _not_written(self, error: OSError) -> PrivateFileError:
        return PrivateFileError(f"{self._path} cannot be written {unwritable(error, self._path.parent)}")


class RecordsFile(ABC, Generic[_Records]):
    """Records in a private file, as JSON, which need not exist. A subclass says what they are, and names its errors."""

    _error: type[Exception]

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = PrivateFile(path)

    def read(self) -> _Records:
        """Return all records.

        Raises:
            Exception: that of the subclass; they cannot be read.
        """
        try:
            return self._parsed(self._file.read())
        except PrivateFileError as error:
            raise self._error(str(error)) from error

    @contextmanager
    def rewriting(self) -> Iterator[_Records]:
        """Give the records to be changed. They are written when the block ends; meanwhile no other process does that.

        Raises:
            Exception: that of the subclass; they cannot be read or written.
        """
        try:
            with self._file.rewriting() as content:
                records = self._parsed(content)
                yield records
                self._file.replace(msgspec.json.format(msgspec.json.encode(self._kept(records)), indent=2) + b"\n")
        except PrivateFileError as error:
            raise self._error(str(error)) from error

    @abstractmethod
    def _parsed(self, content: bytes | None) -> _Records: ...

    def _kept(self, records: _Records) -> object:
        """What is written of them."""
        return records
