"""Replacing quoted pieces of a file so that every byte outside of them stays as it is.

All quotes are matched against the original and applied all or none. Lines that a quote and its replacement
share keep the file's own bytes, so that context a model quotes loosely is never rewritten; new lines get the
line ending of the lines around them.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Protocol, TypeAlias

import msgspec

from kaa.builtin.encoding import TextEncoding, UnencodableTextError, detect_encoding
from kaa.builtin.nearest_text import describe_nearest
from kaa.builtin.replacement import EditError, Replacement

# There are three ways to find a quote, strictest first: the very characters; ignoring which line endings are used;
# ignoring also trailing blanks, typographic quotes, dashes and spaces, and Unicode normal forms. The first way that
# finds anything decides. Tolerance only widens what is found: every span is given in offsets of the original text.

_LINE_ENDING = re.compile(r"\r\n|\n|\r")

_BLANKS = " \t"
_TYPOGRAPHIC = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    }
)
_MAX_OCCURRENCES = 1000


class _Occurrence(msgspec.Struct, frozen=True):
    """Where the quoted text is: `text[start:end]`.

    `without_final_break`: the quote ends with a line break that the end of the file lacks.
    """

    start: int
    end: int
    without_final_break: bool = False


class _Haystack:
    """A text in which several quotes are looked for; what the tolerant ways need is computed once, if at all."""

    def __init__(self, text: str) -> None:
        self.text = text

    def find(self, quote: str) -> list[_Occurrence]:
        """All occurrences by the strictest way that has any, in order, at most `_MAX_OCCURRENCES`."""
        return list(self._exact(quote)) or list(self._any_line_endings.find(quote)) or list(self._tolerant.find(quote))

    def _exact(self, quote: str) -> Iterator[_Occurrence]:
        for start in _positions(self.text, quote):
            end = start + len(quote)
            if not (self._inside_crlf(start) or self._inside_crlf(end)):
                yield _Occurrence(start, end)

    def _inside_crlf(self, position: int) -> bool:
        return 0 < position < len(self.text) and self.text[position - 1 : position + 1] == "\r\n"

    @cached_property
    def _lines(self) -> "_Lines":
        return _Lines(self.text)

    @cached_property
    def _any_line_endings(self) -> "_FoldedText":
        return _FoldedText(self._lines, _Verbatim())

    @cached_property
    def _tolerant(self) -> "_FoldedText":
        return _FoldedText(self._lines, _Tolerant())


def _positions(text: str, part: str) -> Iterator[int]:
    """Where `part` is in `text`, overlapping occurrences included."""
    position = text.find(part)
    for _ in range(_MAX_OCCURRENCES):
        if position < 0:
            return
        yield position
        position = text.find(part, position + 1)


class _Lines:
    """The lines of a text without their endings (`bodies`), and where each body starts and ends.

    A text that ends with a line ending has an empty last line.
    """

    def __init__(self, text: str) -> None:
        self.starts = [0]
        self.ends = []
        for ending in _LINE_ENDING.finditer(text):
            self.ends.append(ending.start())
            self.starts.append(ending.end())
        self.ends.append(len(text))
        self.bodies = [text[start:end] for start, end in zip(self.starts, self.ends, strict=True)]


class _Folding(Protocol):
    """A way to make lines equal that are meant to be the same, and the way back."""

    completes_last_line: bool

    def fold(self, body: str) -> str:
        """The line as it is compared."""

    def column(self, body: str, folded_column: int) -> int | None:
        """The column of the original line, None if the folded column is inside of one of its characters."""


class _Verbatim:
    """Lines are compared as they are: only their endings do not count."""

    completes_last_line = False

    def fold(self, body: str) -> str:
        return body

    def column(self, body: str, folded_column: int) -> int | None:  # columns are the same
        return folded_column


class _Tolerant:
    """Trailing blanks, typography and Unicode normal forms do not count, nor a missing last line break.

    Decomposition (NFKD) makes the same texts equal as composition (NFKC) does, and works character by character,
    which is what makes the way back exact.
    """

    completes_last_line = True

    def fold(self, body: str) -> str:
        if body.isascii():
            return body.rstrip(_BLANKS)
        return unicodedata.normalize("NFKD", body).translate(_TYPOGRAPHIC).rstrip(_BLANKS)

    def column(self, body: str, folded_column: int) -> int | None:
        if body.isascii():
            return folded_column
        folded_length = 0
        for column, character in enumerate(body):
            decomposed = unicodedata.normalize("NFKD", character)
            if folded_length >= folded_column and not unicodedata.combining(decomposed[0]):
                return column if folded_length == folded_column else None
            folded_length += len(decomposed)
        return len(body) if folded_length == folded_column else None


class _FoldedText:
    """The lines of a text folded and joined by line feeds, and the way back to original offsets."""

    def __init__(self, lines: _Lines, folding: _Folding) -> None:
        self._lines = lines
        self._folding = folding
        self._folded = [folding.fold(body) for body in lines.bodies]
        self._completed = folding.completes_last_line and lines.bodies[-1] != ""
        if self._completed:
            self._folded.append("")
        self._text = "\n".join(self._folded)
        lengths = (len(body) + 1 for body in self._folded[:-1])
        self._starts = list(accumulate(lengths, initial=0))

    def find(self, quote: str) -> Iterator[_Occurrence]:
        """The occurrences of a quote, folded like the text; those that would cut a character in two are none."""
        bodies = _LINE_ENDING.split(quote)
        needle = "\n".join(self._folding.fold(body) for body in bodies)
        if not needle:
            return
        blanks_dropped = bodies[-1].endswith((" ", "\t")) and not needle.endswith((" ", "\t"))
        for position in _positions(self._text, needle):
            start = self._original_start(position)
            end = self._original_end(position + len(needle), whole_line=blanks_dropped)
            if start is not None and end is not None:
                at_completion = self._completed and position + len(needle) == len(self._text)
                yield _Occurrence(start, end, without_final_break=at_completion)

    def _original_start(self, position: int) -> int | None:
        """The original offset of a folded position; at the end of a line, after the blanks that folding dropped."""
        line, column = self._line_and_column(position)
        if column == len(self._folded[line]):
            return self._lines.ends[line]
        return self._offset(line, column)

    def _original_end(self, position: int, *, whole_line: bool) -> int | None:
        """The original offset of a folded position; at the end of a line, before the blanks that folding dropped.

        With `whole_line` only the end of a line will do, and its trailing blanks are included.
        """
        line, column = self._line_and_column(position)
        if line == len(self._lines.bodies):
            return self._lines.ends[-1]
        if whole_line:
            return self._lines.ends[line] if column == len(self._folded[line]) else None
        return self._offset(line, column)

    def _line_and_column(self, position: int) -> tuple[int, int]:
        line = bisect_right(self._starts, position) - 1
        return line, position - self._starts[line]

    def _offset(self, line: int, folded_column: int) -> int | None:
        column = self._folding.column(self._lines.bodies[line], folded_column)
        return None if column is None else self._lines.starts[line] + column


_LINE_ENDING_KEPT = re.compile(f"({_LINE_ENDING.pattern})")
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
    haystack = _Haystack(text)
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


def _locate(haystack: _Haystack, replacement: Replacement, name: str) -> _Occurrence:
    """The one place of a quote."""
    old, new = replacement.old_text, replacement.new_text
    if not old:
        raise EditError(f"oldText of {name} is empty. Quote the text to replace, or use write for a whole file.")
    if old == new:
        raise EditError(f"oldText and newText of {name} are identical: nothing would change.")
    if _LINE_ENDING.sub("\n", old) == _LINE_ENDING.sub("\n", new):
        raise EditError(
            f"{name} changes only line endings, which this tool keeps as they are. Convert them by a command."
        )
    occurrences = haystack.find(old)
    if not occurrences:
        raise EditError(f"oldText of {name} was not found. {describe_nearest(haystack.text, old)}")
    if len(occurrences) > 1:
        raise EditError(_ambiguous(haystack.text, occurrences, name))
    return occurrences[0]


def _ambiguous(text: str, occurrences: Sequence[_Occurrence], name: str) -> str:
    named = [str(line_number(text, found.start)) for found in occurrences[:_MAX_LINES_NAMED]]
    if len(occurrences) > _MAX_LINES_NAMED:
        named.append("…")
    times = f"at least {_MAX_OCCURRENCES}" if len(occurrences) >= _MAX_OCCURRENCES else str(len(occurrences))
    where = ", ".join(named)
    return (
        f"oldText of {name} occurs {times} times, in lines {where}. Quote more of the lines around to make it unique."
    )


def _changes(text: str, found: _Occurrence, replacement: Replacement) -> Iterator[Substitution]:
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


def _ending_around(text: str, found: _Occurrence) -> str:
    """The ending of the line in which an occurrence ends, or else of the last line before it."""
    after = _LINE_ENDING.search(text, found.end)
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
