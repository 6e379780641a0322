"""Settings below each other, each with its value, to be changed in place or in a list of its own."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from kaa.tui.component import Component
from kaa.tui.components.input import Input
from kaa.tui.components.list_position import MOVES, ScrolledList
from kaa.tui.components.select_list import Rank
from kaa.tui.components.text import truncated
from kaa.tui.context import Context
from kaa.tui.events import Input as InputEvent
from kaa.tui.events import Key
from kaa.tui.layout import wrap
from kaa.tui.sanitize import one_line
from kaa.tui.style import Span, paint, paint_spans
from kaa.tui.width import cells

_GAP = 2
_MIN_VALUE = 4
_MAX_DESCRIPTION_ROWS = 3

# Called, once keys have gone to the component, with the new value, or with None if the old one stays.
Done: TypeAlias = Callable[[str | None], None]
# Makes what a value is chosen with, from the value there is.
Opener: TypeAlias = Callable[[str, Done], Component]


class SettingRow(NamedTuple):
    """A setting.

    Attributes:
        id: what it is called in the program.
        label: what people call it.
        value: in words; may come from anywhere.
        allowed: the values to step through; empty if there is an opener.
        description: said while it is selected.
        opener: makes a component to choose the value with, which takes the place of the list as long as it is open.
    """

    id: str
    label: str
    value: str
    allowed: tuple[str, ...] = ()
    description: str = ""
    opener: Opener | None = None


class SettingsList(ScrolledList):
    """Settings to change: Enter, Space and Right take the next value or open what it is chosen with, Left the previous.

    Args:
        context: palette, keys, glyphs and the size of the screen.
        rows: the settings.
        on_change: called with a setting's id and its new value.
        on_close: called when the list is left.
        rank: finds settings by what is typed; None for a list that cannot be searched.
        max_rows: how many settings are shown at most. On low screens they are fewer.
    """

    def __init__(
        self,
        context: Context,
        rows: Sequence[SettingRow],
        *,
        on_change: Callable[[str, str], None],
        on_close: Callable[[], None],
        rank: Rank | None = None,
        max_rows: int = 12,
    ) -> None:
        super().__init__(context, max_rows, Input(context, "Search: ") if rank else None)
        self._rows = list(rows)
        self._on_change = on_change
        self._on_close = on_close
        self._rank = rank
        self._query = ""
        self._found: Sequence[SettingRow] = self._rows
        self._position.count = len(self._rows)
        self._opened: Component | None = None

    @property
    def selected(self) -> SettingRow | None:
        """The setting with the pointer; None if none is found."""
        return self._found[self._position.index] if self._found else None

    def set_value(self, id_: str, value: str) -> None:
        """Show another value, which was changed elsewhere."""
        self._rows = [row._replace(value=value) if row.id == id_ else row for row in self._rows]
        self._found = [row._replace(value=value) if row.id == id_ else row for row in self._found]
        self._revision += 1

    def render(self, width: int) -> list[str]:
        """The settings in view and the description of the selected one; or what its value is chosen with."""
        if self._opened:
            return self._opened.render(width)
        return super().render(width)

    def key(self, key: InputEvent) -> bool:
        """Move, change a value, leave, or type into the search field."""
        if self._opened:
            return self._opened.key(key)
        action = self._context.keymap.first(key, *MOVES, "tui.select.confirm", "tui.select.cancel")
        if action == "tui.select.cancel":
            self._on_close()
        elif action and action != "tui.select.confirm":
            self._position.move(action, self._height())
            self._revision += 1
        elif step := 1 if action else _step(key):
            self._change(step)
        elif not self._search or not self._search.key(key):
            return False
        else:
            self._find()
        return True

    def cursor(self) -> tuple[int, int] | None:
        """In what is open, else in the search field, else at the selected setting."""
        if self._opened:
            return self._opened.cursor()
        return super().cursor()

    def _change(self, step: int) -> None:
        row = self.selected
        if row is None:
            return
        if row.opener:
            self._opened = row.opener(row.value, lambda value: self._close(row.id, value))
        elif row.allowed:
            # A value that is none of the allowed ones comes before the first.
            at = row.allowed.index(row.value) if row.value in row.allowed else min(-step, 0)
            self._set(row.id, row.allowed[(at + step) % len(row.allowed)])

    def _close(self, id_: str, value: str | None) -> None:
        self._opened = None
        self._painted = None
        if value is not None:
            self._set(id_, value)

    def _set(self, id_: str, value: str) -> None:
        self.set_value(id_, value)
        self._on_change(id_, value)

    def _find(self) -> None:
        query = self._search.text if self._search else ""
        if query == self._query or self._rank is None:
            return
        self._query = query
        self._found = self._rank(query, self._rows, lambda row: f"{row.label} {row.id} {row.description}")
        self._position.count = len(self._found)
        self._position.go(0)
        self._revision += 1

    def _paint(self, width: int) -> list[str]:
        palette, glyphs = self._context.palette, self._context.glyphs
        if not self._found:
            return [paint(truncated("No such setting", width, glyphs.ellipsis), palette["muted"])]
        view = self._position.in_view(self._height())
        self._cursor_row = self._position.index - view.start
        before = cells(glyphs.pointer) + 1
        # Of all settings, so that values stay where they are while the list scrolls.
        label_width = max(1, min(max(cells(row.label) for row in self._rows), width - before - _GAP - _MIN_VALUE))
        lines = [paint_spans(self._row(index, label_width, width - before - label_width - _GAP)) for index in view]
        if len(view) < len(self._found):
            lines.append(paint(f"{' ' * before}{self._position.label()}", palette["dim"]))
        selected = self.selected
        if selected and selected.description:
            prefix = [(" " * min(before, width - 1), "")]
            lines += ["", *wrap([(selected.description, palette["muted"])], width, prefix)[:_MAX_DESCRIPTION_ROWS]]
        return lines

    def _row(self, index: int, label_width: int, room: int) -> list[Span]:
        row = self._found[index]
        palette, glyphs = self._context.palette, self._context.glyphs
        selected = index == self._position.index
        label = truncated(row.label, label_width, glyphs.ellipsis)
        spans: list[Span] = [
            (glyphs.pointer, palette["accent"]) if selected else (" " * cells(glyphs.pointer), ""),
            (f" {label}{' ' * (label_width - cells(label) + _GAP)}", palette["accent" if selected else "text"]),
        ]
        if room > 0:
            shown = truncated(one_line(row.value), room, glyphs.ellipsis)
            spans.append((shown, palette["accent" if selected else "muted"]))
        return spans


def _step(key: InputEvent) -> int:
    """How far a key steps through the values."""
    if not isinstance(key, Key) or key.action == "release":
        return 0
    return {"space": 1, "right": 1, "left": -1}.get(key.id, 0)
