"""Writes rows to fixed places of the screen, and of them only what is different."""

from collections.abc import Callable, Sequence

from kaa.tui.control import BEGIN_FRAME, END_FRAME, HIDE_CURSOR, SHOW_CURSOR
from kaa.tui.picture import is_picture, picture_rows, remove_picture
from kaa.tui.width import fit


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
