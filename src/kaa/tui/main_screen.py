r"""Presents a document on the main screen, where lines flow into the terminal's own scrollback.

Only rows that are still on the screen are ever written to. Where on the screen they are need not be known: movements
are relative, and new rows come with line feeds. How many were emitted tells how many have left.

    columns, rows change:  screen.resize(columns, rows), then
        only the height:   ask for the cursor's position (CSI 6n), give the answer to `resync`
        also the width:    wait until it stays the same for 150 ms, then `document.reset()` and `repaint`

While another program or the alternate screen has the terminal, tell nothing; tell the new size afterwards. (Stage 1.)
"""

from collections.abc import Callable

from kaa.tui.control import BEGIN_FRAME, END_FRAME, HIDE_CURSOR, SHOW_CURSOR
from kaa.tui.document import Tail, around_cursor
from kaa.tui.picture import is_picture, picture_rows, remove_picture
from kaa.tui.width import cells, fit, plain


class MainScreen:
    """The presenter. It writes from wherever the cursor is when its first frame comes, column 0 expected.

    Args:
        write: takes what goes to the terminal; called once for each frame that changes something.
        columns: the terminal's width in cells.
        rows: its height.

    Attributes:
        has_spilled: at another width, what was on the screen may have become more lines than it has rows for: some may
            be above it, where they are not seen, until `repaint`.
    """

    def __init__(self, write: Callable[[str], object], columns: int, rows: int) -> None:
        self._write = write
        self.columns, self.rows = columns, rows
        # Nothing can be painted while questions for the cursor's position are unanswered, or at another width. Answers
        # that nobody waits for any more are not those to questions that were asked later.
        self._unanswered = self._late = 0
        self._is_obsolete = False
        self._cursor_shown = True
        self._begin()

    def _begin(self) -> None:
        """Nothing of ours is on the screen, and the cursor is where the first line goes.

        Rows count from the first line of the tail, wherever on the screen that is. `_painted` is what they show: None
        where it is not known, and blank ones where the tail once was longer. All of them are on the screen: rows leave
        it when more than it has were emitted, no sooner, whether the first one was at its top or was scrolled there.
        """
        self._painted: list[str | None] = []
        self._dock = 0
        self._row = 0  # where the cursor is
        self._cursor: tuple[int, int] | None = None  # where it was asked to be
        self._late, self._unanswered = self._late + self._unanswered, 0
        self.has_spilled = False
        self._is_obsolete = False

    # Painting

    def frame(self, tail: Tail) -> int:
        """Show the tail of a document.

        Returns:
            How many lines left the screen: the document's `leave` wants to know.
        """
        return self._show(tail, "") if self.takes_frames else 0

    @property
    def takes_frames(self) -> bool:
        """Whether it is known where on the screen things are: a tail that is not shown is better not asked for.

        Otherwise `leave` would speak of lines that were never there.
        """
        return not self._unanswered and not self._is_obsolete

    def shows(self, tail: Tail) -> bool:
        """Whether what is above the dock is on the screen as in this tail."""
        return self._painted[: self._dock] == tail.lines[: self._dock]

    def repaint(self, tail: Tail, *, clear_scrollback: bool) -> int:
        """Erase the screen and show the tail from its first row on.

        Args:
            tail: of a document that was reset, if its earlier lines are to come back.
            clear_scrollback: erase what is above the screen too, also what was there before the program.

        Returns:
            As `frame`.
        """
        self._begin()
        # ED 0 from the first row: ED 2 moves the screen's lines to the scrollback on some terminals.
        return self._show(tail, "\x1b[H\x1b[J\x1b[3J" if clear_scrollback else "\x1b[H\x1b[J")

    def release(self, keep: int | None = None) -> int:
        """Leave the terminal to others: to a shell, at the end, or to a program that writes on the main screen.

        The cursor is shown, at the beginning of a free row. The next frame begins there.

        Args:
            keep: how many rows of the last tail stay; those below are erased. All of them if it is None.

        Returns:
            How many lines left the screen: those of blocks among the rows that stay.
        """
        rows = len(self._painted)
        while rows and self._painted[rows - 1] == "":
            rows -= 1
        out = "\r"
        if keep is not None and keep < len(self._painted):
            out += self._move(keep) + "\x1b[J"
        elif rows:
            out += self._move(rows - 1) + "\r\n"
        if not self._cursor_shown:
            out += SHOW_CURSOR
            self._cursor_shown = True
        left = self._dock if keep is None else min(keep, self._dock)
        self._begin()
        self._emit(out)
        return left

    def release_dock(self) -> int:
        """`release`, keeping what is above the dock."""
        return self.release(self._dock)

    # Other sizes

    def resize(self, columns: int, rows: int) -> bool:
        """The terminal has another size.

        Returns:
            Whether the cursor's position is to be asked for; nothing is painted before `resync`. If the width changed,
            nothing is painted before `repaint`.
        """
        self._change_width(columns, rows)
        asks = rows != self.rows and not self._is_obsolete
        self.columns, self.rows = columns, rows
        self._unanswered += asks
        return asks

    def resync(self, cursor_row: int | None) -> int:
        """Find the rows again after the height has changed; the next frame paints all of them.

        Terminals differ: lines may have gone to the scrollback or come back from it, rows below the cursor may have
        been cut off. The cursor has stayed in its line: where that is now tells everything.

        Args:
            cursor_row: the row of the cursor, from 0, as the terminal reports it (CPR). None if it does not answer:
                then the rows above the dock are left as they are, wherever they are.

        Returns:
            How many lines left the screen.
        """
        if cursor_row is not None and self._late:
            self._late -= 1
            return 0
        if not self._unanswered:
            return 0
        if cursor_row is None:
            # Should the dock's first rows have gone, the movement to them ends at the top of the screen, where the
            # first of those is that have not.
            return 0 if self._is_obsolete else self.release_dock()
        self._unanswered -= 1
        # There are terminals that answer with more rows than they have.
        return 0 if self._unanswered or self._is_obsolete else self._found(self._row - min(cursor_row, self.rows - 1))

    def expect_no_answers(self) -> None:
        """Answers that nobody waits for any more, and that have not come by now, never will."""
        self._late = 0

    @property
    def is_waiting(self) -> bool:
        """Whether nothing is painted before `resync`."""
        return self._unanswered > 0

    def resume(self, columns: int, rows: int) -> bool:
        """Another program had the terminal: it has got the answers that had not come, and the size may be another.

        Returns:
            Whether it has another width: nothing is painted before `repaint` then.
        """
        self._unanswered = 0
        self.expect_no_answers()
        self._change_width(columns, rows)
        self.columns, self.rows = columns, rows
        return self._is_obsolete

    def _change_width(self, columns: int, rows: int) -> None:
        if columns != self.columns:
            self._is_obsolete = True
            # Those terminals that wrap lines anew.
            wrapped = sum(max(1, -(-cells(plain(line or "")) // columns)) for line in self._painted)
            self.has_spilled |= wrapped > rows

    def _found(self, top: int) -> int:
        """The row `top` is in the screen's first row; it is negative if there is something else above ours."""
        gone = max(0, top)
        # Rows of the dock that are gone are not the document's business: the dock is painted anew.
        left = min(gone, self._dock)
        self._painted = [None] * len(self._painted[gone : top + self.rows])
        self._dock -= left
        self._row -= gone
        return left

    # How

    def _show(self, tail: Tail, prelude: str) -> int:
        lines, cursor = _within(tail, self.rows)
        changes = self._changes(lines)
        if cursor:
            cursor = cursor[0], min(cursor[1], self.columns - 1)  # behind a full row there is no column
        placement = self._place(cursor, after_changes=bool(changes))
        hide = HIDE_CURSOR if self._cursor_shown and (changes or not cursor) else ""
        show = SHOW_CURSOR if cursor and (changes or not self._cursor_shown) else ""
        self._cursor_shown = cursor is not None
        if changes:
            self._emit("".join([BEGIN_FRAME, hide, prelude, *changes, placement, show, END_FRAME]))
        else:
            self._emit(prelude + hide + placement + show)
        left = self._scroll_out()
        self._dock = tail.dock - left
        return left

    def _changes(self, lines: list[str]) -> list[str]:
        """What makes the rows show these lines, from top to bottom."""
        painted = self._painted
        out: list[str] = []
        pictures: dict[int, tuple[int, str]] = {}  # by the last row each of them takes: its first row, its sequence
        for row, line in enumerate(lines):
            if row >= len(painted):
                out.append(self._new_row())
                painted.append(None)
            elif painted[row] == line:
                continue
            else:
                out += self._blank_row(row)
            painted[row] = line
            if is_picture(line):
                pictures[min(row + picture_rows(line), len(lines)) - 1] = row, line
            else:
                out.append(fit(line, self.columns))
            if row in pictures:
                out += self._picture(*pictures.pop(row))
        for row in range(len(lines), len(painted)):
            if painted[row] != "":
                out += self._blank_row(row)
                painted[row] = ""
        return out

    def _blank_row(self, row: int) -> list[str]:
        """Erase a row, before it is written: at the end of a full one, EL would erase its last cell (pending wrap)."""
        out = [self._move(row), "\r\x1b[2K"]
        old = self._painted[row]
        if old and is_picture(old):
            out.append(remove_picture(old))
            end = min(row + picture_rows(old), len(self._painted))
            self._painted[row + 1 : end] = [None] * (end - row - 1)
        return out

    def _new_row(self) -> str:
        """Go to a row below all that were emitted."""
        last = len(self._painted) - 1
        if last < 0:
            return "\r\x1b[J"
        move = self._move(last)
        self._row = last + 1
        return move + "\r\n"

    def _picture(self, row: int, sequence: str) -> list[str]:
        """Paint a picture, now that its rows are there; it could not make room for itself without scrolling."""
        if row < len(self._painted) - self.rows:
            return []  # it is higher than the screen
        last = self._row
        return [self._move(row), "\r\x1b7", sequence, "\x1b8", self._move(last)]

    def _place(self, cursor: tuple[int, int] | None, *, after_changes: bool) -> str:
        if cursor is None or (cursor == self._cursor and not after_changes):
            self._cursor = cursor
            return ""
        self._cursor = cursor
        return f"{self._move(cursor[0])}\x1b[{cursor[1] + 1}G"

    def _move(self, row: int) -> str:
        distance, self._row = row - self._row, row
        if not distance:
            return ""
        return f"\x1b[{distance}B" if distance > 0 else f"\x1b[{-distance}A"

    def _scroll_out(self) -> int:
        """Forget the rows that are no longer on the screen."""
        left = max(0, len(self._painted) - self.rows)
        if left:
            del self._painted[:left]
            self._row -= left
            self._cursor = self._cursor and (self._cursor[0] - left, self._cursor[1])
        return left

    def _emit(self, text: str) -> None:
        if text:
            self._write(text)


def _within(tail: Tail, rows: int) -> tuple[list[str], tuple[int, int] | None]:
    """The lines with no more of the dock's than the screen has rows for, and the cursor."""
    lines, dock, cursor = tail
    if len(lines) - dock <= rows:
        return lines, cursor
    shown, at = around_cursor(lines[dock:], cursor and (cursor[0] - dock, cursor[1]), rows)
    return lines[:dock] + shown, at and (dock + at[0], at[1])
