"""Replacing quoted pieces of a file so that every byte outside of them stays as it is.

All quotes are matched against the original and applied all or none. Lines that a quote and its replacement
share keep the file's own bytes, so that context a model quotes loosely is never rewritten; new lines get the
line ending of the lines around them.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, chain, pairwise
from typing import TypeAlias

import msgspec

from kaa.builtin.encoding import TextEncoding, UnencodableTextError, detect_encoding
from kaa.builtin.nearest_text import describe_nearest
from kaa.builtin.replacement import EditError, Replacement
from kaa.builtin.text_match import LINE_ENDING, MAX_OCCURRENCES, Haystack, Occurrence

_LINE_ENDING_KEPT = re.compile(f"({LINE_ENDING.pattern})")
_MAX_LINES_NAMED = 20

_Line: TypeAlias = tuple[str, str]


class Substitution(msgspec.Struct, frozen=True):
    """`text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str


class EditedText(msgspec.Struct, frozen=True):
    """A file before and after. `changes` are in offsets of `text`, ordered, without overlap."""

    text: str
    changes: tuple[Substitution, ...]
    data: bytes


def edit_bytes(data: bytes, replacements: Sequence[Replacement]) -> EditedText:
    """Apply all replacements to a file's content.

    Raises:
        EditError: nothing can be applied, because some replacement cannot; the message names which and why.
    """
    encoding = detect_encoding(data)
    text = encoding.decode(data)
    changes = tuple(plan_changes(text, replacements))
    return EditedText(text, changes, _apply(data, encoding, text, changes))


def plan_changes(text: str, replacements: Sequence[Replacement]) -> list[Substitution]:
    """What to change in `text`, in order.

    Raises:
        EditError: a quote is missing, ambiguous, empty, replaced by itself, or overlaps another one.
    """
    haystack = Haystack(text)
    names = [f"edits[{index}]" if len(replacements) > 1 else "the edit" for index in range(len(replacements))]
    located = [
        (_locate(haystack, replacement, name), replacement, name)
        for replacement, name in zip(replacements, names, strict=True)
    ]
    located.sort(key=lambda item: (item[0].start, item[0].end))
    for (before, _, first), (after, _, second) in pairwise(located):
        if after.start < before.end:
            line = line_number(text, after.start)
            raise EditError(f"{first} and {second} overlap in line {line}. Merge them into one edit.")
    changes = [change for found, replacement, _ in located for change in _changes(text, found, replacement)]
    if not changes:
        raise EditError("The file has newText already: nothing would change.")
    return changes


def line_number(text: str, offset: int) -> int:
    """The line of an offset, counted from 1 as other tools count: by line feeds, or else by carriage returns."""
    return 1 + (text.count("\n", 0, offset) if "\n" in text else text.count("\r", 0, offset))


def _locate(haystack: Haystack, replacement: Replacement, name: str) -> Occurrence:
    """The one place of a quote."""
    old, new = replacement.old_text, replacement.new_text
    if not old:
        raise EditError(f"oldText of {name} is empty. Quote the text to replace, or use write for a whole file.")
    if old == new:
        raise EditError(f"oldText and newText of {name} are identical: nothing would change.")
    if LINE_ENDING.sub("\n", old) == LINE_ENDING.sub("\n", new):
        raise EditError(
            f"{name} changes only line endings, which this tool keeps as they are. Convert them by a command."
        )
    occurrences = haystack.find(old)
    if not occurrences:
        raise EditError(f"oldText of {name} was not found. {describe_nearest(haystack.text, old)}")
    if len(occurrences) > 1:
        raise EditError(_ambiguous(haystack.text, occurrences, name))
    return occurrences[0]


def _ambiguous(text: str, occurrences: Sequence[Occurrence], name: str) -> str:
    named = [str(line_number(text, found.start)) for found in occurrences[:_MAX_LINES_NAMED]]
    if len(occurrences) > _MAX_LINES_NAMED:
        named.append("…")
    times = f"at least {MAX_OCCURRENCES}" if len(occurrences) >= MAX_OCCURRENCES else str(len(occurrences))
    where = ", ".join(named)
    return (
        f"oldText of {name} occurs {times} times, in lines {where}. Quote more of the lines around to make it unique."
    )


def _changes(text: str, found: Occurrence, replacement: Replacement) -> Iterator[Substitution]:
    """What really changes where a quote was found: the lines that quote and replacement do not share."""
    old, new = _split_lines(replacement.old_text), _split_lines(replacement.new_text)
    if found.without_final_break:
        old, new = _without_final_break(old), _without_final_break(new)
    lines = _split_lines(text[found.start : found.end])
    starts = list(accumulate((len(body) + len(ending) for body, ending in lines), initial=found.start))
    endings = [ending for _, ending in lines]
    fallback = _ending_around(text, found)
    for old_from, old_to, new_from, new_to in _differences(old, new):
        added: list[str] = []
        for index, (body, ending) in enumerate(new[new_from:new_to], start=old_from):
            added += (body, _ending_at(endings, min(index, old_to - 1), fallback) if ending else "")
        change = Substitution(starts[old_from], starts[old_to], "".join(added))
        if text[change.start : change.end] != change.new:
            yield change


def _split_lines(text: str) -> list[_Line]:
    """The lines of a text as pairs of body and line ending; only the last ending may be empty."""
    pieces = _LINE_ENDING_KEPT.split(text)
    lines = list(zip(pieces[::2], [*pieces[1::2], ""], strict=True))
    return lines if lines[-1][0] else lines[:-1]


def _without_final_break(lines: list[_Line]) -> list[_Line]:
    return [*lines[:-1], (lines[-1][0], "")] if lines else lines


def _differences(old: Sequence[_Line], new: Sequence[_Line]) -> Iterator[tuple[int, int, int, int]]:
    """Where two lists of lines differ: `old[a:b]` against `new[c:d]`. The kind of line ending does not count."""
    old_bodies, new_bodies = ([(body, bool(ending)) for body, ending in lines] for lines in (old, new))
    # The heuristics against popular lines stay on: they keep this linear for long lists of equal lines.
    for tag, *bounds in SequenceMatcher(None, old_bodies, new_bodies).get_opcodes():
        if tag != "equal":
            old_from, old_to, new_from, new_to = bounds
            yield old_from, old_to, new_from, new_to


def _ending_at(endings: Sequence[str], index: int, fallback: str) -> str:
    """The line ending of a line, or of the nearest line before it, or after it, that has one."""
    around = chain(reversed(endings[: index + 1]), endings[index + 1 :])
    return next((ending for ending in around if ending), fallback)


def _ending_around(text: str, found: Occurrence) -> str:
    """The ending of the line in which an occurrence ends, or else of the last line before it."""
    after = LINE_ENDING.search(text, found.end)
    if after is not None:
        return after[0]
    last = max(text.rfind("\n", 0, found.start), text.rfind("\r", 0, found.start))
    if last < 0:
        return "\n"
    return "\r\n" if text.startswith("\r\n", last - 1) and last > 0 else text[last]


def _apply(data: bytes, encoding: TextEncoding, text: str, changes: Sequence[Substitution]) -> bytes:
    """The new content, made of slices of the old one and the new pieces."""
    pieces: list[bytes] = []
    copied = 0
    position = len(encoding.mark)
    offset = 0
    for change in changes:
        position += len(encoding.encode(text[offset : change.start]))
        pieces += (data[copied:position], _encode_new(encoding, change.new))
        position += len(encoding.encode(text[change.start : change.end]))
        copied = position
        offset = change.end
    return b"".join([*pieces, data[copied:]])


def _encode_new(encoding: TextEncoding, text: str) -> bytes:
    try:
        return encoding.encode_new(text)
    except UnencodableTextError as error:
        raise EditError(f"{error}. Use other characters, or write to store the whole file as UTF-8.") from error
