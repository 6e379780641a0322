"""Draws an emulated screen as SVG, for documentation: the same screen gives the same bytes."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from tests.support.screen import Screen
from tests.support.screen_grid import Cell
from tests.support.screen_style import Style

# Pixels. Fonts differ in the width of their cells, so every run of text says how long it has to be.
_CELL_WIDTH, _CELL_HEIGHT, _FONT_SIZE, _BASELINE = 8.4, 18, 14, 13.5
_MARGIN, _BAR = 14, 32

_FONTS = "ui-monospace, 'Cascadia Mono', 'JetBrains Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"


class Colours(NamedTuple):
    """What a terminal makes of the default colours and of the first 16, in their order."""

    foreground: str
    background: str
    bar: str
    named: tuple[str, ...]


DARK = Colours(
    "#d8dee4",
    "#16191f",
    "#23272f",
    (
        *("#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee4"),
        *("#6b7384", "#ff7b85", "#b5e890", "#ffd68a", "#82c4ff", "#e29cf5", "#7fd8e4", "#ffffff"),
    ),
)
LIGHT = Colours(
    "#24292f",
    "#ffffff",
    "#e8eaed",
    (
        *("#24292f", "#cf222e", "#116329", "#8a6100", "#0969da", "#8250df", "#1b7c83", "#8c959f"),
        *("#57606a", "#a40e26", "#1a7f37", "#6f4e00", "#218bff", "#a475f9", "#3192aa", "#eaeef2"),
    ),
)

_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


class _Run(NamedTuple):
    """Cells beside each other in one style."""

    column: int
    cells: list[Cell]
    style: Style


def draw(screen: Screen, title: str, colours: Colours = DARK, change: Callable[[list[Cell]], list[Cell]] = list) -> str:
    """The screen in a window with a title; `change` may put other cells into a row."""
    width = round(screen.columns * _CELL_WIDTH + 2 * _MARGIN, 1)
    height = screen.rows * _CELL_HEIGHT + 2 * _MARGIN + _BAR
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" width="{width:g}" height="{height}"'
        f' role="img" aria-label={quoteattr(title)}>',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width:g}" height="{height}" rx="9" fill="{colours.background}"/>',
        f'<path d="M0 {_BAR}V9a9 9 0 0 1 9-9H{width - 9:g}a9 9 0 0 1 9 9V{_BAR}z" fill="{colours.bar}"/>',
        *(f'<circle cx="{18 + 18 * dot}" cy="{_BAR // 2}" r="5" fill="{colours.named[8]}"/>' for dot in range(3)),
        f'<text x="{width / 2:g}" y="{_BAR / 2 + 4.5:g}" text-anchor="middle" font-family="sans-serif" font-size="13"'
        f' fill="{colours.foreground}">{escape(title)}</text>',
        f'<g font-family="{_FONTS}" font-size="{_FONT_SIZE}" transform="translate({_MARGIN} {_BAR + _MARGIN})">',
    ]
    for row in range(screen.rows):
        lines += _row(change(_with_cursor(screen, row)), row, colours)
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _with_cursor(screen: Screen, row: int) -> list[Cell]:
    cells = screen.cells(row)
    cursor_row, column = screen.cursor
    if screen.cursor_visible and cursor_row == row:
        text, style = cells[column]
        cells[column] = Cell(text, style._replace(inverse=not style.inverse))
    return cells


def _row(cells: list[Cell], row: int, colours: Colours) -> Iterator[str]:
    top = row * _CELL_HEIGHT
    for run in _runs(cells):
        foreground, background = _colours_of(run.style, colours)
        if background != colours.background:
            left, width = _pixels(run.column), _pixels(len(run.cells))
            yield f'<rect x="{left}" y="{top}" width="{width}" height="{_CELL_HEIGHT}" fill="{background}"/>'
        for text in [] if run.style.conceal else _texts(run):
            left, width = _pixels(text.column), _pixels(len(text.cells))
            yield (
                f'<text x="{left}" y="{top + _BASELINE:g}" textLength="{width}" lengthAdjust="spacingAndGlyphs"'
                f' fill="{foreground}"{_font(run.style)}>{escape("".join(cell.text for cell in text.cells))}</text>'
            )


def _pixels(cells: int) -> str:
    return f"{cells * _CELL_WIDTH:.1f}"


def _runs(cells: list[Cell]) -> Iterator[_Run]:
    """Runs of one style."""
    column = 0
    for style, group in groupby(cells, key=lambda cell: cell.style):
        run = _Run(column, list(group), style)
        column += len(run.cells)
        yield run


def _texts(run: _Run) -> Iterator[_Run]:
    """What of a run has to be drawn: words with single spaces between them, since SVG may drop others.

    Wide characters stand alone, because a font may give them any width.
    """
    kinds = "".join({" ": " ", "": "-"}.get(cell.text, "x") for cell in run.cells)
    for match in re.finditer(r"x-|x(?!-)(?: ?x(?!-))*", kinds):
        yield _Run(run.column + match.start(), run.cells[match.start() : match.end()], run.style)


def _colours_of(style: Style, colours: Colours) -> tuple[str, str]:
    foreground = _colour(style.foreground, colours) or colours.foreground
    background = _colour(style.background, colours) or colours.background
    return (background, foreground) if style.inverse else (foreground, background)


def _colour(name: str, colours: Colours) -> str:
    if not name or name.startswith("#"):
        return name
    return colours.named[_NAMES.index(name.removeprefix("bright ")) + 8 * name.startswith("bright ")]


def _font(style: Style) -> str:
    decorations: Iterable[str] = [
        name for name, is_on in (("underline", style.underline), ("line-through", style.strike)) if is_on
    ]
    attributes = {
        "font-weight": "bold" if style.bold else "",
        "font-style": "italic" if style.italic else "",
        "opacity": "0.65" if style.dim else "",
        "text-decoration": " ".join(decorations),
    }
    return "".join(f' {name}="{value}"' for name, value in attributes.items() if value)
