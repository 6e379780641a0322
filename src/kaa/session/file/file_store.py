"""A session in a file: pi's JSONL, one line per entry, one process at a time, safe against kills.

Opening changes nothing but this: entries that a killed process owed are added. A torn last line is given its
line feed with the next append and stays where it is, as a line that readers pass over.
"""

import asyncio
import io
from collections.abc import Callable
from pathlib import Path
from typing import Self

from kaa.session.entries import FORMAT_VERSION, Entry, SessionHeader
from kaa.session.errors import NotASessionError, SessionError
from kaa.session.file.append_file import AGENTS_ENDING, AppendFile
from kaa.session.file.decoding import read_header
from kaa.session.file.journal import FileJournal
from kaa.session.file.jsonl import encode_line
from kaa.session.naming import file_name
from kaa.session.store import encode_entries, grow, new_header, stamp
from kaa.session.tree import Node, SessionTree

HEADER_BYTES = 64 * 1024


class FileStore:
    """One session in a file. Use `create` or `open`.

    Attributes:
        header: id, directory, time of creation and parent.
        path: where the session is, or will be after the first append.
        journal: what is under way and not yet an entry.
        has_begun: called once when the session has its file, or is closed without one.
    """

    def __init__(self, path: Path, header: SessionHeader) -> None:
        self.path = path
        self.has_begun: Callable[[], object] | None = None
        self.header = header
        self.tree = SessionTree()
        self._file: AppendFile | None = None
        self._unwritten = b""  # the lines of a session that has no file yet
        self._tail_is_open = False  # the last line lacks its line feed
        self.journal = FileJournal(journal_path(path))

    @classmethod
    def create(cls, path: Path, header: SessionHeader, entries: bytes = b"") -> Self:
        """A session that gets its file, which must not exist then, with the first append.

        Args:
            header: its first line.
            entries: whole lines that follow, of a session that this one continues.
        """
        store = cls(path, header)
        first_line = encode_line(header)
        store._unwritten = first_line + entries
        grow(store.tree, io.BytesIO(entries), len(first_line))
        return store

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing session to continue it, and recover what a killed process owed to it.

        A file in an older format (v1, v2) is not changed: it is continued in a new file beside it, which names
        it as its parent and is written with the first append.

        Raises:
            SessionReadError: there is no such file, or it cannot be read.
            NotASessionError: the file is something else; it was not touched.
            SessionBusyError: another process has it open.
            SessionWriteError: it may not be written.
        """
        file = AppendFile.open(path)
        try:
            header = find_header(file.read(0, HEADER_BYTES))
            if header is None:
                raise NotASessionError(path, "it does not begin with a session header")
            if header.version < FORMAT_VERSION:
                store = cls._continuation(file, header)
                file.close()
                return store
            store = cls(path, header)
            store._load(file)
            store._recover()
        except SessionError:
            file.close()
            raise
        return store

    @classmethod
    def _continuation(cls, old: AppendFile, old_header: SessionHeader) -> Self:
        """The session that goes on from one in an older format."""
        from kaa.session.file.migration import migrate  # lazy: few sessions are that old

        header = new_header(old_header.cwd, str(old.path.absolute()))
        path = old.path.with_name(file_name(header.timestamp, header.id))
        with old.reader() as lines:
            return cls.create(path, header, migrate(lines))

    def _load(self, file: AppendFile) -> None:
        self._file = file
        with file.reader() as lines:
            size = grow(self.tree, lines)
        self._tail_is_open = file.read(size - 1, 1) != b"\n"

    def _recover(self) -> None:
        journal = journal_path(self.path)
        if not journal.exists():
            return
        from kaa.session.file.recovery import discard_journal, recover_entries  # lazy: most sessions end in order

        if owed := recover_entries(journal, self.tree):
            self.append(*owed)
            self.request_sync()
        discard_journal(journal)

    def require_writable(self) -> None:
        """It is open for writing; only `append` tells whether the disk agrees."""

    def append(self, *drafts: Entry) -> tuple[str, ...]:
        """Add entries in one write; the first one creates the file."""
        entries = stamp(drafts, self.tree)
        lines = encode_entries(entries)
        data = b"".join(line for _, line in lines)
        if self._file is None:
            self._file = AppendFile.create(self.path, self._unwritten + data)
            offset = len(self._unwritten)
            self._unwritten = b""
            self._begun()
        elif self._tail_is_open:
            offset = self._file.append(b"\n" + data) + 1
            self._tail_is_open = False
        else:
            offset = self._file.append(data)
        for head, line in lines:
            self.tree.add(head, offset, len(line) - 1)
            offset += len(line)
        return tuple(entry.id for entry in entries)

    def line(self, node: Node) -> bytes:
        if self._file is None:
            return self._unwritten[node.offset : node.offset + node.length]
        return self._file.read(node.offset, node.length)

    def request_sync(self) -> None:
        if self._file is not None:
            self._file.request_sync()

    async def close(self) -> None:
        self.journal.close()
        self._begun()
        if self._file is not None:
            await asyncio.to_thread(self._file.close)

    def release(self) -> None:
        """Like `close`, where waiting keeps nobody from working.

        Raises:
            SessionWriteError: the disk failed.
        """
        self.journal.close()
        self._begun()
        if self._file is not None:
            self._file.close()

    def _begun(self) -> None:
        if self.has_begun is not None:
            self.has_begun()
            self.has_begun = None


def journal_path(session: Path) -> Path:
    """Where the journal of a session file lies."""
    return session.with_name(f"{session.name}.partial")


def draft_path(session: Path) -> Path:
    """Where what was typed and not sent is kept beside a session file."""
    return session.with_name(f"{session.name}.draft")


def draft_images_path(session: Path) -> Path:
    """Where the images of what was typed and not sent are kept."""
    return session.with_name(f"{session.name}.draft-images")


def waiting_path(session: Path) -> Path:
    """Where the messages that wait for the model are kept beside a session file."""
    return session.with_name(f"{session.name}.waiting")


def agents_folder(session: Path) -> Path:
    """Where the sessions of the agents of a conversation are kept."""
    return session.with_name(f"{session.name}{AGENTS_ENDING}")


def unfinished_folder(session: Path) -> Path:
    """Where `kaa.session.unfinished` notes what is under way in sessions beside this one; else there is no folder."""
    return session.with_name(".unfinished")


def find_header(beginning: bytes) -> SessionHeader | None:
    """The header in the first `HEADER_BYTES` of a file, None if the file is no session."""
    first_line, _, _ = beginning.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    return read_header(first_line)
