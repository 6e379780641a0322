"""A session as the rest of kaa uses it: a header, a tree that grows by entries, and lines to read them from."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import msgspec

from kaa.core.messages import now_ms
from kaa.session.entries import FORMAT_VERSION, AnyEntry, Entry, Leaf, SessionHeader, SessionInfo
from kaa.session.file.decoding import LineHead, decode_entry, find_glued_entry, read_head
from kaa.session.file.journal import ReplyJournal
from kaa.session.file.jsonl import encode_line
from kaa.session.naming import iso_timestamp, new_entry_id, new_session_id
from kaa.session.tree import Node, SessionTree


class ReadableSession(Protocol):
    """A session of which entries can be read."""

    @property
    def tree(self) -> SessionTree:
        """All entries and the leaf."""

    def line(self, node: Node) -> bytes:
        """The line of an entry, without its line feed."""


class SessionStore(Protocol):
    """One session. There are two kinds: `FileStore` and `MemoryStore`."""

    @property
    def header(self) -> SessionHeader:
        """Id, directory, time of creation and parent."""

    @property
    def path(self) -> Path | None:
        """Where the session is, or will be after the first append; None if it is not kept."""

    @property
    def tree(self) -> SessionTree:
        """All entries and the leaf."""

    @property
    def journal(self) -> ReplyJournal:
        """Where to note what is under way and not yet an entry."""

    def require_writable(self) -> None:
        """Make sure that the session is not only viewed, before anything is done that it would have to record.

        Raises:
            SessionViewedError: it is open read-only.
        """

    def append(self, *drafts: Entry) -> tuple[str, ...]:
        """Add entries in one write and make the last the leaf.

        A draft's empty id, parent and timestamp are filled in: a new id, the leaf (for the second and later
        drafts the one before), and now.

        Returns:
            The ids of the entries.

        Raises:
            SessionWriteError: none was added.
        """

    def line(self, node: Node) -> bytes:
        """The line of an entry, byte for byte, without its line feed.

        Raises:
            SessionReadError: the disk failed.
        """

    def request_sync(self) -> None:
        """Have all entries flushed to disk soon; returns at once.

        Raises:
            SessionWriteError: the disk failed before.
        """

    async def close(self) -> None:
        """Wait until the disk has what was to be flushed, and let go of the session.

        Raises:
            SessionWriteError: the disk failed.
        """


def read_entry(store: ReadableSession, node: Node) -> AnyEntry | None:
    """The entry at `node`; None for one that we do not understand."""
    return decode_entry(store.line(node))


def session_name(store: SessionStore) -> str | None:
    """What the user called the session, None if nothing. The last name counts, on whatever branch it was given."""
    entry = read_entry(store, store.tree.info) if store.tree.info is not None else None
    return (entry.name.strip() or None) if isinstance(entry, SessionInfo) else None


def new_header(cwd: str, parent_session: str | None = None, session_id: str | None = None) -> SessionHeader:
    """The header of a session that starts now in the directory `cwd`, with an id of its own unless told."""
    return SessionHeader(FORMAT_VERSION, session_id or new_session_id(), iso_timestamp(now_ms()), cwd, parent_session)


def stamp(drafts: Iterable[Entry], tree: SessionTree) -> list[Entry]:
    """Fill in what drafts leave open.

    A leaf entry becomes a child of its target, so that a program which does not know leaf entries, as pi,
    and takes the last entry for the leaf finds the same path.
    """
    leaf = tree.leaf.id if tree.leaf is not None else None
    stamped: list[Entry] = []
    for draft in drafts:
        parent = draft.target_id if isinstance(draft, Leaf) else leaf
        entry = msgspec.structs.replace(
            draft,
            id=draft.id or new_entry_id(tree),
            parent_id=parent if draft.parent_id == "" else draft.parent_id,
            timestamp=draft.timestamp or iso_timestamp(now_ms()),
        )
        stamped.append(entry)
        leaf = entry.target_id if isinstance(entry, Leaf) else entry.id
    return stamped


def encode_entries(entries: Iterable[Entry]) -> list[tuple[LineHead, bytes]]:
    """The lines of entries, with their line feeds."""
    lines = []
    for entry in entries:
        line = encode_line(entry)
        head = read_head(line)
        assert head is not None
        lines.append((head, line))
    return lines


def grow(tree: SessionTree, lines: Iterable[bytes], offset: int = 0) -> int:
    """Add the entries of lines as they are in a file; what is no entry stays in the file and is passed over.

    Returns:
        The offset behind the last line, in bytes.
    """
    for line in lines:
        bare = line.rstrip(b"\r\n")
        start, head = 0, read_head(bare) if bare else None
        if head is None and bare and (glued := find_glued_entry(bare)):
            start, head = glued
        if head is not None and head.type != "session":
            tree.add(head, offset + start, len(bare) - start)
        offset += len(line)
    return offset


class MemoryStore:
    """A session that ends with the process (`--no-session`).

    Attributes:
        header: id, directory and time of creation.
        journal: one that notes nothing: there is nothing to come back to.
    """

    def __init__(self, cwd: str) -> None:
        self.header = new_header(cwd)
        self.tree = SessionTree()
        self._lines = bytearray()
        self.journal = ReplyJournal()

    @property
    def path(self) -> None:
        return

    def require_writable(self) -> None: ...

    def append(self, *drafts: Entry) -> tuple[str, ...]:
        entries = stamp(drafts, self.tree)
        for head, line in encode_entries(entries):
            offset = len(self._lines)
            self._lines += line  # first: whoever observes the tree reads it
            self.tree.add(head, offset, len(line) - 1)
        return tuple(entry.id for entry in entries)

    def line(self, node: Node) -> bytes:
        return bytes(self._lines[node.offset : node.offset + node.length])

    def request_sync(self) -> None:
        """There is no disk."""

    async def close(self) -> None:
        """There is nothing to wait for."""
