"""The output items of a reply that still arrives, and which of them an event means.

Servers name an item by its place in the output, by its id, or not at all; some give all the same place, others
the same item ever new ids.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias, get_args

from kaa.llm.responses.events import OutputItem, ResponsesEvent
from kaa.llm.unicode_text import clean

ItemKind: TypeAlias = Literal["message", "reasoning", "function_call"]


class OpenItem:
    """An output item, growing until it is complete.

    Attributes:
        key: of its block.
        stream: of which kind of events its reasoning consists: a server may send a summary and the whole.
        part: the part of its reasoning that arrives.
        call_id: what its function call is known as, once that has begun.
    """

    def __init__(self, key: int, kind: ItemKind, index: int | None) -> None:
        self.key = key
        self.kind: ItemKind = kind
        self.index = index
        self.complete = False
        self.stream = ""
        self.part: int | None = None
        self.call_id: str | None = None
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """What has come of it: text, reasoning or arguments."""
        return clean("".join(self._pieces))

    def grow(self, piece: str) -> None:
        """More of it has come."""
        self._pieces.append(piece)

    def missing(self, whole: str) -> str:
        """What of `whole`, which is all that the item says, has not come yet.

        Nothing, if something else has come: what was shown cannot be taken back.
        """
        text = self.text
        return whole[len(text) :] if whole.startswith(text) else ""


class OpenItems:
    """All items of one reply, in the order in which they began. Finding one takes no longer when there are many."""

    def __init__(self) -> None:
        self._items: list[OpenItem] = []
        self._of_kind: dict[ItemKind, list[OpenItem]] = {kind: [] for kind in get_args(ItemKind)}
        self._oldest: dict[tuple[ItemKind, str], OpenItem] = {}  # by name
        self._newest: dict[tuple[ItemKind, str], OpenItem] = {}
        # The newest last; those that are complete are dropped when they are met.
        self._growing: dict[ItemKind, list[OpenItem]] = {kind: [] for kind in get_args(ItemKind)}
        self._growing_at: dict[tuple[ItemKind, int], list[OpenItem]] = {}

    def __iter__(self) -> Iterator[OpenItem]:
        return iter(self._items)

    def begin(self, kind: ItemKind, index: int | None) -> OpenItem:
        """A new item."""
        item = OpenItem(len(self._items) + 1, kind, index)
        self._items.append(item)
        self._of_kind[kind].append(item)
        self._growing[kind].append(item)
        if index is not None:
            self._growing_at.setdefault((kind, index), []).append(item)
        return item

    def name(self, known: OpenItem, item: OutputItem) -> None:
        """Learn what `known` is called: llama.cpp gave a call's id only as its `call_id`."""
        for name in _names(item):
            place = known.kind, name
            if known.key <= self._oldest.setdefault(place, known).key:
                self._oldest[place] = known
            if known.key >= self._newest.setdefault(place, known).key:
                self._newest[place] = known

    def growing(self, kind: ItemKind, event: ResponsesEvent) -> OpenItem | None:
        """The item of which `event` brings more."""
        return self._find(kind, [event.item_id] if event.item_id else [], event.output_index)

    def ended(self, kind: ItemKind, index: int | None, item: OutputItem) -> OpenItem | None:
        """The item that is now complete as `item`."""
        return self._find(kind, _names(item), index)

    def counted(self, kind: ItemKind, number: int, item: OutputItem) -> OpenItem | None:
        """The item that is the `number`th of its kind, from 0, in the finished reply."""
        same = self._of_kind[kind]
        named = self._oldest.get((kind, item.id)) if item.id else None
        return named or (same[number] if number < len(same) else None)

    def _find(self, kind: ItemKind, names: list[str], index: int | None) -> OpenItem | None:
        called = [self._newest[kind, name] for name in names if (kind, name) in self._newest]
        named = max(called, key=lambda item: item.key, default=None)
        # An item of the same name elsewhere, which is complete, is another one.
        if named is not None and (not named.complete or index in (None, named.index)):
            return named
        placed = _last_growing(self._growing_at.get((kind, index), [])) if index is not None else None
        last = _last_growing(self._growing[kind])
        if placed is None and last is not None and None in (index, last.index):
            return last  # without a place it can only be the one that came last
        return placed


def _names(item: OutputItem) -> list[str]:
    return [name for name in (item.id, item.call_id) if name]


def _last_growing(items: list[OpenItem]) -> OpenItem | None:
    while items and items[-1].complete:
        items.pop()
    return items[-1] if items else None


def kind_of(item: OutputItem) -> ItemKind | None:
    """What kind of item it is; None for kinds kaa did not ask for."""
    return next((kind for kind in get_args(ItemKind) if kind == item.type), None)
