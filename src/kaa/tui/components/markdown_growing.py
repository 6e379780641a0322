"""Parts of a Markdown text that may grow long, and take what comes line by line or piece by piece.

Fenced code, tables, and what is too long to be read as one unit. They never look at their earlier
lines again.
"""

import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence

from kaa.tui.components.code import Highlighter, hard_wrap
from kaa.tui.components.markdown_blocks import (
    MEASURED_ROWS,
    BlockPainter,
    Line,
    Row,
    TableHead,
    TableLayout,
    layout_table,
    natural_widths,
)
from kaa.tui.components.markdown_inline import paint_linked
from kaa.tui.components.markdown_parts import Part
from kaa.tui.components.markdown_syntax import References, labels, units
from kaa.tui.components.text import harmless

_CODE_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})([^\n]*)")
# Characters. A line that goes on and on is not laid out anew with each piece of it.
_LONGEST_PARTIAL = 2000


class GrowingPart(Part):
    """A part that takes complete lines one by one, and shows the beginning of the next one.

    Attributes:
        source: the complete lines, without line feeds.
        partial: what is known of the next one.
    """

    def __init__(self, painter: BlockPainter, *, gap: bool) -> None:
        super().__init__(painter, gap=gap)
        self.source: list[str] = []
        self.partial = ""
        # The painted lines of complete ones.
        self._done: list[str] = []
        self._done_count = 0

    def take(self, line: str) -> bool:
        """The next complete line. False: it does not belong to this part, nothing more does."""
        self.source.append(line)
        self.partial = ""
        self.changed()
        return True

    def set_partial(self, text: str) -> None:
        """The next line so far. Of a very long one the beginning is shown until it is complete."""
        text = text[:_LONGEST_PARTIAL]
        if text != self.partial:
            self.partial = text
            self.changed()

    def repaint(self) -> None:
        """Forget everything that was painted."""
        super().repaint()
        self._done = []
        self._done_count = 0

    @property
    def settled(self) -> int:
        """Complete lines do not change."""
        return self.gap + len(self._done) if self.is_open and self._lines else super().settled


class VerbatimPart(GrowingPart):
    """A part whose lines do not depend on one another."""

    def labels(self) -> frozenset[str]:
        """Verbatim text refers to nothing."""
        return frozenset()

    def _paint(self, references: References, width: int) -> list[str]:
        for line in self.source[self._done_count :]:
            self._done += map(paint_linked, self._paint_line(line, references, width))
        self._done_count = len(self.source)
        return [*self._done, *map(paint_linked, self._paint_end(references, width))]

    @abstractmethod
    def _paint_line(self, line: str, references: References, width: int) -> Iterable[Line]:
        """The lines of the next complete line."""

    @abstractmethod
    def _paint_end(self, references: References, width: int) -> Iterable[Line]:
        """The lines behind the complete ones: of the partial line, and what the part ends with."""


class FencePart(VerbatimPart):
    """A fenced code block.

    Args:
        painter: makes lines.
        gap: whether an empty line comes before it.
        opening: its first line.
    """

    def __init__(self, painter: BlockPainter, opening: str, *, gap: bool) -> None:
        super().__init__(painter, gap=gap)
        match = _CODE_FENCE.match(opening)
        indent, self._marks, self._info = match.groups() if match else ("", "```", "")
        self._indent = re.compile(f" {{0,{len(indent)}}}")
        self._closing = re.compile(f" {{0,3}}{re.escape(self._marks[0])}{{{len(self._marks)},}}[ \t]*")
        self._highlighter: Highlighter | None = None

    def take(self, line: str) -> bool:
        """The next line of code, or the closing fence."""
        if self._closing.fullmatch(line):
            self.is_open = False
            self.set_partial("")
            self.changed()
            return True
        return super().take(line)

    def repaint(self) -> None:
        """Forget everything that was painted."""
        super().repaint()
        self._highlighter = None

    def _paint(self, references: References, width: int) -> list[str]:
        if self._highlighter is None:
            self._highlighter = self._painter.highlighter(self._info)
            self._done = [paint_linked(line) for line in hard_wrap(self._painter.fence_head(self._info), width)]
        return super()._paint(references, width)

    def _paint_line(self, line: str, references: References, width: int) -> list[Line]:
        assert self._highlighter
        return hard_wrap(self._highlighter.line(self._code(line)), width)

    def _paint_end(self, references: References, width: int) -> list[Line]:
        if not self.is_open:
            return hard_wrap(self._painter.fence_foot(), width)
        # What may become the closing fence is not shown as code for a moment.
        if not self.partial or self._marks.startswith(self.partial.strip()):
            return []
        assert self._highlighter
        return hard_wrap(self._highlighter.preview(self._code(self.partial)), width)

    def _code(self, line: str) -> str:
        return harmless(self._indent.sub("", line, count=1))


class RawPart(VerbatimPart):
    """The rest of something too long to be read as a unit, as it is, up to an empty line before unindented text."""

    def take(self, line: str) -> bool:
        """The next line of text."""
        if self.source and not self.source[-1].strip() and line[:1].strip():
            return False
        return super().take(line)

    def _paint_line(self, line: str, references: References, width: int) -> list[Line]:
        return self._painter.verbatim(line, width, "") if line.strip() else [[]]

    def _paint_end(self, references: References, width: int) -> list[Line]:
        return self._painter.verbatim(self.partial, width, "") if self.partial.strip() else []


class TablePart(GrowingPart):
    """A table, which takes its rows line by line. Its columns keep their widths once lines of it have left.

    Args:
        painter: makes lines.
        gap: whether an empty line comes before it.
        head: the source of its header and of the line below.
    """

    def __init__(self, painter: BlockPainter, head: str, *, gap: bool) -> None:
        super().__init__(painter, gap=gap)
        self._head_source = head
        self._rows: list[Row] = []
        # The widths that the complete rows ask for.
        self._natural: list[int] = []
        self._layout: TableLayout | None = None

    def take(self, line: str) -> bool:
        """The next row."""
        return self._is_row(line) and super().take(line)

    def repaint(self) -> None:
        """Forget everything that was painted."""
        super().repaint()
        self._rows = []
        self._natural = []
        self._layout = None

    @property
    def settled(self) -> int:
        """Columns may become wider as long as no line has left."""
        return super().settled if self.is_frozen or not self.is_open else 0

    def labels(self) -> frozenset[str]:
        """What its cells may refer to."""
        return labels("\n".join([self._head_source, *self.source]))

    def _paint(self, references: References, width: int) -> list[str]:
        head = self._read("", references)[0]
        new = [self._read(line, references)[1][0] for line in self.source[len(self._rows) :]]
        self._measure(head, new)
        self._rows += new
        partial = self._read(self.partial, references)[1] if self.partial and self._is_row(self.partial) else []
        layout = self._layout_for(partial, width)
        table = self._painter.table_painter(head, layout, width)
        if layout != self._layout:
            self._layout = layout
            self._done = list(map(paint_linked, table.head()))
            self._done_count = 0
        for index, row in enumerate(self._rows[self._done_count :], self._done_count):
            self._done += map(paint_linked, table.row(row, index))
        self._done_count = len(self._rows)
        last = [line for row in partial for line in table.row(row, self._done_count)]
        return [*self._done, *map(paint_linked, last)]

    def _measure(self, head: TableHead, new: Sequence[Row]) -> None:
        if not self._natural:
            self._natural = natural_widths([head.header], len(head.header))
        measured = new[: max(0, MEASURED_ROWS - len(self._rows))]
        self._natural = list(map(max, self._natural, natural_widths(measured, len(self._natural))))

    def _layout_for(self, partial: Sequence[Row], width: int) -> TableLayout:
        if self._layout and self.is_frozen:
            return self._layout
        measured = partial if len(self._rows) < MEASURED_ROWS else ()
        return layout_table(list(map(max, self._natural, natural_widths(measured, len(self._natural)))), width)

    def _is_row(self, line: str) -> bool:
        found = units(f"{self._head_source}\n{line}")
        return len(found) == 1 and sum(token.type == "tr_open" for token in found[0].tokens) > 1

    def _read(self, row: str, references: References) -> tuple[TableHead, list[Row]]:
        return self._painter.read_table(units(f"{self._head_source}\n{row}")[0].tokens, references)
