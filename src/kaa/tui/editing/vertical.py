"""Up and down: between the rows that are shown, in the column that the caret started from."""

from kaa.tui.editing.buffer import Buffer
from kaa.tui.editing.layout import TextLayout


class VerticalMovement:
    """Moves a buffer's caret over the rows of its layout."""

    def __init__(self, buffer: Buffer, layout: TextLayout) -> None:
        self._buffer = buffer
        self._layout = layout
        self._column = 0
        self._revision = -1  # of the buffer after the last move here: the column holds until something else happens

    def by(self, rows: int, *, selecting: bool = False) -> bool:
        """Move down, or up if `rows` is negative, as far as there are rows. False if there is none to move to."""
        self._layout.update(self._buffer.text)
        row, column = self._layout.locate(self._buffer.caret)
        if self._buffer.revision != self._revision:
            self._column = column
        to = max(0, min(row + rows, self._layout.row_count - 1))
        if to == row:
            return False
        self._buffer.move(self._layout.offset(to, self._column), selecting=selecting)
        self._revision = self._buffer.revision
        return True

    def by_or_to_edge(self, rows: int, *, selecting: bool = False) -> bool:
        """The same, but where there is no row to move to, to the start or the end of the text; always True."""
        if not self.by(rows, selecting=selecting):
            self._buffer.move(0 if rows < 0 else len(self._buffer.text), selecting=selecting)
        return True
