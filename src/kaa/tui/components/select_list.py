"""A list to choose one entry from, with a search field if it can be searched."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from kaa.tui.components.input import Input
from kaa.tui.components.list_position import MOVES, ScrolledList
from kaa.tui.components.text import truncated
from kaa.tui.context import Context
from kaa.tui.events import Input as InputEvent
from kaa.tui.layout import wrap
from kaa.tui.sanitize import one_line
from kaa.tui.style import BOLD, Span, join, paint, paint_spans
from kaa.tui.width import cells

T = TypeVar("T")
_Ranked = TypeVar("_Ranked")

# With less room than this beside the labels, descriptions are shown below the list, one at a time.
_MIN_DESCRIPTION = 20
_MAX_DESCRIPTION_ROWS = 3
_GAP = 2


class Rank(Protocol):
    """Finds entries: `kaa.tui.fuzzy.rank`, or something like it."""

    def __call__(self, query: str, items: Sequence[_Ranked], key: Callable[[_Ranked], str]) -> list[_Ranked]:
        """Those that match, the best first; all of them, in their order, for an empty query."""


class SelectItem(NamedTuple, Generic[T]):
    """An entry.

    Attributes:
        value: what it stands for.
        label: what it is called; may come from anywhere.
        description: what is said of it; may come from anywhere.
        is_current: it is what holds now, and is marked.
        is_disabled: it is shown but cannot be chosen; the description should say why.
        mark: what stands before the label, such as a box to tick; ours, and as wide in all entries.
        is_heading: the title of the entries below it: the pointer skips it, and a search leaves it out. Another entry
            must follow.
    """

    value: T
    label: str
    description: str = ""
    is_current: bool = False
    is_disabled: bool = False
    mark: str = ""
    is_heading: bool = False


class SelectList(ScrolledList, Generic[T]):
    """Entries below each other; the selected one has a pointer.

    Args:
        context: palette, keys, glyphs and the size of the screen.
        items: the entries; the current one is selected at first.
        on_select: called with the entry that is chosen.
        on_cancel: called when nothing is.
        on_highlight: called whenever another entry is selected, to show what it would mean.
        rank: finds entries by what is typed; None for a list that cannot be searched.
        max_rows: how many entries are shown at most. On low screens they are fewer.
        empty: said when there are no entries, or none is found.
    """

    def __init__(
        self,
        context: Context,
        items: Sequence[SelectItem[T]],
        *,
        on_select: Callable[[SelectItem[T]], None],
        on_cancel: Callable[[], None],
        on_highlight: Callable[[SelectItem[T]], None] | None = None,
        rank: Rank | None = None,
        max_rows: int = 10,
        empty: str = "Nothing found",
    ) -> None:
        super().__init__(context, max_rows, Input(context, "Search: ") if rank else None)
        self._on_select = on_select
        self._on_cancel = on_cancel
        self._on_highlight = on_highlight
        self._rank = rank
        self._empty = empty
        self._items: Sequence[SelectItem[T]] = ()
        self._found: Sequence[SelectItem[T]] = ()
        self._found_query = ""
        self._labels: dict[str, str] = {}
        self._label_width = 0
        self._mark_width = 0
        self._take(items)
        self._go_to(next((item for item in items if item.is_current), None))

    @property
    def selected(self) -> SelectItem[T] | None:
        """The entry with the pointer; None if there is none."""
        return self._found[self._position.index] if self._found else None

    @property
    def found(self) -> Sequence[SelectItem[T]]:
        """The entries that the search leaves, all of them without one."""
        return self._found

    @property
    def query(self) -> str:
        """What was typed to find an entry."""
        return self._search.text if self._search else ""

    def set_query(self, query: str) -> None:
        """Look for this, if the list can be searched."""
        if self._search:
            self._search.set_text(query)
            self._find()

    def set_items(self, items: Sequence[SelectItem[T]]) -> None:
        """Show other entries; the selected one stays selected if it is among them."""
        before = self.selected
        self._take(items)
        self._go_to(before)

    def select(self, value: T) -> None:
        """Select the entry that stands for this, if it is there; a search ends."""
        self.set_query("")
        self._go_to(next((item for item in self._items if item.value == value), None))

    def seek(self, name: str) -> bool:
        """Select the entry that a line of text means, by the search if there is one.

        Returns:
            Whether it is the only one that fits, or its label begins so.
        """
        self.set_query(name)
        wanted = name.strip().lower()
        if self._search is None:
            fitting = [item for item in self._items if item.label.lower().startswith(wanted) and not item.is_heading]
            if not fitting:
                return False
            self._go_to(min(fitting, key=lambda item: len(item.label)))
        return len(self._found) == 1 or (self.selected is not None and self.selected.label.lower().startswith(wanted))

    def written(self, width: int) -> list[str]:
        """The entries in view to be read line by line: words instead of a pointer and a check mark."""
        lines = [f"Search: {one_line(self.query)}"] if self.query else []
        if not self._found:
            return [*lines, self._empty]
        view = self._position.in_view(self._height())
        for item in (self._found[index] for index in view):
            label = " ".join(filter(None, [item.mark, one_line(item.label), "(current)" if item.is_current else ""]))
            lines += wrap([(f"{label}: {one_line(item.description)}" if item.description else label, "")], width)
        return lines if len(view) == len(self._found) else [*lines, self._label()]

    def key(self, key: InputEvent) -> bool:
        """Move, choose, cancel, or type into the search field."""
        action = self._context.keymap.first(key, *MOVES, "tui.select.confirm", "tui.select.cancel")
        if action == "tui.select.cancel":
            self._on_cancel()
        elif action == "tui.select.confirm":
            if self.selected and not self.selected.is_disabled:
                self._on_select(self.selected)
        elif action:
            self._move(action)
        elif not self._search or not self._search.key(key):
            return False
        else:
            self._find()
        return True

    def _take(self, items: Sequence[SelectItem[T]]) -> None:
        self._items = items
        self._labels = {item.label: one_line(item.label) for item in items}
        self._label_width = max((cells(self._labels[item.label]) for item in items if not item.is_heading), default=0)
        self._mark_width = max((cells(item.mark) + 1 for item in items if item.mark), default=0)
        self._found = self._matches()
        self._position.count = len(self._found)
        self._revision += 1

    def _matches(self) -> Sequence[SelectItem[T]]:
        if self._rank is None or not self.query:
            return self._items
        entries = [item for item in self._items if not item.is_heading]
        found = self._rank(self.query, entries, lambda item: f"{item.label} {item.description}")
        # What is called so comes before what is said to do so.
        return sorted(found, key=lambda item: self.query.lower() not in item.label.lower())

    def _find(self) -> None:
        """Show what the query finds, the best of it selected."""
        if self.query == self._found_query:
            return
        before = self.selected
        self._found, self._found_query = self._matches(), self.query
        self._position.count = len(self._found)
        self._position.go(0)
        self._leave_heading("tui.select.down")
        self._revision += 1
        self._tell(before)

    def _go_to(self, item: SelectItem[T] | None) -> None:
        indexes = (index for index, other in enumerate(self._found) if item and other.value == item.value)
        self._position.go(next(indexes, self._position.index if item else 0))
        self._leave_heading("tui.select.down")
        self._revision += 1

    def _move(self, action: str) -> None:
        before = self.selected
        self._position.move(action, self._height())
        self._leave_heading("tui.select.up" if action == "tui.select.up" else "tui.select.down")
        self._revision += 1
        self._tell(before)

    def _leave_heading(self, action: str) -> None:
        """Step from a heading to an entry, and keep the heading of the selected entry in view if it is next to it."""
        if self.selected and self.selected.is_heading:
            self._position.move(action, 1)
        index = self._position.index
        if index and self._found[index - 1].is_heading and self._height() > 1:
            self._position.go(index - 1)
            self._position.in_view(self._height())
            self._position.go(index)

    def _tell(self, before: SelectItem[T] | None) -> None:
        now = self.selected
        if self._on_highlight and now is not None and now is not before:
            self._on_highlight(now)

    def _label(self) -> str:
        """Where among the entries the selected one is."""
        before = sum(item.is_heading for item in self._found[: self._position.index])
        count = sum(not item.is_heading for item in self._found)
        return f"({self._position.index + 1 - before}/{count})"

    def _paint(self, width: int) -> list[str]:
        palette, glyphs = self._context.palette, self._context.glyphs
        if not self._found:
            return [paint(truncated(self._empty, width, glyphs.ellipsis), palette["muted"])]
        view = self._position.in_view(self._height())
        self._cursor_row = self._position.index - view.start
        check = 1 + cells(glyphs.check)
        before = cells(glyphs.pointer) + 1 + self._mark_width
        beside = width - before - self._label_width - check - _GAP
        label_width = self._label_width if beside >= _MIN_DESCRIPTION else max(1, width - before - check)
        lines = [paint_spans(self._row(index, label_width, beside)) for index in view]
        if len(view) < len(self._found):
            lines.append(paint(f"{' ' * before}{self._label()}{self._clipped_description(beside)}", palette["dim"]))
        if beside < _MIN_DESCRIPTION:
            lines += self._description_below(width, before)
        return lines

    def _row(self, index: int, label_width: int, beside: int) -> list[Span]:
        item = self._found[index]
        palette, glyphs = self._context.palette, self._context.glyphs
        if item.is_heading:
            return [(self._labels[item.label], join(palette["mdHeading"], BOLD))]
        selected = index == self._position.index
        style = palette["accent" if selected else "text"]
        if item.is_disabled:
            style = palette["dim"]
        label = truncated(self._labels[item.label], label_width, glyphs.ellipsis)
        row: list[Span] = [
            (glyphs.pointer, palette["accent"]) if selected else (" " * cells(glyphs.pointer), ""),
            (f" {item.mark} {label}" if item.mark else f" {label}", style),
        ]
        if item.is_current:
            row.append((f" {glyphs.check}", palette["success"]))
        if item.description and beside >= _MIN_DESCRIPTION:
            check = 0 if item.is_current else 1 + cells(glyphs.check)
            blank = " " * (label_width - cells(label) + check + _GAP)
            row.append((blank + truncated(one_line(item.description), beside, glyphs.ellipsis), palette["muted"]))
        return row

    def _clipped_description(self, beside: int) -> str:
        """All of what is said of the selected entry, if it was cut off beside its label."""
        description = one_line(self.selected.description) if self.selected else ""
        return f" {description}" if beside >= _MIN_DESCRIPTION and cells(description) > beside else ""

    def _description_below(self, width: int, indent: int) -> list[str]:
        if not self.selected or not self.selected.description:
            return []
        prefix = [(" " * min(indent, width - 1), "")]
        text = one_line(self.selected.description)
        return wrap([(text, self._context.palette["muted"])], width, prefix)[:_MAX_DESCRIPTION_ROWS]
