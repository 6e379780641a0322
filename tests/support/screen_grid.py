"""The cells of an emulated screen: pyte's, with what pyte does otherwise than terminals of today put right.

Kept of pyte: motions of the cursor, margins, tab stops. Replaced, because pyte

- measures code points, so that emoji sequences, flags and U+FE0F get wrong widths; puts the second half of a wide
  character that does not fit beyond the edge; leaves half a character behind when the other half is overwritten;
- keeps a pending wrap over line feeds and motions, and then erases nothing where terminals erase the last cell;
- erases with all of the current style, where terminals use its background only;
- leaves old lines standing when `delete_lines` meets rows never written to, and shifts cells beyond the edge;
- has a stack for DECSC, where terminals have one place;
- takes a cursor outside a scrolling region for one inside it when it moves up or down;
- gives lines of a scrolling region to the history even if it does not begin at the top;
- drops lines from the top when it gets lower, and never takes them back.
"""

import copy
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from pyte import modes
from pyte.screens import Char, Cursor, Margins, StaticDefaultDict
from pyte.screens import Screen as PyteScreen
from wcwidth import iter_graphemes, wcswidth, wcwidth

from tests.support.screen_style import PLAIN, Style


class Cell(NamedTuple):
    """What one cell shows. The cell behind a wide character has the empty text."""

    text: str
    style: Style


class _Glyph(Char):
    """A cell as pyte moves it around."""

    style: Style = PLAIN


@lru_cache(65536)
def _glyph(text: str, style: Style) -> _Glyph:
    glyph = _Glyph(text)
    glyph.style = style
    return glyph


_BLANK = _glyph(" ", PLAIN)

# Characters of one cell each that join no other: besides ASCII, those that draw boxes, which rows are full of.
_SINGLE_CELLS = re.compile("[ -~─-╿]+")


class Row(StaticDefaultDict[int, Char]):
    """A row: the cells that are not blank. `is_continued`: the text ran over its end into the next row."""

    def __init__(self) -> None:
        super().__init__(_BLANK)
        self.is_continued = False

    def text(self) -> str:
        """What it shows, without the blanks at its end."""
        return "".join([self[x].data for x in range(max(self, default=-1) + 1)]).rstrip()

    def cells(self, columns: int) -> list[Cell]:
        """All its cells."""
        return [Cell(glyph.data, _style(glyph)) for glyph in (self[x] for x in range(columns))]


def _style(glyph: Char) -> Style:
    return glyph.style if isinstance(glyph, _Glyph) else PLAIN


class Grid(PyteScreen):
    """One screen, main or alternate.

    Args:
        columns: cells in a row.
        rows: rows.
        history: how many lines that scrolled away it keeps.
        by_grapheme: whether it measures grapheme clusters, as kitty, WezTerm, Ghostty and foot do, or code points, as
            xterm does.

    Attributes:
        style: what is written gets it.
        history: the lines that scrolled away at the top, oldest first.
    """

    def __init__(self, columns: int, rows: int, history: int, *, by_grapheme: bool) -> None:
        super().__init__(columns, rows)
        self.buffer = defaultdict(Row)
        self.history: deque[Row] = deque(maxlen=history)
        self.style = PLAIN
        self._by_grapheme = by_grapheme
        self._saved: tuple[Cursor, Style] | None = None
        # The grapheme written last: what follows may belong to it.
        self._last = ""
        self._last_start = self._last_end = (-1, -1)

    def row(self, y: int) -> Row:
        """A row of the screen."""
        row = self.buffer[y]
        assert isinstance(row, Row)
        return row

    # Writing

    def draw(self, data: str) -> None:
        """Write text at the cursor."""
        if data.isascii() or _SINGLE_CELLS.fullmatch(data):
            self._draw_single_cells(data)
            return
        if self._belongs_to_last(data):
            data = self._last + data
            self.cursor.y, self.cursor.x = self._last_start
        for grapheme, width in self._measured(data):
            if width:
                self._draw_grapheme(grapheme, width)
            else:
                self._combine(grapheme)

    def repeat(self, count: int) -> None:
        """REP: write the last grapheme again."""
        for _ in range(count if self._last else 0):
            self._draw_grapheme(self._last, _width(self._last))

    def _belongs_to_last(self, text: str) -> bool:
        """Whether the text goes on with the grapheme written last, because reads or writes cut it in two."""
        if not self._by_grapheme or not self._last or (self.cursor.y, self.cursor.x) != self._last_end:
            return False
        return len(next(iter_graphemes(self._last + text))) > len(self._last)

    def _measured(self, text: str) -> Iterator[tuple[str, int]]:
        if self._by_grapheme:
            for grapheme in iter_graphemes(text):
                yield grapheme, _width(grapheme)
        else:
            for character in text:
                yield character, max(0, wcwidth(character))

    def _draw_single_cells(self, text: str) -> None:
        position = 0
        while position < len(text):
            self._make_room(1)
            x, y = self.cursor.x, self.cursor.y
            room = self.columns - x
            piece = text[position : position + room]
            if not self._wraps and len(text) - position > room:
                piece = piece[:-1] + text[-1]  # what does not fit overwrites the last cell
                position = len(text)
            self._put(x, y, piece)
            position += len(piece)
            self._last = piece[-1]
            self._last_start = (y, x + len(piece) - 1)

    def _put(self, x: int, y: int, text: str) -> None:
        row, style = self.row(y), self.style
        end = x + len(text)
        self._clear_halves(row, x, end)
        row.update(zip(range(x, end), [_glyph(character, style) for character in text], strict=True))
        self._advance(row, y, end)

    def _draw_grapheme(self, grapheme: str, width: int) -> None:
        if not self._make_room(width):
            return
        x, y = self.cursor.x, self.cursor.y
        row = self.row(y)
        self._clear_halves(row, x, x + width)
        row[x] = _glyph(grapheme, self.style)
        for stub in range(x + 1, x + width):
            row[stub] = _glyph("", self.style)
        self._last, self._last_start = grapheme, (y, x)
        self._advance(row, y, x + width)

    def _advance(self, row: Row, y: int, x: int) -> None:
        if x >= self.columns:
            row.is_continued = False
        self.cursor.x = x if self._wraps else min(x, self.columns - 1)
        self._last_end = (y, self.cursor.x)

    def _make_room(self, width: int) -> bool:
        """Wrap if it is due; False: a wide character that does not fit into a screen without wrapping."""
        if self.cursor.x + width <= self.columns:
            return True
        if not self._wraps:
            self.cursor.x = min(self.cursor.x, self.columns - 1)
            return width == 1
        self.row(self.cursor.y).is_continued = True
        self.index()
        self.cursor.x = 0
        return True

    @property
    def _wraps(self) -> bool:
        return modes.DECAWM in self.mode

    def _combine(self, marks: str) -> None:
        """Marks that nothing stands before in the text belong to the cell before the cursor."""
        row = self.row(self.cursor.y)
        x = min(self.cursor.x, self.columns) - 1
        while x > 0 and not row[x].data:
            x -= 1
        if x >= 0:
            row[x] = _glyph(row[x].data + marks, _style(row[x]))

    @staticmethod
    def _clear_halves(row: Row, start: int, end: int) -> None:
        """Blank the other halves of wide characters of which cells from `start` to `end` are overwritten."""
        if start in row and not row[start].data:
            row.pop(start - 1, None)
            row.pop(start, None)
        if end in row and not row[end].data:
            row.pop(end, None)

    # Erasing

    def settle_cursor(self) -> None:
        """Forget a pending wrap, as every motion and erasure does."""
        self.cursor.x = min(self.cursor.x, self.columns - 1)

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        """EL."""
        start, end = self._interval(how, self.cursor.x, self.columns)
        self._erase(self.cursor.y, start, end)

    def erase_in_display(self, how: int = 0, *args: object, **kwargs: object) -> None:
        """ED. The scrollback (3) is the terminal's matter."""
        if how in (0, 1):
            self.erase_in_line(how)
        first, last = {0: (self.cursor.y + 1, self.lines), 1: (0, self.cursor.y)}.get(how, (0, self.lines))
        for y in range(first, last) if how != 3 else ():
            self._erase(y, 0, self.columns)

    def erase_characters(self, count: int | None = None) -> None:
        """ECH."""
        x = self.cursor.x
        self._erase(self.cursor.y, x, min(x + (count or 1), self.columns))

    @staticmethod
    def _interval(how: int, at: int, length: int) -> tuple[int, int]:
        return {0: (at, length), 1: (0, at + 1)}.get(how, (0, length))

    def _erase(self, y: int, start: int, end: int) -> None:
        row = self.row(y)
        self._clear_halves(row, start, end)
        if end == self.columns:
            row.is_continued = False
        if not self.style.background:
            for x in [x for x in row if start <= x < end]:
                del row[x]
        else:
            row.update(dict.fromkeys(range(start, end), _glyph(" ", Style(background=self.style.background))))

    # Moving lines and characters

    def cursor_up(self, count: int | None = None) -> None:
        """CUU."""
        top, _ = self._region
        self.cursor.y = max(self.cursor.y - (count or 1), top if self.cursor.y >= top else 0)

    def cursor_down(self, count: int | None = None) -> None:
        """CUD."""
        _, bottom = self._region
        self.cursor.y = min(self.cursor.y + (count or 1), bottom if self.cursor.y <= bottom else self.lines - 1)

    def index(self) -> None:
        """Down one row, scrolling at the bottom."""
        top, bottom = self._region
        if self.cursor.y == bottom and top == 0:
            self.history.append(self.row(0))
        self._last_end = (-1, -1)  # another row is there now, perhaps in the same place
        super().index()

    def insert_lines(self, count: int | None = None) -> None:
        """IL."""
        _, bottom = self._region
        if self._is_inside:
            self._shift(self.cursor.y, bottom, count or 1)
            self.cursor.x = 0

    def delete_lines(self, count: int | None = None) -> None:
        """DL."""
        _, bottom = self._region
        if self._is_inside:
            self._shift(self.cursor.y, bottom, -(count or 1))
            self.cursor.x = 0

    def scroll(self, count: int) -> None:
        """SU, or with a negative count SD."""
        top, bottom = self._region
        if top == 0:
            self.history.extend(self.row(y) for y in range(min(count, bottom + 1)))
        self._shift(top, bottom, -count)

    def _shift(self, top: int, bottom: int, down: int) -> None:
        """Move the rows of a region; blank ones come in."""
        moved = {y + down: self.buffer.pop(y) for y in range(top, bottom + 1) if y in self.buffer}
        self.buffer.update({y: row for y, row in moved.items() if top <= y <= bottom})

    def insert_characters(self, count: int | None = None) -> None:
        """ICH."""
        self._shift_cells(count or 1)

    def delete_characters(self, count: int | None = None) -> None:
        """DCH."""
        x = self.cursor.x
        self._erase(self.cursor.y, x, min(self.columns, x + (count or 1)))
        self._shift_cells(-(count or 1))

    def _shift_cells(self, right: int) -> None:
        row, start = self.row(self.cursor.y), self.cursor.x
        self._clear_halves(row, start, start)
        moved = {x + right: row.pop(x) for x in [x for x in row if x >= start]}
        row.update({x: glyph for x, glyph in moved.items() if start <= x < self.columns})
        row.is_continued = False

    @property
    def _region(self) -> Margins:
        return self.margins or Margins(0, self.lines - 1)

    @property
    def _is_inside(self) -> bool:
        top, bottom = self._region
        return top <= self.cursor.y <= bottom

    # Saving

    def save_cursor(self) -> None:
        """DECSC."""
        self._saved = (copy.copy(self.cursor), self.style)

    def restore_cursor(self) -> None:
        """DECRC: as often as wanted."""
        saved, self.style = self._saved or (Cursor(0, 0), PLAIN)
        self.cursor.x, self.cursor.y = min(saved.x, self.columns), min(saved.y, self.lines - 1)


@lru_cache(4096)
def _width(grapheme: str) -> int:
    return max(0, wcswidth(grapheme))
