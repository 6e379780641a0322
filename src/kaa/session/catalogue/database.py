"""The catalogue's SQLite file: opened by several processes at once, thrown away whenever something is wrong with it."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from kaa.session.file.append_file import PRIVATE_FILE, create_private_folders

# Counts up with every change of the tables or of what is kept in them: another version's file is built anew.
SCHEMA_VERSION = 4
_BUSY_SECONDS = 3.0

_TABLE = """
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE,
    inode INTEGER NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    read_to INTEGER NOT NULL,
    tail BLOB NOT NULL,
    digest BLOB
);
"""
# Not the file's fault: locked, not ours to read or write, a failing or full disk. (sqlite.org/rescode.html)
_CIRCUMSTANCES = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}
_PRIMARY_CODE = 0xFF  # the rest of a code says more about it


def is_circumstance(error: Exception) -> bool:
    """Whether another file in its place would fare no better."""
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE in _CIRCUMSTANCES


def open_database(path: Path) -> sqlite3.Connection:
    """The cache, made anew when it is missing or of another version; one in memory where none can be kept."""
    try:
        return _open_file(path)
    except OSError:
        return in_memory()
    except sqlite3.DatabaseError as error:
        return in_memory() if is_circumstance(error) else rebuilt(path)


def rebuilt(path: Path) -> sqlite3.Connection:
    """An empty cache in the place of a damaged one. Processes that still use that one end with it in peace."""
    for name in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with contextlib.suppress(OSError):
            name.unlink(missing_ok=True)
    try:
        return _open_file(path)
    except (sqlite3.Error, OSError):
        return in_memory()


def in_memory() -> sqlite3.Connection:
    """A cache for this once."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    _create_tables(connection)
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, and nobody else writes meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _open_file(path: Path) -> sqlite3.Connection:
    create_private_folders(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE))
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        # A lost cache is built again: nothing has to wait for the disk.
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA synchronous = OFF")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, SCHEMA_VERSION):
            raise sqlite3.DatabaseError("of another version")
        if version == 0:
            _create_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables, unless another process has done so meanwhile."""
    with transaction(connection):
        if connection.execute("PRAGMA user_version").fetchone()[0] != 0:
            return
        connection.execute(_TABLE)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
