"""All sessions at a glance. Files are read once and then only as far as they have grown; SQLite keeps the rest.

The cache may be lost, damaged, shared or old at any time: what is told is always what the files say now.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

import msgspec

from kaa.session.catalogue.database import in_memory, is_circumstance, open_database, rebuilt, transaction
from kaa.session.catalogue.digest import SessionDigest
from kaa.session.catalogue.matching import Query
from kaa.session.catalogue.places import SessionFile, SessionRoot, session_files
from kaa.session.catalogue.records import SearchHit, SessionOrigin, SessionScope, SessionSummary, UsageRow
from kaa.session.catalogue.searching import find
from kaa.session.errors import NotASessionError, SessionReadError
from kaa.session.file.file_store import HEADER_BYTES, find_header
from kaa.session.naming import folder_name, is_same_directory, unix_milliseconds

_READ_BUFFER_BYTES = 256 * 1024
# That a file only grew is believed if what stood before its old end still stands there.
_TAIL_BYTES = 160


class _Reading(NamedTuple):
    """What is known of a file.

    Attributes:
        digest: of its lines; None if it is no session.
        end: the offset in bytes up to which lines are in the digest. A last line without a line feed waits.
        tail: what stands before `end`.
    """

    digest: SessionDigest | None
    end: int
    tail: bytes


def _read_file(file: SessionFile, known: _Reading | None = None) -> _Reading:
    """Read a file, or what it has grown by.

    Args:
        known: what an earlier reading gave, whose digest is continued.

    Raises:
        OSError: it cannot be read.
    """
    with open(file.path, "rb", buffering=_READ_BUFFER_BYTES) as lines:
        if known is None or not _only_grew(lines.fileno(), known):
            header = find_header(os.pread(lines.fileno(), HEADER_BYTES, 0))
            if header is None:
                return _Reading(None, 0, b"")
            known = _Reading(SessionDigest.of(header), 0, b"")
        digest, end = known.digest, known.end
        assert digest is not None
        lines.seek(end)
        recent = known.tail
        for line in lines:
            if not line.endswith(b"\n"):
                break
            digest.add(line)
            end += len(line)
            recent = line if len(line) >= _TAIL_BYTES else (recent + line)[-_TAIL_BYTES:]
    return _Reading(digest, end, recent[-_TAIL_BYTES:])


def _only_grew(descriptor: int, known: _Reading) -> bool:
    if known.digest is None:
        return False
    return os.pread(descriptor, len(known.tail), known.end - len(known.tail)) == known.tail


Progress = Callable[[int, int], None]
_T = TypeVar("_T")

# So many files are read before others may use the cache and progress is told.
_BATCH = 50

_ENCODER = msgspec.msgpack.Encoder()
_DIGEST = msgspec.msgpack.Decoder(SessionDigest)

_KNOWN = "SELECT path, id, inode, size, mtime_ns, read_to, tail, digest FROM sessions"
_KEEP = """
INSERT INTO sessions (path, inode, size, mtime_ns, read_to, tail, digest)
VALUES (:path, :inode, :size, :mtime_ns, :read_to, :tail, :digest)
ON CONFLICT (path) DO UPDATE SET
    inode = :inode, size = :size, mtime_ns = :mtime_ns, read_to = :read_to, tail = :tail, digest = :digest
"""


class _Known(NamedTuple):
    """A row of the cache."""

    path: str
    id: int
    inode: int
    size: int
    mtime_ns: int
    read_to: int
    tail: bytes
    digest: bytes | None

    def is_current(self, file: SessionFile) -> bool:
        return (self.inode, self.size, self.mtime_ns) == (file.inode, file.size, file.mtime_ns)

    def reading(self) -> _Reading:
        return _Reading(_DIGEST.decode(self.digest) if self.digest is not None else None, self.read_to, self.tail)


class Catalogue:
    """The sessions in some folders. For one thread, and to be closed: use it with `with`.

    Args:
        cwd: the directory that is `here`.
    """

    def __init__(self, cache: Path, roots: Sequence[SessionRoot], cwd: str) -> None:
        self._cache = cache
        self._roots = roots
        self._cwd = cwd
        self._database = open_database(cache)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def summaries(self, scope: SessionScope, progress: Progress | None = None) -> list[SessionSummary]:
        """What there is, the newest first. Text is not looked at, so that even the first list comes soon."""
        return self._surely(lambda: [listed.summary for listed in self._listed(scope, progress)])

    def usage(self, scope: SessionScope) -> list[UsageRow]:
        """What was used in each session, by model and day."""
        listed = self._surely(lambda: self._listed(scope))
        return [row for one in listed for row in _usage(one.summary.path, one.digest)]

    def summary(self, path: Path) -> tuple[SessionSummary, list[UsageRow]]:
        """One session, wherever it is, and what it used. Read anew and not kept.

        Raises:
            SessionReadError: it cannot be read.
            NotASessionError: it is something else.
        """
        try:
            status = path.stat()
            pi_s = any(root.origin == "pi" and path.is_relative_to(root.path) for root in self._roots)
            origin: SessionOrigin = "pi" if pi_s else "kaa"
            file = SessionFile.of(str(path), origin, status)
            digest = _read_file(file).digest
        except OSError as error:
            raise SessionReadError(path, error) from error
        if digest is None:
            raise NotASessionError(path, "it does not begin with a session header")
        return _summary(file, digest), _usage(path, digest)

    def search(self, text: str, scope: SessionScope, limit: int, progress: Progress | None = None) -> list[SearchHit]:
        """Where a text stands, the newest sessions first.

        Raises:
            QueryError: the text is not understood.
        """
        query = Query.parse(text.encode("utf-8", "replace").decode())
        if query.is_empty:
            return []

        with contextlib.closing(find(query, self.summaries(scope, progress), progress)) as hits:
            return list(islice(hits, limit))

    def _listed(self, scope: SessionScope, progress: Progress | None = None) -> list["_Listed"]:
        cwd = self._cwd if scope == "here" else None
        listed = [_Listed(row, digest, _summary(file, digest)) for file, row, digest in self._refreshed(cwd, progress)]
        if cwd is not None:
            listed = [one for one in listed if self._is_here(one)]
        return sorted(listed, key=lambda one: one.summary.modified_ms, reverse=True)

    def _is_here(self, listed: "_Listed") -> bool:
        """Folders' names are ambiguous, so the header decides. v1 headers may not know: their folder does."""
        cwd = listed.digest.cwd
        if not cwd:
            return listed.summary.path.parent.name == folder_name(self._cwd)
        return is_same_directory(cwd, self._cwd)

    def _refreshed(self, cwd: str | None, progress: Progress | None) -> list[tuple[SessionFile, int, SessionDigest]]:
        """Bring the cache up to date with the files, and give what it holds of them."""
        files = [file for root in self._roots for file in session_files(root, cwd)]
        known = {row.path: row for folder in self._folders(cwd) for row in self._known_below(folder)}
        stale = [file for file in files if (row := known.get(file.path)) is None or not row.is_current(file)]
        for start in range(0, len(stale), _BATCH):
            if progress is not None:
                progress(start, len(stale))
            self._read(stale[start : start + _BATCH], known)
        if stale and progress is not None:
            progress(len(stale), len(stale))
        present = {file.path for file in files}
        self._drop([row for row in known.values() if row.path not in present])
        if stale:
            known = {row.path: row for folder in self._folders(cwd) for row in self._known_below(folder)}
        rows = ((file, known[file.path]) for file in files if file.path in known)
        return [(file, row.id, _DIGEST.decode(row.digest)) for file, row in rows if row.digest is not None]

    def _folders(self, cwd: str | None) -> list[Path]:
        return [root.path if cwd is None or root.is_flat else root.path / folder_name(cwd) for root in self._roots]

    def _known_below(self, folder: Path) -> list["_Known"]:
        # All paths below a folder sort between these two: `0` follows the slash.
        bounds = (os.fsencode(folder) + b"/", os.fsencode(folder) + b"0")
        rows = self._database.execute(f"{_KNOWN} WHERE path > ? AND path < ?", bounds)
        return [_Known(os.fsdecode(path), *rest) for path, *rest in rows]

    def _row(self, path: str) -> "_Known | None":
        found = self._database.execute(f"{_KNOWN} WHERE path = ?", (os.fsencode(path),)).fetchone()
        return _Known(path, *found[1:]) if found is not None else None

    def _read(self, files: Sequence[SessionFile], known: dict[str, "_Known"]) -> None:
        readings = []
        for file in files:
            row = known.get(file.path)
            # Another file in its place may end alike.
            before = row.reading() if row is not None and row.inode == file.inode else None
            with contextlib.suppress(OSError):  # it may have gone, or may not be read
                readings.append((file, _read_file(file, before)))
        with transaction(self._database):
            for file, reading in readings:
                row = known.get(file.path)
                if self._row(file.path) != row:
                    continue  # another process has read it meanwhile
                self._keep(file, reading)

    def _keep(self, file: SessionFile, reading: _Reading) -> None:
        digest = reading.digest
        self._database.execute(
            _KEEP,
            {
                **file._asdict(),
                "path": os.fsencode(file.path),
                "read_to": reading.end,
                "tail": reading.tail,
                "digest": _ENCODER.encode(digest) if digest is not None else None,
            },
        )

    def _drop(self, gone: Sequence["_Known"]) -> None:
        if gone:
            with transaction(self._database):
                for row in gone:
                    self._database.execute("DELETE FROM sessions WHERE id = ?", (row.id,))

    def _surely(self, work: Callable[[], _T]) -> _T:
        """Do `work` with the cache; where it fails, with a new one, and where that cannot be kept, in memory."""
        try:
            return work()
        except (sqlite3.DatabaseError, msgspec.DecodeError) as error:
            self._database.close()
            self._database = in_memory() if is_circumstance(error) else rebuilt(self._cache)
            return work()


class _Listed(NamedTuple):
    row: int
    digest: SessionDigest
    summary: SessionSummary


def _usage(path: Path, digest: SessionDigest) -> list[UsageRow]:
    return [UsageRow(path, *msgspec.structs.astuple(used)) for used in digest.used]


def _summary(file: SessionFile, digest: SessionDigest) -> SessionSummary:
    created_ms = unix_milliseconds(digest.timestamp)
    return SessionSummary(
        path=Path(file.path),
        id=digest.id,
        cwd=digest.cwd,
        name=digest.name or None,
        first_message=digest.first_message,
        created_ms=created_ms,
        modified_ms=digest.spoken_ms or created_ms or file.mtime_ns // 1_000_000,
        message_count=digest.message_count,
        parent=Path(digest.parent) if digest.parent is not None else None,
        size=file.size,
        origin=file.origin,
    )
