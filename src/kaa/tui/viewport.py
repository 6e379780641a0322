"""A window on a document that scrolls within the program: which lines of which blocks it shows.

Only blocks that are shown are rendered, from the end backwards: a long document opens at once. The window follows the
end of the document until it is scrolled up; then what is read stays where it is, whatever comes below.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from kaa.tui.document import Block, Document


class Position(NamedTuple):
    """A line of the document: the index of its block, earlier blocks included, and of the line in it."""

    block: int
    line: int


class ViewportRow(NamedTuple):
    """A row of the window."""

    position: Position
    text: str


class Viewport:
    """The window.

    Args:
        document: its blocks, with the earlier ones, are what it is a window on.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._width, self._height = 80, 24
        # The line in the first row; None as long as the end is followed.
        self._top: Position | None = None
        # Behind the last line there was when the end was left.
        self._end = Position(0, 0)

    # Blocks

    def __len__(self) -> int:
        """How many blocks there are."""
        return len(self._document.earlier) + len(self._document.blocks)

    def block(self, index: int) -> Block:
        """A block, by its index in positions."""
        earlier = self._document.earlier
        return earlier[index] if index < len(earlier) else self._document.blocks[index - len(earlier)]

    def lines(self, index: int) -> list[str]:
        """The painted lines of a block; none if it is gone, as when the conversation begins anew."""
        return self.block(index).render(self._width) if index < len(self) else []

    def forwards(self, start: Position) -> Iterator[ViewportRow]:
        """The lines from `start` to the end of the document."""
        first = start.line
        for index in range(start.block, len(self)):
            for line, text in enumerate(self.lines(index)[first:], first):
                yield ViewportRow(Position(index, line), text)
            first = 0

    def backwards(self, start: Position) -> Iterator[ViewportRow]:
        """The lines before `start`, the nearest first."""
        for index in range(min(start.block, len(self) - 1), -1, -1):
            lines = self.lines(index)
            end = min(start.line, len(lines)) if index == start.block else len(lines)
            for line in range(end - 1, -1, -1):
                yield ViewportRow(Position(index, line), lines[line])

    # What is shown

    def show(self, width: int, height: int) -> list[ViewportRow]:
        """The rows at this size in cells; fewer than `height` only if the document has no more."""
        self._width, self._height = width, height
        if self._top is not None:
            rows = list(islice(self.forwards(self._top), height + 1))
            if len(rows) > height:
                return rows[:height]
            self._top = None
        rows = list(islice(self.backwards(self._behind()), height))
        rows.reverse()
        return rows

    @property
    def is_following(self) -> bool:
        """Whether it shows the end of the document, and goes on doing so."""
        return self._top is None

    @property
    def progress(self) -> float:
        """How much of the document is above the window, from 0 to 1, counted in blocks."""
        if self._top is None:
            return 1.0
        height = len(self.lines(self._top.block)) or 1
        return (self._top.block + self._top.line / height) / len(self)

    @property
    def new_lines(self) -> int:
        """How many lines have come since the end was left."""
        if self._top is None:
            return 0
        block, line = self._end
        # Counted by block: this is asked with every frame.
        return sum(len(self.lines(index)) for index in range(block, len(self))) - min(line, len(self.lines(block)))

    # Moving

    def scroll(self, lines: int) -> None:
        """Move by so many lines, upwards if it is less than 0."""
        top = self._first_row()
        if lines < 0:
            passed = [row.position for row in islice(self.backwards(top), -lines)]
            if passed:
                self._leave_end(passed[-1])
        elif self._top is not None:
            passed = [row.position for row in islice(self.forwards(top), lines + 1)]
            self._top = passed[-1] if passed else None

    def to_start(self) -> None:
        """Show the first lines."""
        self._leave_end(Position(0, 0))

    def to_end(self) -> None:
        """Show the last lines, and follow the end."""
        self._top = None

    def to_prompt(self, step: int) -> None:
        """Go to the next block that is a prompt (1) or to the previous one (-1)."""
        top = self._first_row()
        begins_above = step < 0 and top.line > 0
        index = top.block if begins_above else top.block + step
        while 0 <= index < len(self) and not getattr(self.block(index), "is_prompt", False):
            index += step
        if index >= len(self):
            self.to_end()
        elif index >= 0:
            self._leave_end(Position(index, 0))

    def reveal(self, position: Position) -> None:
        """Show a line in the middle, unless it is shown already."""
        if position in [row.position for row in self.show(self._width, self._height)]:
            return
        self._leave_end(position)
        self.scroll(-(self._height // 2))

    def _leave_end(self, top: Position) -> None:
        if self._top is None:
            self._end = self._behind()
        self._top = top

    def _first_row(self) -> Position:
        rows = self.show(self._width, self._height)
        return rows[0].position if rows else Position(0, 0)

    def _behind(self) -> Position:
        """The position behind the last line."""
        last = len(self) - 1
        return Position(last, len(self.lines(last))) if last >= 0 else Position(0, 0)
