"""auth.json as entries by provider: read as it is now, changed by one process at a time, the rest kept verbatim."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from kaa.host import regular_files
from kaa.host.private_file import PrivateFileError, RecordsFile
from kaa.llm.former_names import by_current_name

Entries = dict[str, msgspec.Raw]


class AuthFile(RecordsFile[Entries]):
    """The file with the user's keys and logins."""

    _error = PrivateFileError

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

    def _parsed(self, content: bytes | None) -> Entries:
        try:
            return by_current_name(msgspec.json.decode(content or b"{}", type=Entries))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise PrivateFileError(
                f"{self.path} is not a JSON object with one entry for each login: {error}. Correct it"
            ) from error
