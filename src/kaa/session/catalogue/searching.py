"""Finds text in session files: as it is, so that code, paths and languages without blanks are found.

There is no index. Reading the bytes of 300 MB of sessions takes about half a second; an index of their trigrams took
230 MB and, the first time, more than twenty seconds (measured with 2,500 sessions).
"""

import contextlib
import os
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

from kaa.core.messages import (
    AssistantMessage,
    Json,
    TextContent,
    ToolCall,
    ToolResultContent,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from kaa.session.catalogue.matching import Query, exactly
from kaa.session.catalogue.records import SearchHit, SessionSummary
from kaa.session.entries import (
    AnyEntry,
    BashExecution,
    BranchSummary,
    Compaction,
    CustomMessage,
    CustomNote,
    Label,
    MessageEntry,
    SessionInfo,
    StoredMessage,
    SystemMessage,
)
from kaa.session.file.decoding import decode_entry, find_glued_entry

# What a tool printed is mostly noise, and its beginning says what it is; a written file is rather looked for.
_OUTPUT_CHARACTERS = 4_000
_ARGUMENT_CHARACTERS = 16_000


def _passage(entry: AnyEntry | None) -> str:
    """The text of an entry; empty if there is nothing to look for. NULs are blanks."""
    return "\n".join(part for part in _parts(entry) if part).replace("\0", " ")


def _parts(entry: AnyEntry | None) -> Iterator[str]:
    match entry:
        case MessageEntry(message=message):
            yield from _message_parts(message)
        case Compaction(summary=summary) | BranchSummary(summary=summary):
            yield summary
        case CustomMessage(content=content):
            yield from _texts(content)
        case Label(label=str(label)):
            yield label
        case SessionInfo(name=name):
            yield name
        case _:
            pass


def _message_parts(message: StoredMessage) -> Iterator[str]:
    match message:
        case UserMessage() | CustomNote():
            yield from _texts(message.content)
        case AssistantMessage():
            for block in message.content:
                match block:
                    case TextContent(text=text):
                        yield text
                    case ToolCall():
                        yield block.name
                        yield from (text[:_ARGUMENT_CHARACTERS] for text in _strings(block.arguments))
                    case _:
                        pass
        case ToolResultMessage():
            yield "\n".join(_texts(message.content))[:_OUTPUT_CHARACTERS]
        case BashExecution():
            yield message.command
            yield message.output[:_OUTPUT_CHARACTERS]
        case SystemMessage():
            pass


def _texts(content: Iterable[UserContent | ToolResultContent] | str) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    else:
        yield from (block.text for block in content if isinstance(block, TextContent))


def _strings(value: Json) -> Iterator[str]:
    """All texts in a JSON value, from the outside in."""
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _strings(inner)
        case list() | tuple():
            for inner in value:
                yield from _strings(inner)
        case _:
            pass


# Programs write these characters as they are, apart from rare escapes as `\u0041`.
_PLAIN = re.compile(r"[ !#-.0-\[\]-~]+")
_OTHER = re.compile(r"[^\x00-\x7f]+")
# Fewer characters of ASCII stand in most lines.
_SELECTIVE = 3
_ESCAPED_PLAIN = re.compile(rb"\\u00[2-7]")
_ESCAPED_PLAIN_START = b"\\u00"
# A character beyond ASCII that is written as it is, and one after it that is escaped, in lower case.
_MIXED = re.compile(rb"\\u(?<=[\x80-\xff]\\u)(?!00[0-7])")
# Each variant of upper and lower case costs one pass over the files.
_MOST_VARIANTS = 4


class Needle:
    r"""Finds the lines of a session file that can match, by their bytes, before any line is decoded.

    A line of JSON can write one character in several ways: as UTF-8, as `\uXXXX`, and some as an escape of two
    characters. The lines found are a superset of those that match.

    Args:
        words: without blanks; a line must contain all of them, in upper or lower case.
    """

    def __init__(self, words: Sequence[str]) -> None:
        plain = max((run for word in words for run in _PLAIN.findall(word)), key=len, default="")
        other = max((run for word in words for run in _OTHER.findall(word)), key=len, default="")
        self._runs = tuple(max(runs, key=len).lower().encode() for word in words if (runs := _PLAIN.findall(word)))
        self._is_plain = bool(plain) and (len(plain) >= _SELECTIVE or not other)
        self._variants = (plain.lower().encode(),) if self._is_plain else _variants(other) if other else ()

    def lines(self, data: bytes) -> Iterator[bytes]:
        """The lines of a file that can match, without their line feeds, the last one first."""
        if not self._variants:
            yield from reversed(data.split(b"\n"))
            return
        lowered = data.lower()
        starts = {start for variant in self._variants for start in _starts(lowered, variant)}
        if not self._is_plain:
            starts.update(data.rfind(b"\n", 0, match.start()) + 1 for match in _MIXED.finditer(lowered))
        elif _ESCAPED_PLAIN_START in data:
            starts.update(data.rfind(b"\n", 0, match.start()) + 1 for match in _ESCAPED_PLAIN.finditer(data))
        for start in sorted(starts, reverse=True):
            end = data.find(b"\n", start)
            end = end if end >= 0 else len(data)
            line = data[start:end]
            if all(lowered.find(run, start, end) >= 0 for run in self._runs) or _ESCAPED_PLAIN_START in line:
                yield line


def _starts(data: bytes, variant: bytes) -> Iterator[int]:
    """Where the lines begin that contain the variant."""
    at = data.find(variant)
    while at >= 0:
        yield data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        at = data.find(variant, end) if end >= 0 else -1


def _variants(text: str) -> tuple[bytes, ...]:
    """The beginning of a text without ASCII, as lines whose ASCII is in lower case can contain it."""
    cases: list[list[str]] = []
    count = 1
    for character in text:
        forms = _forms(character)
        count *= len(forms)
        if cases and count > _MOST_VARIANTS:
            break
        cases.append(forms)
    raw = ["".join(forms).encode("utf-8", "replace") for forms in product(*cases)]
    escaped = ["".join(f"\\u{unit:04x}" for unit in _units(form)).encode() for form in cases[0]]
    return (*raw, *escaped)


def _forms(character: str) -> list[str]:
    """Upper and lower case of a character, as far as they are single characters."""
    forms = {character, character.lower(), character.upper(), character.upper().lower(), character.lower().upper()}
    return sorted(form for form in forms if len(form) == 1)


def _units(character: str) -> Iterator[int]:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2))


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
        text = _passage(entry)
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
