"""Code: highlighted, and never reflowed, so that what is copied from the screen is what was there."""

from collections.abc import Iterator, Sequence

from kaa.tui.components.display import Display
from kaa.tui.components.highlight import highlight
from kaa.tui.components.languages import language_of
from kaa.tui.components.text import harmless
from kaa.tui.context import Context
from kaa.tui.style import Span, paint_spans
from kaa.tui.width import cells, graphemes, is_narrow

_TOO_WIDE = "?"


class Code(Display):
    """Highlighted code; lines that are too long go on in the next one.

    Args:
        context: what all components know.
        code: foreign text.
        filename: tells the language; empty if it is not known.
        language: the name of the language, where there is no file.
    """

    def __init__(self, context: Context, code: str, filename: str = "", language: str = "") -> None:
        super().__init__(context)
        self._code = harmless(code.removesuffix("\n"))
        self._filename = filename
        self._language = language

    def _paint(self, width: int) -> list[str]:
        palette = self._context.palette
        lines = highlight(self._code, palette, self._language or language_of(self._filename), palette["mdCodeBlock"])
        return [paint_spans(piece) for line in lines for piece in hard_wrap(line, width)]


def hard_wrap(spans: Sequence[Span], width: int) -> list[list[Span]]:
    """Spans without line feeds, cut wherever a line is full, into one line at least."""
    if sum(cells(text) for text, _ in spans) <= width:
        return [list(spans)]
    lines: list[list[Span]] = [[]]
    room = width
    for text, style in spans:
        for piece in _pieces(text, room, width):
            size = cells(piece)
            if size > room:
                lines.append([])
                room = width
            lines[-1].append((piece, style))
            room -= size
    return lines


def _pieces(text: str, room: int, width: int) -> Iterator[str]:
    """Narrow text by lines, first what is left of one; else graphemes, with a sign for those wider than a line."""
    if is_narrow(text):
        yield from filter(None, [text[:room]])
        yield from (text[start : start + width] for start in range(room, len(text), width))
        return
    for grapheme in graphemes(text):
        yield grapheme if cells(grapheme) <= width else _TOO_WIDE
