"""Finds text in session files: as it is, so that code, paths and languages without blanks are found.

There is no index. Reading the bytes of 300 MB of sessions takes about half a second; an index of their trigrams took
230 MB and, the first time, more than twenty seconds (measured with 2,500 sessions).
"""

import contextlib
import os
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

from kaa.session.catalogue.matching import Query, exactly
from kaa.session.catalogue.needle import Needle
from kaa.session.catalogue.passages import passage
from kaa.session.catalogue.records import SearchHit, SessionSummary
from kaa.session.file.decoding import decode_entry, find_glued_entry

# One long session must not crowd out all others.
_HITS_OF_A_SESSION = 5
# A file is searched in pieces of whole lines, so that memory does not grow with it.
_PIECE_BYTES = 32 * 1024 * 1024
# Files between two reports of progress.
_REPORTED_FILES = 100

# What is shown around a match, in characters.
_BEFORE = 60
_AFTER = 160
_ELLIPSIS = "…"


def find(
    query: Query, sessions: Sequence[SessionSummary], progress: Callable[[int, int], None] | None = None
) -> Generator[SearchHit, None, None]:
    """Where the query matches, in the order of `sessions`, in each of them the last entries first.

    Args:
        query: what to look for.
        sessions: where.
        progress: gets the numbers of searched files and of all.
    """
    patterns = [query.pattern] if query.pattern is not None else [exactly(term) for term in query.terms]
    needle = Needle([word for term in query.terms for word in term.split()])
    try:
        for done, session in enumerate(sessions):
            if progress is not None and done % _REPORTED_FILES == 0:
                progress(done, len(sessions))
            with contextlib.suppress(OSError):  # it may have gone, or may not be read
                yield from _hits(session, needle, patterns)
    finally:
        if progress is not None and sessions:
            progress(len(sessions), len(sessions))


def _hits(session: SessionSummary, needle: Needle, patterns: Sequence[re.Pattern[str]]) -> list[SearchHit]:
    hits: deque[SearchHit] = deque(maxlen=_HITS_OF_A_SESSION)
    for piece in _pieces(session.path):
        hits.extend(reversed(list(_last_hits(session, needle.lines(piece), patterns))))
    return list(reversed(hits))


def _pieces(path: Path) -> Iterator[bytes]:
    """Whole lines. A last line without a line feed is still being written."""
    with path.open("rb", buffering=0) as file:
        rest, left = b"", os.fstat(file.fileno()).st_size
        while data := file.read(min(_PIECE_BYTES, left)):
            left -= len(data)
            lines, line_feed, rest = (rest + data).rpartition(b"\n")
            if line_feed:
                yield lines


def _last_hits(
    session: SessionSummary, lines: Iterator[bytes], patterns: Sequence[re.Pattern[str]]
) -> Iterator[SearchHit]:
    count = 0
    for line in lines:
        entry = decode_entry(line)
        if entry is None and (glued := find_glued_entry(line)):
            entry = decode_entry(line[glued[0] :])
        text = passage(entry)
        if entry is None or not text or not all(pattern.search(text) for pattern in patterns):
            continue
        yield _hit(session, entry.id, text, patterns)
        count += 1
        if count == _HITS_OF_A_SESSION:
            return


def _hit(session: SessionSummary, entry_id: str, text: str, patterns: Sequence[re.Pattern[str]]) -> SearchHit:
    """The first match in a text, with what stands around it on its line."""
    match = min((match for pattern in patterns if (match := pattern.search(text))), key=re.Match.start, default=None)
    start, end = match.span() if match is not None else (0, 0)
    line_start = text.rfind("\n", 0, start) + 1
    before = text[max(line_start, start - _BEFORE) : start]
    after = text[end : end + _AFTER]
    return SearchHit(
        session,
        entry_id,
        f"{_ELLIPSIS}{before}" if start - _BEFORE > line_start else before,
        text[start:end],
        f"{after}{_ELLIPSIS}" if end + _AFTER < len(text) else after,
    )
