"""The text of all entries, to be searched: as it is, so that code, paths and languages without blanks are found.

Words are cut into trigrams by SQLite (fts5.html#the_trigram_tokenizer): what is looked for may begin and end anywhere
in a word. Shorter terms and regular expressions go through the texts themselves.
"""

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import NamedTuple

from kaa.session.catalogue.database import has_full_text, transaction
from kaa.session.catalogue.matching import Query, exactly
from kaa.session.catalogue.reading import read_passages
from kaa.session.catalogue.records import SessionSummary

_TRIGRAM = 3
_BATCH_BYTES = 4 * 1024 * 1024
# One long session must not crowd out all others.
_HITS_OF_A_SESSION = 5

# What is shown around a match, in characters.
_BEFORE = 60
_AFTER = 160
_ELLIPSIS = "…"

_SPECIAL_TO_LIKE = re.compile("[!%_]")

_FIND = """
SELECT passages.session, entry, text FROM (
    SELECT passages.id, wanted.place,
        row_number() OVER (PARTITION BY passages.session ORDER BY passages.id DESC) AS number
    FROM passages JOIN wanted ON wanted.session = passages.session WHERE {}
) AS best JOIN passages ON passages.id = best.id
WHERE number <= ? ORDER BY place, number LIMIT ?
"""


class _Behind(NamedTuple):
    """A session whose text from `start` to `end` is not known yet; offsets in bytes."""

    row: int
    path: str
    start: int
    end: int


class Found(NamedTuple):
    """A match: the row of its session, and the fields of a `SearchHit`."""

    session: int
    entry_id: str
    before: str
    match: str
    after: str


def index(
    database: sqlite3.Connection, sessions: Container[int], progress: Callable[[int, int], None] | None = None
) -> None:
    """Take in the text that was written since the last time.

    Args:
        database: the cache.
        sessions: the rows of those that matter now.
        progress: told how many files of how many are read.
    """
    rows = database.execute("SELECT id, path, indexed_to, read_to FROM sessions WHERE indexed_to < read_to")
    behind = [_Behind(row, os.fsdecode(path), start, end) for row, path, start, end in rows if row in sessions]
    done = 0
    for batch in _batches(behind):
        if progress is not None:
            progress(done, len(behind))
        with transaction(database):
            for one in batch:
                with contextlib.suppress(OSError):  # it may have gone, or may not be read
                    _index_session(database, one)
        done += len(batch)
    if behind and progress is not None:
        progress(done, done)


def _batches(behind: Sequence[_Behind]) -> Iterator[list[_Behind]]:
    """Some megabytes each: while one is taken in, no other process can write to the cache."""
    batch: list[_Behind] = []
    size = 0
    for one in behind:
        batch.append(one)
        size += one.end - one.start
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _index_session(database: sqlite3.Connection, behind: _Behind) -> None:
    # Another process may have done it meanwhile; two would find everything twice.
    claim = "UPDATE sessions SET indexed_to = ? WHERE id = ? AND indexed_to = ? AND read_to = ?"
    if not database.execute(claim, (behind.end, behind.row, behind.start, behind.end)).rowcount:
        return
    full_text = has_full_text(database)
    for entry_id, text in read_passages(behind.path, behind.start, behind.end):
        added = database.execute(
            "INSERT INTO passages (session, entry, text) VALUES (?, ?, ?)", (behind.row, entry_id, text)
        )
        if full_text:
            database.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (added.lastrowid, text))


def forget(database: sqlite3.Connection, row: int) -> None:
    """Let go of a session's text, within a transaction."""
    of_session = "FROM passages WHERE session = ?"
    if has_full_text(database):
        database.execute(f"INSERT INTO words (words, rowid, text) SELECT 'delete', id, text {of_session}", (row,))
    database.execute(f"DELETE {of_session}", (row,))
    database.execute("UPDATE sessions SET indexed_to = 0 WHERE id = ?", (row,))


def find(database: sqlite3.Connection, query: Query, sessions: Mapping[int, SessionSummary], limit: int) -> list[Found]:
    """Where the query matches, in the order of `sessions`."""
    patterns = [query.pattern] if query.pattern is not None else [exactly(term) for term in query.terms]
    database.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (place INTEGER PRIMARY KEY, session INTEGER UNIQUE)")
    database.execute("DELETE FROM wanted")
    database.executemany("INSERT INTO wanted VALUES (?, ?)", enumerate(sessions))
    database.create_function("fits", 1, lambda text: all(pattern.search(text) for pattern in patterns))
    condition, values = _condition(query, has_full_text(database))
    matches = database.execute(_FIND.format(condition), (*values, _HITS_OF_A_SESSION, limit))
    return [_found(session, entry, text, patterns) for session, entry, text in matches]


def _condition(query: Query, is_indexed: bool) -> tuple[str, list[str]]:
    """Which passages match, in SQL: the index, SQLite's comparison and ours look at what the one before left."""
    words = [word for term in query.terms for word in term.split()]
    trigrams = sorted({trigram for word in words for trigram in _trigrams(word)}) if is_indexed else []
    alike = [word for word in words if _is_compared_alike(word)]
    conditions, values = [], []
    if trigrams:
        conditions.append("passages.id IN (SELECT rowid FROM words WHERE words MATCH ?)")
        values.append(" AND ".join('"{}"'.format(trigram.replace('"', '""')) for trigram in trigrams))
    for word in alike:
        conditions.append("passages.text LIKE ? ESCAPE '!'")
        values.append("%" + _SPECIAL_TO_LIKE.sub(r"!\g<0>", word) + "%")
    if len(alike) < len(words) or len(words) > len(query.terms) or query.pattern is not None:
        conditions.append("fits(passages.text)")
    return " AND ".join(conditions), values


def _trigrams(word: str) -> Iterator[str]:
    return (word[start : start + _TRIGRAM] for start in range(len(word) - _TRIGRAM + 1))


def _is_compared_alike(word: str) -> bool:
    """Whether LIKE, which knows upper and lower case of ASCII only, compares the word as we do."""
    return all(character.isascii() or character.lower() == character.upper() for character in word)


def _found(session: int, entry: str, text: str, patterns: Sequence[re.Pattern[str]]) -> Found:
    """The first match in a text, with what stands around it on its line."""
    match = min((match for pattern in patterns if (match := pattern.search(text))), key=re.Match.start, default=None)
    start, end = match.span() if match is not None else (0, 0)
    line_start = text.rfind("\n", 0, start) + 1
    before = text[max(line_start, start - _BEFORE) : start]
    after = text[end : end + _AFTER]
    return Found(
        session,
        entry,
        f"{_ELLIPSIS}{before}" if start - _BEFORE > line_start else before,
        text[start:end],
        f"{after}{_ELLIPSIS}" if end + _AFTER < len(text) else after,
    )
