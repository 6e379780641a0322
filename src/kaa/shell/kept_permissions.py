"""What the user permitted in a session, kept for the day it is resumed.

It is kept in the user's own folder and not in the session's file: that may have been imported, or lie in a directory
that commands can write, and whoever writes it must not choose permissions.
"""

import contextlib
import os
import re
from pathlib import Path

import msgspec

from kaa.host.programs import commands_can_write
from kaa.host.regular_files import read_regular
from kaa.shell.permissions import SessionPermissions

_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_MOST_SESSIONS = 200
_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700


class _Kept(msgspec.Struct, frozen=True):
    directory: str
    chosen: SessionPermissions


class KeptPermissions:
    """Those of one session in one project.

    Args:
        folder: of all sessions' files; created when needed.
        directory: the project; choices for another one do not hold.
    """

    def __init__(self, folder: Path, session_id: str, directory: str) -> None:
        self._folder = folder
        self._file = folder / f"{session_id}.json"
        self._directory = directory
        # What commands can write is nobody's word; and an id may come from a foreign file.
        self._is_usable = bool(_ID.fullmatch(session_id)) and not commands_can_write(os.path.realpath(folder))

    def load(self) -> SessionPermissions:
        """What was chosen; nothing if that is not known."""
        if not self._is_usable:
            return SessionPermissions()
        try:
            kept = msgspec.json.decode(read_regular(self._file), type=_Kept)
        except (OSError, msgspec.DecodeError):  # never written, or of another version: nothing was chosen
            return SessionPermissions()
        return kept.chosen if kept.directory == self._directory else SessionPermissions()

    def save(self, chosen: SessionPermissions) -> None:
        """Keep what was chosen.

        Raises:
            OSError: the disk failed.
        """
        if not self._is_usable:
            return
        self._folder.mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)
        temporary = self._file.with_name(f".{self._file.name}.{os.urandom(8).hex()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE_FILE)
        with open(descriptor, "wb") as output:
            output.write(msgspec.json.encode(_Kept(self._directory, chosen)))
        temporary.replace(self._file)
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        files = sorted(self._folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
        for file in files[:-_MOST_SESSIONS]:
            with contextlib.suppress(FileNotFoundError):  # another kaa did it
                file.unlink()
