"""Styles. A style is a string of SGR parameters, such as `1;38;5;208`; the empty one changes nothing."""

from collections.abc import Iterable
from typing import TypeAlias

Style: TypeAlias = str

# A piece of text in one style.
Span: TypeAlias = tuple[str, Style]

BOLD: Style = "1"
DIM: Style = "2"
ITALIC: Style = "3"
UNDERLINE: Style = "4"
INVERSE: Style = "7"
STRIKE: Style = "9"


def join(*styles: Style) -> Style:
    """All of them at once; later ones win."""
    return ";".join(filter(None, styles))


def paint(text: str, style: Style) -> str:
    """The text in this style, and nothing in force behind it."""
    return f"\x1b[{style}m{text}\x1b[0m" if style and text else text


def paint_spans(spans: Iterable[Span]) -> str:
    """The spans as one painted line."""
    pieces: list[str] = []
    current = ""
    for text, style in spans:
        if style != current:
            if current:
                pieces.append("\x1b[0m")
            if style:
                pieces.append(f"\x1b[{style}m")
            current = style
        pieces.append(text)
    if current:
        pieces.append("\x1b[0m")
    return "".join(pieces)
