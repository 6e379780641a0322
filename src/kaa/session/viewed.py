"""A session that is only looked at: another process may have it open, and its disk may be read-only."""

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from kaa.session.entries import Entry, SessionHeader
from kaa.session.errors import SessionViewedError
from kaa.session.export.source import SnapshotFile
from kaa.session.file.journal import ReplyJournal
from kaa.session.tree import Node, SessionTree


class ViewedStore:
    """A session as it was when it was opened, without a lock. Nothing can be added. Use `open`."""

    def __init__(self, path: Path, snapshot: SnapshotFile, held: ExitStack) -> None:
        self.path = path
        self._snapshot = snapshot
        self._held = held
        self.journal = ReplyJournal()

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read where the entries are.

        Raises:
            SessionReadError: there is no such file, or it cannot be read.
            NotASessionError: it is something else.
        """
        with ExitStack() as held:
            return cls(path, held.enter_context(SnapshotFile.open(path)), held.pop_all())

    @property
    def header(self) -> SessionHeader:
        return self._snapshot.header

    @property
    def tree(self) -> SessionTree:
        return self._snapshot.tree

    def require_writable(self) -> None:
        """Refused.

        Raises:
            SessionViewedError: always.
        """
        raise SessionViewedError(self.path)

    def append(self, *drafts: Entry) -> tuple[str, ...]:
        """Refused, as `require_writable` is."""
        raise SessionViewedError(self.path)

    def line(self, node: Node) -> bytes:
        return self._snapshot.line(node)

    def request_sync(self) -> None:
        """There is nothing to flush."""

    async def close(self) -> None:
        await asyncio.to_thread(self._held.close)
