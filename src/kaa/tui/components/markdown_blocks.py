"""Blocks of Markdown as lines: headings, paragraphs, lists, quotes, code, tables.

The rows of a table become lines one by one, once the widths of its columns are settled.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from kaa.tui.components.code import Highlighter, hard_wrap
from kaa.tui.components.markdown_inline import InlinePainter
from kaa.tui.components.markdown_syntax import (
    References,
    Unit,
    content_end,
    groups,
    item_number,
    language_of_fence,
)
from kaa.tui.components.text import harmless
from kaa.tui.context import Context
from kaa.tui.layout import wrap_spans
from kaa.tui.palette import Palette
from kaa.tui.style import BOLD, UNDERLINE, Span, Style, join
from kaa.tui.width import cells, clip

if TYPE_CHECKING:
    from markdown_it.token import Token

Line: TypeAlias = list[Span]
Cell: TypeAlias = Sequence[Span]
Row: TypeAlias = Sequence[Cell]
Alignment: TypeAlias = Literal["left", "center", "right"]
# Columns narrower than this are not worth reading: then each row is shown as a record.
_NARROWEST_COLUMN = 5
_BETWEEN = 3
# Later rows wrap in the columns that these make, so that a long table needs not be laid out again and again.
MEASURED_ROWS = 100
# Where indentation leaves less than this, it is left out.
_NARROWEST = 8
_WIDEST_RULE = 80
# From this level on, headings say their level, as markup does.
_MARKED_HEADING = 3
_TASKS = ("[ ] ", "[x] ", "[X] ")
# Of so many fences the code is kept highlighted, as it may be about to grow.
_FENCES_KEPT = 4


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


class BlockPainter:
    """Makes lines of blocks.

    Args:
        context: what all components know.
        style_token: the palette's token of text without markup.
    """

    def __init__(self, context: Context, style_token: str = "") -> None:
        self._context = context
        self._style_token = style_token
        self._inline = InlinePainter(context)
        self._fences = _FenceCache(context.palette)

    @property
    def base(self) -> Style:
        """The style of text without markup."""
        return self._context.palette[self._style_token] if self._style_token else ""

    def unit(self, unit: Unit, references: References, width: int) -> list[Line]:
        """The lines of a unit, without the empty line before it."""
        if unit.kind == "list_item_open":
            return self._item(unit.tokens[0], unit.tokens[1:], unit.number, _State(references, self.base), width)
        return self._blocks(unit.tokens, _State(references, self.base), width, spaced=True)

    def fence_head(self, info: str) -> Line:
        """The line above a fenced code block."""
        return [(f"```{harmless(language_of_fence(info))}", self._context.palette["mdCodeBlockBorder"])]

    def fence_foot(self) -> Line:
        """The line below a fenced code block."""
        return [("```", self._context.palette["mdCodeBlockBorder"])]

    def highlighter(self, info: str) -> Highlighter:
        """For the code of a fenced block."""
        palette = self._context.palette
        return Highlighter(palette, language_of_fence(info), join(self.base, palette["mdCodeBlock"]))

    def verbatim(self, text: str, width: int, token: str) -> list[Line]:
        """Text of one line as it is."""
        return wrap_spans([(harmless(text), join(self.base, self._context.palette[token]))], width)

    def table_painter(self, head: "TableHead", layout: TableLayout, width: int) -> TablePainter:
        """For the rows of a table."""
        return TablePainter(self._context, head.header, head.alignments, layout, width)

    def _blocks(self, tokens: "Sequence[Token]", state: "_State", width: int, *, spaced: bool) -> list[Line]:
        """Blocks below each other, with empty lines between all of them, or where the source has them."""
        lines: list[Line] = []
        previous_end = 0
        for token, inner in groups(tokens):
            painted = self._block(token, inner, state, width)
            start, end = token.map or (0, 0)
            if lines and painted and (spaced or previous_end < start):
                lines.append([])
            lines += painted
            previous_end = content_end([token, *inner]) or end
        return lines

    def _block(self, token: "Token", inner: "Sequence[Token]", state: "_State", width: int) -> list[Line]:
        palette, glyphs = self._context.palette, self._context.glyphs
        match token.type:
            case "paragraph_open":
                return wrap_spans(self._inline.spans(inner[0].content, state.references, state.base), width)
            case "heading_open":
                return self._heading(int(token.tag[1:]), inner[0].content, state, width)
            case "fence":
                return self._fence(token, width)
            case "code_block":
                lines = harmless(token.content).rstrip("\n").split("\n")
                style = join(state.base, palette["mdCodeBlock"])
                return [piece for line in lines for piece in hard_wrap([(f"    {line}", style)], width)]
            case "bullet_list_open" | "ordered_list_open":
                return self._list(token, inner, state, width)
            case "blockquote_open":
                quoted = state.with_base(join(state.base, palette["mdQuote"]))
                border = (f"{glyphs.quote} ", palette["mdQuoteBorder"])
                room = width - cells(border[0])
                return _prefixed(self._blocks(inner, quoted, _room(room, width), spaced=True), border, border, room)
            case "table_open":
                return self._table(inner, state, width)
            case "hr":
                return [[(glyphs.horizontal * min(width, _WIDEST_RULE), palette["mdHr"])]]
            case "html_block":
                lines = token.content.rstrip("\n").split("\n")
                return [line for text in lines for line in self.verbatim(text, width, "muted")]
        return []

    def _heading(self, level: int, source: str, state: "_State", width: int) -> list[Line]:
        style = join(state.base, self._context.palette["mdHeading"], UNDERLINE if level == 1 else "")
        mark: list[Span] = [("#" * level + " ", style)] if level >= _MARKED_HEADING else []
        return wrap_spans(mark + self._inline.spans(source, state.references, style), width)

    def _fence(self, token: "Token", width: int) -> list[Line]:
        code = harmless(token.content).removesuffix("\n")
        lines = self._fences.lines(code, token.info, self.highlighter) if token.content else []
        return [
            *hard_wrap(self.fence_head(token.info), width),
            *(piece for line in lines for piece in hard_wrap(line, width)),
            *hard_wrap(self.fence_foot(), width),
        ]

    def _list(self, token: "Token", inner: "Sequence[Token]", state: "_State", width: int) -> list[Line]:
        lines: list[Line] = []
        previous_end = 0
        for index, (item, content) in enumerate(groups(inner)):
            start = item.map[0] if item.map else 0
            if index and previous_end < start:
                lines.append([])
            lines += self._item(item, content, item_number(token, index), state, width)
            previous_end = max(content_end(content), start + 1)
        return lines

    def _item(
        self, item: "Token", content: "Sequence[Token]", number: int | None, state: "_State", width: int
    ) -> list[Line]:
        mark = f"{self._context.glyphs.bullet} " if number is None else f"{number}{item.markup} "
        task = content[1].content[:4] if content and content[0].type == "paragraph_open" else ""
        if number is None and task in _TASKS:
            # The box is the mark.
            content = [content[0], _without_task(content[1]), *content[2:]]
            mark = task.lower()
        style = self._context.palette["mdListBullet"]
        room = width - cells(mark)
        lines = self._blocks(content, state, _room(room, width), spaced=False)
        return _prefixed(lines, (mark, style), (" " * cells(mark), ""), room)

    def _table(self, inner: "Sequence[Token]", state: "_State", width: int) -> list[Line]:
        head, rows = self.read_table(inner, state.references, state.base)
        natural = natural_widths([head.header, *rows[:MEASURED_ROWS]], len(head.header))
        painter = self.table_painter(head, layout_table(natural, width), width)
        lines = painter.head()
        for index, row in enumerate(rows):
            lines += painter.row(row, index)
        return lines

    def read_table(
        self, tokens: "Sequence[Token]", references: References, base: Style | None = None
    ) -> tuple["TableHead", list[Row]]:
        """What a table's tokens say: its header, and the rows below."""
        style = self.base if base is None else base
        rows: list[list[list[Span]]] = []
        alignments: list[Alignment] = []
        for token in tokens:
            match token.type:
                case "tr_open":
                    rows.append([])
                case "th_open":
                    alignments.append(_alignment(token))
                case "inline":
                    rows[-1].append(self._inline.spans(token.content, references, style))
        return TableHead(rows[0], alignments), list(rows[1:])


class TableHead(NamedTuple):
    """The header of a table, and how its columns are aligned."""

    header: Row
    alignments: Sequence[Alignment]


class _State(NamedTuple):
    """What blocks inside others are painted with: what links refer to, and the style of text without markup."""

    references: References
    base: Style

    def with_base(self, base: Style) -> "_State":
        return self._replace(base=base)


class _FenceCache:
    """Keeps the code of the last fences highlighted. A fence that grows has only its new lines highlighted."""

    def __init__(self, palette: Palette) -> None:
        self._palette = palette
        self._version = palette.version
        self._entries: list[_HighlightedFence] = []

    def lines(self, code: str, info: str, make: Callable[[str], Highlighter]) -> list[Line]:
        """The highlighted lines of code that may grow at its end."""
        if self._version != self._palette.version:
            self._version = self._palette.version
            self._entries = []
        entry = next((entry for entry in self._entries if entry.info == info and code.startswith(entry.code)), None)
        if entry:
            self._entries.remove(entry)
        else:
            entry = _HighlightedFence(info, make(info))
        self._entries = [*self._entries[1 - _FENCES_KEPT :], entry]
        return entry.extended(code)


class _HighlightedFence:
    """The lines of a fence that were highlighted."""

    def __init__(self, info: str, highlighter: Highlighter) -> None:
        self.info = info
        # Complete lines only, each with its line feed.
        self.code = ""
        self._highlighter = highlighter
        self._lines: list[Line] = []

    def extended(self, code: str) -> list[Line]:
        """The lines of code that begins with what is here already."""
        *new, last = code[len(self.code) :].split("\n")
        self._lines += map(self._highlighter.line, new)
        self.code = code[: len(code) - len(last)]
        return [*self._lines, self._highlighter.preview(last)]


def _room(room: int, width: int) -> int:
    """What is left for something indented; everything if that is too little."""
    return room if room >= _NARROWEST else width


def _prefixed(lines: list[Line], first: Span, rest: Span, room: int) -> list[Line]:
    """Lines that were made for `_room`, behind a mark in the first line and something as wide in the others."""
    text, style = first
    if room < _NARROWEST or not lines:
        return [[(clip(text.rstrip(), max(1, room + cells(text))), style)], *lines]
    blank: Line = [(rest[0].rstrip(), rest[1])] if rest[0].strip() else []
    return [[first, *lines[0]], *([rest, *line] if line else blank for line in lines[1:])]


def _without_task(text: "Token") -> "Token":
    return text.copy(content=text.content[len(_TASKS[0]) :])


def _alignment(token: "Token") -> Alignment:
    """As markdown-it has it: `text-align:right`."""
    match str(token.attrs.get("style", "")).rpartition(":")[2]:
        case "right":
            return "right"
        case "center":
            return "center"
    return "left"
