"""Where text being edited is on the screen: rows wrapped at words, with a place for the caret behind every character.

Joined, the rows give the text without its line feeds. Text fills a row but for its last cell, which is for the caret;
a space may hang in it.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import NamedTuple

from kaa.tui.width import cells, graphemes, is_narrow

_TAB = "    "
_WIDE = 2
# Lines longer than this are not laid out from their beginning when something is added to them.
_LONG = 2000
_LONGEST_GRAPHEME = 64


class TextRow(NamedTuple):
    """What is shown in a row.

    Attributes:
        start: offset of its first character in the text.
        end: offset behind its last one.
        ends_line: a line of the text ends here, by a line feed or with the text.
    """

    start: int
    end: int
    ends_line: bool


class _Glyph(NamedTuple):
    start: int
    text: str
    cells: int


class TextLayout:
    """The rows of a text at a width. Lines that were there before are not laid out again.

    Args:
        label: what is shown for a character that stands for something else; None if it stands for itself.
        width: of the rows, in cells, until `update` says something else.
    """

    def __init__(self, label: Callable[[str], str | None], width: int) -> None:
        self._label = label
        self._text = ""
        self._width = max(1, width)
        self._lines = [""]
        self._starts = [0]
        # For each line of the text: where its rows start, as offsets into the line, and the number of its first row.
        self._breaks: list[tuple[int, ...]] = [(0,)]
        self._first_rows = [0, 1]
        self._known: dict[str, tuple[int, ...]] = {}

    def update(self, text: str, width: int | None = None) -> None:
        """Lay out `text` in rows of `width` cells, at least one, or as wide as they are."""
        width = self._width if width is None else max(1, width)
        if text is self._text and width == self._width:
            return
        known = self._known if width == self._width else {}
        before = self._lines if width == self._width else []
        self._text, self._width = text, width
        self._lines = text.split("\n")
        for number in [number for number, line in enumerate(self._lines) if line not in known]:
            line = self._lines[number]
            known[line] = self._wrap(line, before[number] if number < len(before) else "", known)
        self._breaks = [known[line] for line in self._lines]
        self._known = dict(zip(self._lines, self._breaks, strict=True))
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))[:-1]
        self._first_rows = list(accumulate(map(len, self._breaks), initial=0))

    @property
    def width(self) -> int:
        """Of a row, in cells."""
        return self._width

    @property
    def row_count(self) -> int:
        """How many rows there are, at least one."""
        return self._first_rows[-1]

    def row(self, number: int) -> TextRow:
        """What is in a row."""
        line = bisect_right(self._first_rows, number) - 1
        start, breaks = self._starts[line], self._breaks[line]
        within = number - self._first_rows[line]
        if within + 1 < len(breaks):
            return TextRow(start + breaks[within], start + breaks[within + 1], ends_line=False)
        return TextRow(start + breaks[within], start + len(self._lines[line]), ends_line=True)

    def locate(self, offset: int) -> tuple[int, int]:
        """Row and column, in cells, of the character at `offset`."""
        line = bisect_right(self._starts, offset) - 1
        column = offset - self._starts[line]
        within = bisect_right(self._breaks[line], column) - 1
        return self._first_rows[line] + within, self._cells(self._lines[line][self._breaks[line][within] : column])

    def offset(self, row: int, column: int) -> int:
        """The offset of what is at a place, of the row's last character if the row ends before it."""
        start, end, ends_line = self.row(row)
        at = start
        for glyph in self._glyphs(self._text[start:end]):
            if column < glyph.cells:
                return start + glyph.start
            column -= glyph.cells
            # The end of a row that is wrapped is the start of the next.
            behind = start + glyph.start + len(glyph.text)
            at = behind if ends_line or behind < end else start + glyph.start
        return at

    def shown(self, start: int, end: int) -> str:
        """What is shown for the text between two offsets in a row."""
        text = self._text[start:end]
        return text if _is_plain(text) else "".join(self._appearance(glyph.text) for glyph in self._glyphs(text))

    def is_label(self, offset: int) -> bool:
        """Whether the character at `offset` stands for something else."""
        return self._label(self._text[offset]) is not None

    def _wrap(self, line: str, before: str, known: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
        """Where the rows of a line start, which had been `before`."""
        limit = max(1, self._width - 1)
        if _is_plain(line):
            return _wrap_plain(line, limit)
        starts = [0]
        if len(line) > _LONG and before in known:
            # What decides where a row ends is in the next one at the latest, and graphemes are short.
            same = _common_prefix(line, before) - _LONGEST_GRAPHEME
            starts += [start for start in known[before][1:] if start < same][:-2]
        return self._wrap_any(line, limit, starts)

    def _wrap_any(self, line: str, limit: int, starts: list[int]) -> tuple[int, ...]:
        used = 0  # cells of the row so far
        gap, used_at_gap = starts[-1], 0  # where the row may be broken, and its cells up to there
        for start, text, width in self._glyphs(line, starts[-1]):
            is_space = text.isspace()
            stands_alone = width >= _WIDE and not is_space
            if stands_alone:
                gap, used_at_gap = start, used
            while used + width > limit + is_space and start > starts[-1]:
                if gap > starts[-1]:
                    starts.append(gap)
                    used -= used_at_gap
                else:
                    starts.append(start)
                    used = 0
                used_at_gap = 0
            used += width
            if is_space or stands_alone:
                gap, used_at_gap = start + len(text), used
        if used > limit and len(line) > starts[-1]:
            starts.append(len(line))
        return tuple(starts)

    def _cells(self, text: str) -> int:
        return len(text) if _is_plain(text) else sum(glyph.cells for glyph in self._glyphs(text))

    def _glyphs(self, text: str, start: int = 0) -> Iterator[_Glyph]:
        for grapheme in graphemes(text[start:]):
            # What a label is shown for keeps its place when a joiner or an accent follows it.
            parts = (grapheme[0], grapheme[1:]) if len(grapheme) > 1 and self._label(grapheme[0]) else (grapheme,)
            for part in parts:
                yield _Glyph(start, part, cells(self._appearance(part)))
                start += len(part)

    def _appearance(self, grapheme: str) -> str:
        if grapheme == "\t":
            return _TAB[: max(1, self._width - 1)]
        if len(grapheme) == 1 and (label := self._label(grapheme)):
            return label[: max(1, self._width - 1)]
        return grapheme


def _is_plain(text: str) -> bool:
    return "\t" not in text and is_narrow(text)


def _wrap_plain(line: str, limit: int) -> tuple[int, ...]:
    starts = [0]
    at = 0
    while len(line) - at > limit:
        space = line.rfind(" ", at, at + limit + 1)
        at = space + 1 if space >= at else at + limit
        starts.append(at)
    return tuple(starts)


def _common_prefix(one: str, other: str) -> int:
    """How long it is; by halving, because comparing slices is fast and comparing characters is not."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
