"""Presents a document on the alternate screen: a viewport that the program scrolls, and the dock below it.

The terminal switches the screen and reports the mouse (that is `Terminal`'s business); this paints it, and takes what
is typed and clicked there. Meanwhile the main screen's presenter is not used; afterwards it is told the size of the
terminal, and has to repaint if that is another width: the document was reset then.
"""

import time
from collections.abc import Callable, Sequence

from kaa.tui.context import Context
from kaa.tui.control import BEGIN_FRAME, END_FRAME, HIDE_CURSOR, SHOW_CURSOR
from kaa.tui.document import Document, around_cursor
from kaa.tui.events import Input, Mouse
from kaa.tui.painted import highlight, lay_over
from kaa.tui.picture import is_picture, picture_rows, remove_picture
from kaa.tui.search_bar import SearchBar
from kaa.tui.selection import Point, ScreenSelection, word_at
from kaa.tui.style import INVERSE, paint
from kaa.tui.viewport import Position, Viewport, ViewportRow
from kaa.tui.width import cells, fit, plain

_WHEEL_LINES = 3
# As desktops have it.
_DOUBLE_CLICK_SECONDS = 0.5
_LEFT = 0


class AlternateScreen:
    """The presenter.

    Args:
        context: size, keys and glyphs.
        document: what it presents, with its earlier blocks.
        write: takes what goes to the terminal; called once for each frame that changes something.
        on_copy: takes the text that was selected with the mouse.

    Attributes:
        viewport: what of the document is shown.
        rows: what was written.
    """

    def __init__(
        self,
        context: Context,
        document: Document,
        write: Callable[[str], object],
        *,
        on_copy: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.viewport = Viewport(document)
        self.rows = Rows(write)
        self._context = context
        self._document = document
        self._columns = context.size.columns
        self._on_copy = on_copy
        self._search = SearchBar(context, self.viewport)
        self._selection: ScreenSelection | None = None
        self._is_dragging = False
        self._clicked: tuple[float, int, int] = (0.0, -1, -1)
        self._shown: list[ViewportRow] = []
        self._height = 0

    def forget(self) -> None:
        """The screen was just switched on, or something else wrote on it: paint all of it with the next frame."""
        self.rows.forget()

    def frame(self) -> None:
        """Show how everything is now."""
        columns, height = self._context.size.columns, self._context.size.rows
        if columns != self._columns:
            # What has left the main screen is bound to its width; it has to be repainted at this one anyway.
            self._document.reset()
            self._columns = columns
        dock = self._document.dock
        dock_lines, cursor = around_cursor(dock.render(columns), dock.cursor(), height - 1)
        self._height = height - len(dock_lines)
        rows = [*self._view(columns, self._height), *dock_lines]
        cursor = cursor and (self._height + cursor[0], cursor[1])
        if search := self._search.cursor():
            cursor = self._height - 1, search[1]
        self.rows.show(rows, cursor, columns)

    def work(self) -> bool:
        """Search on for some milliseconds.

        Returns:
            Whether there is more to do: call it again when no key is waiting.
        """
        return self._search.work()

    # Input

    def key(self, key: Input) -> bool:
        """Take a key that scrolls or searches."""
        if self._search.key(key):
            return True
        action = self._context.keymap.first(key, *_ACTIONS)
        if action is None:
            return False
        _ACTIONS[action](self)
        return True

    def mouse(self, event: Mouse) -> bool:
        """Scroll with the wheel; select and copy by dragging, or a word by a double click. False below the viewport."""
        if event.kind == "wheel":
            self.viewport.scroll(-_WHEEL_LINES if event.button == 0 else _WHEEL_LINES)
            return True
        if self._is_dragging:
            self._drag(event)
            return True
        if event.row >= self._height or event.button != _LEFT or event.kind != "down":
            return False
        self._press(event)
        return True

    def begin_search(self) -> None:
        """Ask for a text to be found."""
        self._search.open(self._shown[-1].position if self._shown else Position(0, 0))

    def _page(self, pages: float) -> None:
        # A line stays, so that one finds the place again.
        self.viewport.scroll(round(pages * max(1, self._height - 1)))

    def _press(self, event: Mouse) -> None:
        now = time.monotonic()
        before, row, column = self._clicked
        is_double = (row, column) == (event.row, event.column) and now - before < _DOUBLE_CLICK_SECONDS
        self._clicked = now, event.row, event.column
        self._selection = None
        if event.row >= len(self._shown):
            return
        position, text = self._shown[event.row]
        self._is_dragging = True
        self._selection = ScreenSelection(Point(position, event.column))
        if is_double:
            first, last = word_at(text, event.column)
            self._selection.anchor, self._selection.head = Point(position, first), Point(position, last)

    def _drag(self, event: Mouse) -> None:
        selection = self._selection
        assert selection is not None
        if event.kind == "drag":
            if event.row <= 0 or event.row >= self._height - 1:
                self.viewport.scroll(-1 if event.row <= 0 else 1)
                self._shown = self.viewport.show(self._columns, self._height)
            row = min(event.row, len(self._shown) - 1)
            if row >= 0:
                selection.head = Point(self._shown[row].position, event.column)
        elif event.kind == "up":
            self._is_dragging = False
            if selection.is_empty:
                self._selection = None
            elif text := selection.text(self.viewport, self._columns):
                self._on_copy(text)

    # What is shown

    def _view(self, columns: int, height: int) -> list[str]:
        self._shown = self.viewport.show(columns, height)
        lines = [self._painted(index, row) for index, row in enumerate(self._shown)]
        lines += [""] * (height - len(lines))
        if self._search.is_open:
            lines[-1] = self._search.render(columns)
        elif not self.viewport.is_following:
            where = self._whereabouts()
            room = min(cells(where), columns)
            lines[-1] = lay_over(lines[-1], paint(where, INVERSE), columns - room, room, columns)
        return lines

    def _painted(self, index: int, row: ViewportRow) -> str:
        if is_picture(row.text):
            # It would cover what is below the viewport.
            return "" if index + picture_rows(row.text) > self._height else row.text
        text = self._search.marked(row)
        columns = self._selection.columns(row.position) if self._selection else None
        if columns:
            end = cells(plain(text))
            text = highlight(text, min(columns[0], end), end if columns[1] is None else min(columns[1], end), INVERSE)
        return text

    def _whereabouts(self) -> str:
        new = self.viewport.new_lines
        below = f"{self._context.glyphs.expanded} {new} new  " if new else ""
        return f" {below}{self.viewport.progress:.0%} "


_ACTIONS: dict[str, Callable[[AlternateScreen], object]] = {
    "tui.altScreen.lineUp": lambda screen: screen.viewport.scroll(-1),
    "tui.altScreen.lineDown": lambda screen: screen.viewport.scroll(1),
    "tui.altScreen.halfPageUp": lambda screen: screen._page(-0.5),
    "tui.altScreen.halfPageDown": lambda screen: screen._page(0.5),
    "tui.altScreen.pageUp": lambda screen: screen._page(-1),
    "tui.altScreen.pageDown": lambda screen: screen._page(1),
    "tui.altScreen.previousPrompt": lambda screen: screen.viewport.to_prompt(-1),
    "tui.altScreen.nextPrompt": lambda screen: screen.viewport.to_prompt(1),
    "tui.altScreen.top": lambda screen: screen.viewport.to_start(),
    "tui.altScreen.bottom": lambda screen: screen.viewport.to_end(),
    "tui.altScreen.search": lambda screen: screen.begin_search(),
}


class Rows:
    """The rows of the alternate screen.

    Args:
        write: takes what goes to the terminal; called once for each frame that changes something.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._painted: list[str] = []
        self._columns = 0
        self._cursor: tuple[int, int] | None = None

    def forget(self) -> None:
        """The screen may show anything: paint all of it next time."""
        self._painted = []

    def show(self, rows: Sequence[str], cursor: tuple[int, int] | None, columns: int) -> None:
        """Show rows, as many as the screen has, and the cursor."""
        out: list[str] = []
        if len(rows) != len(self._painted) or columns != self._columns:
            gone = [remove_picture(row) for row in self._painted if is_picture(row)]
            out += [*gone, "\x1b[H\x1b[2J"]
            self._painted = [""] * len(rows)
            self._columns = columns
        out += self._changes(rows)
        if not out and cursor == self._cursor:
            return
        placed = f"\x1b[{cursor[0] + 1};{min(cursor[1], columns - 1) + 1}H{SHOW_CURSOR}" if cursor else HIDE_CURSOR
        self._cursor = cursor
        if out:
            placed = "".join([BEGIN_FRAME, HIDE_CURSOR, *out, placed, END_FRAME])
        self._write(placed)

    def _changes(self, rows: Sequence[str]) -> list[str]:
        painted = self._painted
        out: list[str] = []
        changed = {row for row, line in enumerate(rows) if line != painted[row]}
        for row in sorted(changed):
            if is_picture(painted[row]):
                out.append(remove_picture(painted[row]))
                changed |= {*range(row, min(row + picture_rows(painted[row]), len(rows)))}
        pictures: list[str] = []
        for row in sorted(changed):
            place = f"\x1b[{row + 1};1H"
            out.append(f"{place}\x1b[2K")
            if is_picture(rows[row]):
                pictures.append(place + rows[row])
            else:
                out.append(fit(rows[row], self._columns))
            painted[row] = rows[row]
        return out + pictures  # when the rows that they cover are blank
