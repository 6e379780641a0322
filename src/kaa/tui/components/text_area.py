"""Shows the text of a buffer in rows, as many as there is room for, with its selection; the caret is always in view."""

import re
from collections.abc import Iterator
from itertools import pairwise

from kaa.tui.context import Context
from kaa.tui.editing.buffer import Buffer
from kaa.tui.editing.layout import TextLayout, TextRow
from kaa.tui.style import INVERSE, Span, Style, join, paint_spans
from kaa.tui.width import fit

_MAYBE_LABELLED = re.compile("[\ud800-\udfff]")


class TextArea:
    """Rows of a buffer.

    Args:
        context: the palette.
        buffer: what is shown.
        layout: where it is.

    Attributes:
        above: how many rows there are above those rendered last.
        below: how many there are below.
        caret: row and column of the caret within those rendered last.
    """

    def __init__(self, context: Context, buffer: Buffer, layout: TextLayout) -> None:
        self.above = 0
        self.below = 0
        self.caret = (0, 0)
        self._context = context
        self._buffer = buffer
        self._layout = layout

    def render(self, width: int, max_rows: int) -> list[str]:
        """The rows around the caret."""
        self._layout.update(self._buffer.text, width)
        row, column = self._layout.locate(self._buffer.caret)
        shown = min(max(1, max_rows), self._layout.row_count)
        # No further than the caret asks for, and no empty rows behind the last one.
        top = max(row - shown + 1, min(self.above, row, self._layout.row_count - shown))
        self.above, self.below = top, self._layout.row_count - top - shown
        self.caret = row - top, min(column, width - 1)
        return [fit(paint_spans(self._spans(self._layout.row(number))), width) for number in range(top, top + shown)]

    def _spans(self, row: TextRow) -> Iterator[Span]:
        selection = self._buffer.selection or (0, 0)
        label, selected = self._context.palette["accent"], self._context.palette["selectedBg"] or INVERSE
        for start, end, is_label in self._pieces(row, selection):
            is_selected = selection[0] <= start < selection[1]
            style: Style = join(label if is_label else "", selected if is_selected else "")
            yield self._layout.shown(start, end), style
        if row.ends_line and selection[0] <= row.end < selection[1]:
            yield " ", selected  # the line feed

    def _pieces(self, row: TextRow, selection: tuple[int, int]) -> Iterator[tuple[int, int, bool]]:
        """What has one style: start, end, and whether it is the label of something."""
        text = self._buffer.text
        labels = {
            found.start()
            for found in _MAYBE_LABELLED.finditer(text, row.start, row.end)
            if self._layout.is_label(found.start())
        }
        cuts = {row.start, row.end, *labels, *(at + 1 for at in labels)}
        cuts.update(at for at in selection if row.start < at < row.end)
        edges = sorted(cuts)
        for start, end in pairwise(edges):
            yield start, end, start in labels
