"""Keeps two processes from beginning a session of the same id at once: it has no file yet that could be locked."""

import os
from hashlib import sha256
from pathlib import Path

from kaa.session.errors import SessionWriteError
from kaa.session.file.append_file import PRIVATE_FILE, create_private_folders
from kaa.session.file.lock import lock


class SessionClaim:
    """A locked file in the folder of the session. Use `take`. The kernel releases it however its holder ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, session: Path, cwd: str, session_id: str) -> "SessionClaim":
        """Claim an id.

        Args:
            cwd: the project's directory: each has ids of its own.

        Raises:
            SessionBusyError: another process, or this one, is about to begin a session of this id.
            SessionWriteError: the folder cannot be written.
        """
        name = sha256(b"\0".join(map(os.fsencode, (cwd, session_id)))).hexdigest()[:32]
        path = session.with_name(f".{name}.claim")
        while True:
            try:
                create_private_folders(path.parent)
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE)
            except OSError as error:
                raise SessionWriteError.because(path, error) from error
            try:
                lock(descriptor, session)
                if _is_at(path, descriptor):
                    return cls(path, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # its holder removed it meanwhile

    def release(self) -> None:
        """Let others have the id; a second time does nothing."""
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False
