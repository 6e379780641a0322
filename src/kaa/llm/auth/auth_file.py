"""auth.json as entries by provider: read as it is now, changed by one process at a time, the rest kept verbatim."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from kaa.host import regular_files
from kaa.host.private_file import PrivateFile, PrivateFileError
from kaa.llm.former_names import by_current_name

Entries = dict[str, msgspec.Raw]


class AuthFile:
    """The file with the user's keys and logins.

    Args:
        path: the file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = PrivateFile(path)

    def read(self) -> Entries:
        """The entries as they are on disk now.

        Raises:
            PrivateFileError: the file cannot be read or relied on, or is not what it should be.
        """
        return self._parse(self._file.read())

    @contextmanager
    def rewriting(self) -> Iterator[Entries]:
        """The entries as they are on disk now; what the block leaves in them replaces the file.

        Raises:
            PrivateFileError: the file cannot be read or written.
        """
        with self._file.rewriting() as content:  # another kaa may be writing its own entry
            entries = self._parse(content)
            yield entries
            self._file.replace(msgspec.json.format(msgspec.json.encode(entries), indent=2) + b"\n")

    def check_writable(self) -> None:
        """Write the file as it is.

        Raises:
            PrivateFileError: it cannot be written: the disk is full, or read-only.
        """
        with self._file.rewriting() as content:
            if content is not None:
                self._file.replace(content)

    @contextmanager
    def renewing(self) -> Iterator[None]:
        """Let no other process renew a login while the block lasts. Waits for its turn: call it in a thread.

        A lock of its own, because renewing waits for the network: who only changes the file never waits for that.

        Raises:
            PrivateFileError: the lock cannot be taken.
        """
        lock = self.path.with_name(f".{self.path.name}.lock")
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise PrivateFileError(f"{lock} cannot be written ({error.strerror})") from error
        try:
            regular_files.lock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _parse(self, content: bytes | None) -> Entries:
        try:
            return by_current_name(msgspec.json.decode(content or b"{}", type=Entries))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise PrivateFileError(
                f"{self.path} is not a JSON object with one entry for each login: {error}. Correct it"
            ) from error
