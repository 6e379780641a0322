"""What the mouse selects in a document that the program scrolls itself, and the text of it.

Lines are what text was wrapped into: they are joined again where the wrap explains why they ended.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from kaa.tui.viewport import Position, Viewport
from kaa.tui.width import cells, graphemes, plain

# From one column to another (exclusive); None is the end of the line.
Columns: TypeAlias = tuple[int, int | None]

# Words, paths, addresses, options; without what ends a sentence.
_WORD = re.compile(r"[\w./:@%+~#?&=-]*[\w/%+~#&=-]")


class Point(NamedTuple):
    """A cell of the document."""

    position: Position
    column: int


class ScreenSelection:
    """From one cell to another, both included, in whichever order.

    Args:
        anchor: where it began.
    """

    def __init__(self, anchor: Point) -> None:
        self.anchor = anchor
        self.head = anchor

    @property
    def is_empty(self) -> bool:
        """Whether it is nothing but the cell where it began."""
        return self.anchor == self.head

    def columns(self, position: Position) -> Columns | None:
        """Which columns of a line are selected: from and to (exclusive), None for all the rest; None if none are."""
        start, end = sorted((self.anchor, self.head))
        if not start.position <= position <= end.position:
            return None
        first = start.column if position == start.position else 0
        return first, end.column + 1 if position == end.position else None

    def text(self, viewport: Viewport, width: int) -> str:
        """The text, lines joined that were one before they were wrapped.

        Args:
            viewport: gives the lines.
            width: that they were wrapped at, in cells.
        """
        start, end = sorted((self.anchor, self.head))
        texts: list[str] = []
        for index in range(start.position.block, end.position.block + 1):
            lines = list(enumerate(viewport.lines(index)))
            if index == end.position.block:
                del lines[end.position.line + 1 :]
            if index == start.position.block:
                del lines[: start.position.line]
            chosen = [
                (plain(line).rstrip(" "), self.columns(Position(index, number)) or (0, 0)) for number, line in lines
            ]
            texts += _unwrapped(chosen, width)
        return "\n".join(texts)


def word_at(line: str, column: int) -> tuple[int, int]:
    """First and last column of the word, path or address at a column of a painted line; that cell if there is none."""
    text = plain(line)
    for match in _WORD.finditer(text):
        start = cells(text[: match.start()])
        end = start + cells(match[0])
        if start <= column < end:
            return start, end - 1
    return column, column


def _unwrapped(lines: Sequence[tuple[str, Columns]], width: int) -> list[str]:
    """The chosen columns of lines, joined as they were before the lines were wrapped, without their common margin."""
    margin = min((len(line) - len(line.lstrip(" ")) for line, _ in lines if line), default=0)
    texts: list[str] = []
    previous = ""
    for line, (start, stop) in lines:
        text = _between(line, max(start, margin), stop)
        if texts and _goes_on(previous[margin:], line[margin:], width - margin):
            texts[-1] += _glue(previous, line, width) + text
        else:
            texts.append(text)
        previous = line
    return texts


def _goes_on(line: str, following: str, width: int) -> bool:
    """Whether a line ended because the first word of the following one did not fit in it.

    Lines that begin with blanks or signs (code, lists, borders) begin something new.
    """
    if not line or not following[:1].isalnum():
        return False
    needed = cells(following[0]) if _are_ideographs(line, following) else 1 + cells(following.split(" ", 1)[0])
    return cells(line) + needed > width


def _glue(line: str, following: str, width: int) -> str:
    """What was between two lines: nothing within a word that was too long, or in text written without blanks."""
    is_torn = cells(line) >= width and " " not in line
    return "" if is_torn or _are_ideographs(line, following.lstrip(" ")) else " "


def _are_ideographs(line: str, following: str) -> bool:
    return cells(line[-1]) > 1 and cells(following[0]) > 1


def _between(text: str, start: int, stop: int | None) -> str:
    column = 0
    kept: list[str] = []
    for grapheme in graphemes(text):
        if column >= start and (stop is None or column < stop):
            kept.append(grapheme)
        column += cells(grapheme)
    return "".join(kept)
