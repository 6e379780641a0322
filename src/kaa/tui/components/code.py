"""Code: highlighted, and never reflowed, so that what is copied from the screen is what was there."""

from collections.abc import Iterator, Sequence

from kaa.tui.components.display import Display
from kaa.tui.components.highlight import highlight
from kaa.tui.components.text import harmless
from kaa.tui.context import Context
from kaa.tui.style import Span, paint, paint_spans
from kaa.tui.width import cells, clip, graphemes, is_narrow

_TOO_WIDE = "?"


class Code(Display):
    """Highlighted code; lines that are too long go on in the next one.

    Args:
        context: what all components know.
        code: foreign text.
        language: as behind three backticks; empty if it is not known.
        filename: tells the language if `language` does not.
        max_lines: how many lines of code are shown; a line tells how many were left out. None shows all.
    """

    def __init__(
        self, context: Context, code: str, language: str = "", filename: str = "", max_lines: int | None = None
    ) -> None:
        super().__init__(context)
        lines = code.split("\n")
        if lines[-1] == "":
            lines.pop()
        self._left_out = 0 if max_lines is None else max(0, len(lines) - max_lines)
        self._code = harmless("\n".join(lines[:max_lines]))
        self._language = language
        self._filename = filename

    def _paint(self, width: int) -> list[str]:
        palette = self._context.palette
        spans = highlight(self._code, palette, self._language, self._filename, palette["mdCodeBlock"])
        lines = [paint_spans(piece) for line in spans for piece in hard_wrap(line, width)]
        if self._left_out:
            more = f"{self._context.glyphs.ellipsis} {self._left_out} more line{'s' if self._left_out > 1 else ''}"
            lines.append(paint(clip(more, width), palette["muted"]))
        return lines


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
