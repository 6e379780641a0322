"""A list to tick entries in, and to put them in an order."""

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

from kaa.tui.components.select_list import Rank, SelectItem, SelectList
from kaa.tui.context import Context
from kaa.tui.events import Input

T = TypeVar("T", bound=Hashable)

_TICKED, _OPEN = "[x]", "[ ]"


class CheckActions(NamedTuple):
    """The ids of what keys do here, besides `tui.select.*`; choosing an entry ticks it, too."""

    toggle: str
    up: str
    down: str
    all: str
    none: str
    group: str
    save: str


class CheckList(Generic[T]):
    """Entries with boxes. Those ticked first are at the top, in their order, until the list is opened again.

    Args:
        context: palette, keys, glyphs and the size of the screen.
        items: all entries; their marks are those of this list.
        ticked: the values that are ticked, in their order.
        actions: which actions do what.
        on_change: called with the ticked values, in their order, after each change.
        on_save: called with them when they shall be kept.
        on_close: called when it is left.
        group_of: what entries are ticked together by; None if there are no groups.
        rank: finds entries by what is typed.
        max_rows: how many entries are shown at most.
    """

    def __init__(
        self,
        context: Context,
        items: Sequence[SelectItem[T]],
        ticked: Sequence[T],
        actions: CheckActions,
        *,
        on_change: Callable[[list[T]], None],
        on_save: Callable[[list[T]], None],
        on_close: Callable[[], None],
        group_of: Callable[[T], str] | None = None,
        rank: Rank | None = None,
        max_rows: int = 10,
    ) -> None:
        self._context = context
        self._actions = actions
        self._on_change = on_change
        self._on_save = on_save
        self._group_of = group_of
        by_value = {item.value: item for item in items}
        self._ticked = {value for value in ticked if value in by_value}
        first = [by_value[value] for value in dict.fromkeys(ticked) if value in by_value]
        self._items = first + [item for item in items if item.value not in self._ticked]
        self._list = SelectList(
            context,
            self._marked(),
            on_select=lambda item: self._tick([item.value], item.value not in self._ticked),
            on_cancel=on_close,
            rank=rank,
            max_rows=max_rows,
        )

    @property
    def ticked(self) -> list[T]:
        """The ticked values, in their order."""
        return [item.value for item in self._items if item.value in self._ticked]

    def render(self, width: int) -> list[str]:
        """The list."""
        return self._list.render(width)

    def key(self, key: Input) -> bool:
        """Tick, order or save; move, search or leave as in any list."""
        selected = self._list.selected
        match self._context.keymap.first(key, *self._actions):
            case self._actions.toggle if selected:
                self._tick([selected.value], selected.value not in self._ticked)
            case self._actions.up if selected:
                self._shift(selected, -1)
            case self._actions.down if selected:
                self._shift(selected, 1)
            case self._actions.all:
                self._tick([item.value for item in self._list.found], True)
            case self._actions.none:
                self._tick([item.value for item in self._list.found], False)
            case self._actions.group if selected and self._group_of:
                group = self._group_of(selected.value)
                values = [item.value for item in self._items if self._group_of(item.value) == group]
                self._tick(values, not self._ticked.issuperset(values))
            case self._actions.save:
                self._on_save(self.ticked)
            case _:
                return self._list.key(key)
        return True

    def cursor(self) -> tuple[int, int] | None:
        """That of the list."""
        return self._list.cursor()

    def _tick(self, values: Sequence[T], on: bool) -> None:
        allowed = {item.value for item in self._items if not item.is_disabled}
        self._changed(self._ticked | (allowed & set(values)) if on else self._ticked - set(values))

    def _changed(self, ticked: set[T]) -> None:
        self._ticked = ticked
        self._list.set_items(self._marked())
        self._on_change(self.ticked)

    def _shift(self, item: SelectItem[T], by: int) -> None:
        """Let an entry change places with its neighbour; what a search shows has no order to change."""
        values = [other.value for other in self._items]
        at = values.index(item.value)
        if self._list.query or not 0 <= at + by < len(values):
            return
        self._items[at], self._items[at + by] = self._items[at + by], self._items[at]
        self._changed(self._ticked)

    def _marked(self) -> list[SelectItem[T]]:
        return [item._replace(mark=_TICKED if item.value in self._ticked else _OPEN) for item in self._items]
