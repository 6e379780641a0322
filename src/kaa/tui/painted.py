"""Cuts painted lines, whatever styles, links and wide characters are where they are cut."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from kaa.tui.picture import is_picture
from kaa.tui.style import Style, paint
from kaa.tui.width import (
    CLOSE_LINK,
    LINK,
    LINK_ENDS,
    RESETS,
    SEQUENCE,
    cells,
    grapheme_cells,
    graphemes,
    is_narrow,
    plain,
)

# Text, and the sequences of the link and of the styles that are in force for it.
_Run: TypeAlias = tuple[str, str, str]


def crop(line: str, start: int, stop: int) -> str:
    """The cells of a painted line from one column up to another: exactly those, filled with spaces.

    Of a wide character that lies across an edge, a space stands for the cell within. Nothing is left of a picture.
    """
    if stop <= start:
        return ""
    kept: list[_Run] = []
    column = 0
    for text, link, styles in _runs("" if is_picture(line) else line):
        if column >= stop:
            break
        kept.append((_between(text, start - column, stop - column), link, styles))
        column += cells(text)
    return _joined(kept) + " " * (stop - max(start, min(column, stop)))


def lay_over(row: str, line: str, left: int, width: int, columns: int) -> str:
    """A painted row of `columns` cells with `line` in it, in the `width` cells from column `left` on."""
    return crop(row, 0, left) + crop(line, 0, width) + crop(row, left + width, columns)


def highlight(line: str, start: int, stop: int, style: Style) -> str:
    """A painted line with its text from one column up to another in nothing but this style."""
    marked = paint(plain(crop(line, start, stop)), style)
    return crop(line, 0, start) + marked + crop(line, stop, cells(plain(line)))


def _runs(line: str) -> Iterator[_Run]:
    link = styles = ""
    for piece in SEQUENCE.split(line):
        if piece.startswith("\x1b["):
            styles = "" if piece in RESETS else styles + piece
        elif piece.startswith(LINK):
            link = "" if piece in LINK_ENDS else piece
        elif piece and not piece.startswith("\x1b"):
            yield piece, link, styles


def _between(text: str, start: int, stop: int) -> str:
    """What of plain text is between two columns."""
    if is_narrow(text):
        return text[max(0, start) : max(0, stop)]
    pieces: list[str] = []
    column = 0
    for grapheme in graphemes(text):
        end = column + grapheme_cells(grapheme)
        if start <= column and end <= stop:
            pieces.append(grapheme)
        else:
            pieces.append(" " * (min(end, stop) - max(column, start)))
        column = end
    return "".join(pieces)


def _joined(runs: Iterable[_Run]) -> str:
    pieces: list[str] = []
    link = styles = ""
    for text, its_link, its_styles in runs:
        if not text:
            continue
        if styles != its_styles:
            pieces.append(("\x1b[0m" if styles else "") + its_styles)
        if link != its_link:
            pieces.append(its_link or CLOSE_LINK)
        pieces.append(text)
        link, styles = its_link, its_styles
    pieces.append(("\x1b[0m" if styles else "") + (CLOSE_LINK if link else ""))
    return "".join(pieces)
