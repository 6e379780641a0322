"""What was typed in earlier sessions, in `history.jsonl` of kaa's home: one JSON string on each line, oldest first.

The file is its owner's alone. Two kaas may append at once: every entry is one write of one line.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from kaa.tui.sanitize import sanitize

_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700

# Enough for a year; a longer entry is a pasted document, which nobody looks for here.
_MAX_ENTRIES = 1_000
_MAX_ENTRY_CHARACTERS = 20_000
_MAX_FILE_BYTES = 4 * 1024 * 1024


class PromptHistory:
    """The file."""

    def __init__(self, folder: str | Path) -> None:
        self._path = Path(folder) / "history.jsonl"

    def load(self) -> list[str]:
        """The latest entries, oldest first; empty if they cannot be read."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return []
        with open(descriptor, "rb") as file:
            size = os.fstat(descriptor).st_size
            file.seek(max(0, size - _MAX_FILE_BYTES))
            lines = file.read(_MAX_FILE_BYTES).split(b"\n")
        entries = _distinct(_decoded(lines))[-_MAX_ENTRIES:]
        if size > _MAX_FILE_BYTES:
            self._rewrite(entries)
        return entries

    def append(self, entry: str) -> None:
        """Keep an entry.

        Raises:
            OSError: it cannot be written.
        """
        if len(entry) > _MAX_ENTRY_CHARACTERS or not entry.strip():
            return
        line = msgspec.json.encode(entry.encode("utf-8", "replace").decode()) + b"\n"
        self._path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, _PRIVATE_FILE)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def _rewrite(self, entries: list[str]) -> None:
        """Leave only `entries` in the file; if that fails, it stays as it is."""
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE_FILE)
            with open(descriptor, "wb") as file:
                file.writelines(msgspec.json.encode(entry) + b"\n" for entry in entries)
            temporary.replace(self._path)
        except OSError:
            temporary.unlink(missing_ok=True)


def _decoded(lines: Iterable[bytes]) -> Iterable[str]:
    """The entries; lines that are none, such as a torn first one, are passed over."""
    for line in lines:
        try:
            yield sanitize(msgspec.json.decode(line, type=str))  # others may have written into the file
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue


def _distinct(entries: Iterable[str]) -> list[str]:
    """Without repetitions: the last of equal ones counts."""
    return list(reversed(list(dict.fromkeys(reversed(list(entries))))))
