"""A session as an export reads it: without a lock and without changing anything, whatever its version."""

import contextlib
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import msgspec

from kaa.session.entries import FORMAT_VERSION, SessionHeader
from kaa.session.errors import NotASessionError, SessionReadError
from kaa.session.file.file_store import HEADER_BYTES, find_header
from kaa.session.store import grow
from kaa.session.tree import Node, SessionTree

_READ_BUFFER_BYTES = 1024 * 1024


class SessionSource(Protocol):
    """What can be exported: a `SnapshotFile`, or a session in use (`SessionStore`)."""

    @property
    def path(self) -> Path | None:
        """Its file; None if it has none. The sessions of its agents are beside it."""

    @property
    def header(self) -> SessionHeader:
        """Id, directory and time of creation."""

    @property
    def tree(self) -> SessionTree:
        """All entries and the leaf."""

    def line(self, node: Node) -> bytes:
        """The line of an entry, without its line feed."""


class SnapshotFile:
    """A session file as it was when it was opened; another process may go on writing it. Use `open`.

    Attributes:
        is_torn: its last line is not whole: it is being written, or whoever wrote it was killed.
    """

    def __init__(
        self, path: Path, header: SessionHeader, tree: SessionTree, descriptor: int, migrated: bytes = b""
    ) -> None:
        self.header = header
        self.tree = tree
        self.path = path
        self.is_torn = False
        self._descriptor = descriptor
        self._migrated = migrated

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, size: int | None = None) -> "Iterator[SnapshotFile]":
        """Read where the entries are. Old versions are brought to today's in memory.

        Args:
            size: in bytes; what follows in the file is left out. None takes all.

        Raises:
            SessionReadError: there is no such file, or it cannot be read.
            NotASessionError: it is something else.
        """
        try:
            # Without O_NONBLOCK a pipe in the place of the file would make us wait for ever.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise SessionReadError(path, error) from error
        try:
            try:
                snapshot = cls._load(path, descriptor, size)
                end = os.fstat(descriptor).st_size if size is None else size
                snapshot.is_torn = os.pread(descriptor, 1, end - 1) != b"\n"
            except OSError as error:
                raise SessionReadError(path, error) from error
            yield snapshot
        finally:
            os.close(descriptor)

    @classmethod
    def _load(cls, path: Path, descriptor: int, size: int | None) -> "SnapshotFile":
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotASessionError(path, "it is not a regular file")
        header = find_header(os.pread(descriptor, HEADER_BYTES, 0))
        if header is None:
            raise NotASessionError(path, "it does not begin with a session header")
        tree = SessionTree()
        with open(descriptor, "rb", buffering=_READ_BUFFER_BYTES, closefd=False) as lines:
            if header.version >= FORMAT_VERSION:
                grow(tree, lines if size is None else io.BytesIO(lines.read(size)))
                return cls(path, header, tree, descriptor)
            from kaa.session.file.migration import migrate  # lazy: few sessions are that old

            migrated = migrate(lines)
        grow(tree, io.BytesIO(migrated))
        return cls(path, msgspec.structs.replace(header, version=FORMAT_VERSION), tree, descriptor, migrated)

    def line(self, node: Node) -> bytes:
        if self._migrated:
            return self._migrated[node.offset : node.offset + node.length]
        try:
            return os.pread(self._descriptor, node.length, node.offset)
        except OSError as error:
            raise SessionReadError(self.path, error) from error
