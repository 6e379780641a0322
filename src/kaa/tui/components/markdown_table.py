"""Tables of Markdown: widths of columns, and rows as lines, one by one once the widths are settled."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from kaa.tui.context import Context
from kaa.tui.layout import wrap_spans
from kaa.tui.style import BOLD, Span, join
from kaa.tui.width import cells

Line: TypeAlias = list[Span]
Cell: TypeAlias = Sequence[Span]
Row: TypeAlias = Sequence[Cell]
Alignment: TypeAlias = Literal["left", "center", "right"]

# Columns narrower than this are not worth reading: then each row is shown as a record.
_NARROWEST_COLUMN = 5
_BETWEEN = 3
# Later rows wrap in the columns that these make, so that a long table needs not be laid out again and again.
MEASURED_ROWS = 100


class TableLayout(NamedTuple):
    """How a table is laid out.

    Attributes:
        widths: of the columns, in cells; empty if each row is shown as a record.
        ruled: whether there are lines between rows, because cells wrap.
    """

    widths: tuple[int, ...]
    ruled: bool


def natural_widths(rows: Iterable[Row], columns: int) -> list[int]:
    """How wide the columns would be without wrapping."""
    widths = [1] * columns
    for row in rows:
        for index, cell in enumerate(row[:columns]):
            # A cell of several lines has "\n" in its spans.
            lines = "".join(text for text, _ in cell).split("\n")
            widths[index] = max(widths[index], *map(cells, lines))
    return widths


def layout_table(natural: Sequence[int], width: int) -> TableLayout:
    """Columns within `width` cells: the widest give up cells first."""
    available = width - _BETWEEN * (len(natural) - 1)
    if sum(natural) <= available:
        return TableLayout(tuple(natural), ruled=False)
    # The cap that makes the columns fit: those below it keep their width, the others share the rest.
    left, remaining = available, sorted(natural)
    while remaining and remaining[0] * len(remaining) <= left:
        left -= remaining.pop(0)
    cap = left // len(remaining)
    if cap < _NARROWEST_COLUMN:
        return TableLayout((), ruled=True)
    extra = left - cap * len(remaining)
    widths = []
    for size in natural:
        bonus = 1 if size > cap and extra > 0 else 0
        extra -= bonus
        widths.append(min(size, cap + bonus))
    return TableLayout(tuple(widths), ruled=True)


class TablePainter:
    """Paints the rows of one table.

    Args:
        context: what all components know.
        header: its first row.
        alignments: of the columns.
        layout: its columns.
        width: of the lines, in cells.
    """

    def __init__(
        self, context: Context, header: Row, alignments: Sequence[Alignment], layout: TableLayout, width: int
    ) -> None:
        self._glyphs = context.glyphs
        self._border = context.palette["mdCodeBlockBorder"]
        self._header = [[(text, join(style, BOLD)) for text, style in cell] for cell in header]
        self._alignments = alignments
        self._layout = layout
        self._width = width

    def head(self) -> list[Line]:
        """The lines of the header; none if rows are shown as records."""
        if not self._layout.widths:
            return []
        return [*self._aligned(self._header), self._rule()]

    def row(self, row: Row, index: int) -> list[Line]:
        """The lines of a row, with what is between it and the one before; that below the header has index 0."""
        if not self._layout.widths:
            return [*([self._rule()] if index else []), *self._record(row)]
        return [*([self._rule()] if index and self._layout.ruled else []), *self._aligned(row)]

    def _aligned(self, row: Row) -> list[Line]:
        widths = self._layout.widths
        columns: list[list[Line]] = [
            wrap_spans(row[index], size) if index < len(row) and row[index] else [[]]
            for index, size in enumerate(widths)
        ]
        lines: list[Line] = []
        for number in range(max(map(len, columns))):
            line: Line = []
            for index, (column, size) in enumerate(zip(columns, widths, strict=True)):
                if index:
                    line.append((f" {self._glyphs.vertical} ", self._border))
                line += self._placed(column[number] if number < len(column) else [], size, self._alignments[index])
            lines.append(line)
        return lines

    def _placed(self, spans: Line, size: int, alignment: Alignment) -> Line:
        free = max(0, size - sum(cells(text) for text, _ in spans))
        before = {"left": 0, "center": free // 2, "right": free}[alignment]
        return [(" " * before, ""), *spans, (" " * (free - before), "")]

    def _rule(self) -> Line:
        horizontal = self._glyphs.horizontal
        if not self._layout.widths:
            return [(horizontal * min(self._width, 2 * _NARROWEST_COLUMN), self._border)]
        joint = f"{horizontal}{'┼' if horizontal == '─' else '+'}{horizontal}"
        return [(joint.join(horizontal * size for size in self._layout.widths), self._border)]

    def _record(self, row: Row) -> list[Line]:
        lines: list[Line] = []
        for index, name in enumerate(self._header):
            value = row[index] if index < len(row) else []
            lines += wrap_spans([*name, (": ", ""), *value], self._width)
        return lines
