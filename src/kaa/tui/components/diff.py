"""A diff: lines with their numbers, and in lines that were replaced the words that changed."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from kaa.tui.components.code import hard_wrap
from kaa.tui.components.display import Display
from kaa.tui.components.text import harmless
from kaa.tui.context import Context
from kaa.tui.style import INVERSE, Span, Style, join, paint, paint_spans
from kaa.tui.width import clip

_Sign: TypeAlias = Literal["+", "-", " ", ""]

# A sign, the line's number padded to the left, a space, and the line. Left out lines have three dots and no number.
_NUMBERED = re.compile(r"([-+ ])( *)(\d*) (.*)")
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@.*")
_HUNK_LINE = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)


class _DiffLine(NamedTuple):
    """A line of a diff.

    Attributes:
        sign: what happened to it; empty for what is said about the diff.
        number: its number, in the old text if it was removed, else in the new one; None if there is none.
        text: the line, without the sign.
    """

    sign: _Sign
    number: int | None
    text: str


def _read_diff(diff: str) -> Iterator[_DiffLine]:
    """The lines of a diff, one by one."""
    lines = diff.removesuffix("\n").split("\n") if diff else []
    return _unified(lines) if _HUNK_LINE.search(diff) else map(_numbered, lines)


def _numbered(line: str) -> _DiffLine:
    match = _NUMBERED.fullmatch(line)
    if match is None or (not match[3] and match[4] != "..."):
        return _DiffLine("", None, line)
    if not match[3]:
        return _DiffLine("", None, match[4])
    return _DiffLine(_sign(match[1]), int(match[3]), match[4])


def _unified(lines: Iterable[str]) -> Iterator[_DiffLine]:
    old = new = 0
    in_hunk = False
    for line in lines:
        hunk = _HUNK.fullmatch(line)
        if hunk:
            old, new, in_hunk = int(hunk[1]), int(hunk[2]), True
            yield _DiffLine("", None, line)
        elif not in_hunk or line[:1] not in ("+", "-", " ", ""):
            # Names of files, modes, "\ No newline at end of file".
            in_hunk = in_hunk and line.startswith("\\")
            yield _DiffLine("", None, line)
        else:
            sign = _sign(line[:1])
            yield _DiffLine(sign, old if sign == "-" else new, line[1:])
            old += sign != "+"
            new += sign != "-"


def _sign(character: str) -> _Sign:
    match character:
        case "+":
            return "+"
        case "-":
            return "-"
    return " "


# From one position in a text up to another.
_Range: TypeAlias = tuple[int, int]
# For a line that was replaced, and for the one that it was replaced by.
_Marks: TypeAlias = tuple[list[_Range], list[_Range]]

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
# Lines that have less than this share of their words in common are not two versions of one line.
_LEAST_ALIKE = 0.4
# Of a change of more lines than this, lines are paired in order; of longer ones words are not compared.
_MOST_PAIRED = 40
_MOST_WORDS = 400


def _pair_lines(removed: Sequence[str], added: Sequence[str]) -> list[tuple[int, int]]:
    """Indices of lines that seem to be the same line before and after, in order."""
    if len(removed) == len(added) and (len(removed) > _MOST_PAIRED or len(removed) == 1):
        return [(index, index) for index in range(len(removed))]
    if max(len(removed), len(added)) > _MOST_PAIRED:
        return []
    likeness = [[_likeness(one, other) for other in added] for one in removed]
    # The sequence of pairs, without crossings, that is most alike in sum (as in Needleman and Wunsch's alignment).
    best = [[0.0] * (len(added) + 1) for _ in range(len(removed) + 1)]
    for row in range(len(removed) - 1, -1, -1):
        for column in range(len(added) - 1, -1, -1):
            best[row][column] = max(
                best[row + 1][column],
                best[row][column + 1],
                best[row + 1][column + 1] + likeness[row][column],
            )
    pairs = []
    row = column = 0
    while row < len(removed) and column < len(added):
        if likeness[row][column] and best[row][column] == best[row + 1][column + 1] + likeness[row][column]:
            pairs.append((row, column))
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1
    return pairs


def _changed_words(old: str, new: str) -> _Marks:
    """Where the words are that changed; nowhere if all did, or too much to be worth showing."""
    if _likeness(old, new) == 0:
        return [], []
    before, after = _WORD.findall(old), _WORD.findall(new)
    if max(len(before), len(after)) > _MOST_WORDS:
        return [], []
    marks: _Marks = ([], [])
    old_position = new_position = 0
    for kind, old_start, old_end, new_start, new_end in SequenceMatcher(None, before, after, False).get_opcodes():
        old_length = sum(map(len, before[old_start:old_end]))
        new_length = sum(map(len, after[new_start:new_end]))
        if kind != "equal":
            _add(marks[0], old, old_position, old_position + old_length)
            _add(marks[1], new, new_position, new_position + new_length)
        old_position += old_length
        new_position += new_length
    return marks


def _add(ranges: list[_Range], text: str, start: int, end: int) -> None:
    """Mark a range, together with the one before if there is only a space between them."""
    if start == end:
        return
    if ranges and text[ranges[-1][1] : start].isspace():
        start = ranges.pop()[0]
    ranges.append((start, end))


def _likeness(one: str, other: str) -> float:
    """The share of the words that both have, 0 if it is small."""
    words, other_words = _words(one), _words(other)
    total = words.total() + other_words.total()
    shared = 2 * (words & other_words).total() / total if total else 0.0
    return shared if shared >= _LEAST_ALIKE else 0.0


@lru_cache(maxsize=4 * _MOST_PAIRED)
def _words(text: str) -> Counter[str]:
    return Counter(word for word in _WORD.findall(text) if not word.isspace())


_TOKENS: dict[_Sign, str] = {
    "+": "toolDiffAdded",
    "-": "toolDiffRemoved",
    " ": "toolDiffContext",
    "": "muted",
}
# Beside numbers at least this much is left for the text; else they are left out.
_NARROWEST = 12


class DiffView(Display):
    """A diff, as kaa's and pi's edits make it, or a unified one.

    Args:
        context: what all components know.
        diff: foreign text.
        max_lines: how many of its lines are shown; a last line tells how many were left out. None shows all.
        hint: said behind the number of lines that were left out, such as how to see them.
        numbers: whether lines have their numbers; where those of a unified diff are not the file's, they would mislead.
    """

    def __init__(
        self,
        context: Context,
        diff: str,
        max_lines: int | None = None,
        *,
        hint: str = "",
        numbers: bool = True,
    ) -> None:
        super().__init__(context)
        self._diff = diff
        self._hint = hint
        self._max_lines = max_lines
        self._numbers = numbers

    def _paint(self, width: int) -> list[str]:
        all_lines = _read_diff(self._diff) if self._numbers else self._unnumbered()
        lines = [line._replace(text=harmless(line.text)) for line in islice(all_lines, self._max_lines)]
        left_out = sum(1 for _ in all_lines)
        digits = max((len(str(line.number)) for line in lines if line.number is not None), default=0)
        if width < digits + 2 + _NARROWEST:
            digits = 0
        painted: list[str] = []
        for line, marks in _marked(lines):
            painted += self._line(line, marks, digits, width)
        if left_out:
            ellipsis = self._context.glyphs.ellipsis
            more = f"{ellipsis} {left_out} more line{'s' if left_out > 1 else ''}{self._hint}"
            painted.append(paint(clip(more, width), self._context.palette["muted"]))
        return painted

    def _unnumbered(self) -> Iterator[_DiffLine]:
        """The lines without numbers; where a hunk begins, something was left out."""
        for index, line in enumerate(_read_diff(self._diff)):
            if line.sign or not line.text.startswith("@@"):
                yield line._replace(number=None)
            elif index:
                yield _DiffLine("", None, self._context.glyphs.ellipsis)

    def _line(self, line: _DiffLine, marks: Sequence[_Range], digits: int, width: int) -> Iterator[str]:
        style = self._context.palette[_TOKENS[line.sign]]
        number = f"{'' if line.number is None else line.number:>{digits}} " if digits else ""
        gutter = f"{line.sign or ' '}{number}"[: width - 1]
        spans = _with_marks(line.text, style, marks)
        # Never reflowed: what is copied is what is in the file.
        for index, piece in enumerate(hard_wrap(list(spans), width - len(gutter))):
            yield paint_spans([(gutter if index == 0 else " " * len(gutter), style), *piece]).rstrip(" ")


def _marked(lines: Sequence[_DiffLine]) -> Iterator[tuple[_DiffLine, Sequence[_Range]]]:
    """The lines, each with what changed within it."""
    position = 0
    while position < len(lines):
        removed = _run(lines, position, "-")
        added = _run(lines, position + len(removed), "+")
        if not removed or not added:
            # Nothing was replaced.
            for line in removed or added or lines[position : position + 1]:
                yield line, ()
            position += len(removed or added) or 1
            continue
        old_marks: dict[int, list[_Range]] = {}
        new_marks: dict[int, list[_Range]] = {}
        for one, other in _pair_lines([line.text for line in removed], [line.text for line in added]):
            old_marks[one], new_marks[other] = _changed_words(removed[one].text, added[other].text)
        yield from ((line, old_marks.get(index, ())) for index, line in enumerate(removed))
        yield from ((line, new_marks.get(index, ())) for index, line in enumerate(added))
        position += len(removed) + len(added)


def _run(lines: Sequence[_DiffLine], start: int, sign: _Sign) -> list[_DiffLine]:
    end = start
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return list(lines[start:end])


def _with_marks(text: str, style: Style, marks: Iterable[_Range]) -> Iterator[Span]:
    """The text, with what is in the ranges inverse."""
    position = 0
    for start, end in marks:
        yield text[position:start], style
        yield text[start:end], join(style, INVERSE)
        position = end
    yield text[position:], style
