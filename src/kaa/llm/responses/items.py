"""The output items of a reply that still arrives, and which of them an event means.

Servers name an item by its place in the output, by its id, or not at all; some give all the same place, others
the same item ever new ids.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias, get_args

from kaa.llm.responses.events import Event, Item

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
        self.ids: set[str] = set()
        self.complete = False
        self.stream = ""
        self.part: int | None = None
        self.call_id: str | None = None
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """What has come of it: text, reasoning or arguments."""
        return "".join(self._pieces)

    def grow(self, piece: str) -> None:
        """More of it has come."""
        self._pieces.append(piece)

    def is_called(self, item: Item) -> None:
        """Learn the names of the item: llama.cpp gave a call's id only as its `call_id`."""
        self.ids.update(name for name in (item.id, item.call_id) if name)

    def missing(self, whole: str) -> str:
        """What of `whole`, which is all that the item says, has not come yet.

        Nothing, if something else has come: what was shown cannot be taken back.
        """
        text = self.text
        return whole[len(text) :] if whole.startswith(text) else ""


class OpenItems:
    """All items of one reply, in the order in which they began."""

    def __init__(self) -> None:
        self._items: list[OpenItem] = []

    def __iter__(self) -> Iterator[OpenItem]:
        return iter(self._items)

    def begin(self, kind: ItemKind, index: int | None) -> OpenItem:
        """A new item."""
        item = OpenItem(len(self._items) + 1, kind, index)
        self._items.append(item)
        return item

    def growing(self, kind: ItemKind, event: Event) -> OpenItem | None:
        """The item of which `event` brings more."""
        return self._find(kind, {event.item_id} if event.item_id else set(), event.output_index)

    def ended(self, kind: ItemKind, index: int | None, item: Item) -> OpenItem | None:
        """The item that is now complete as `item`."""
        return self._find(kind, {name for name in (item.id, item.call_id) if name}, index)

    def counted(self, kind: ItemKind, number: int, item: Item) -> OpenItem | None:
        """The item that is the `number`th of its kind, from 0, in the finished reply."""
        same = [known for known in self._items if known.kind == kind]
        named = next((known for known in same if item.id in known.ids), None)
        return named or (same[number] if number < len(same) else None)

    def _find(self, kind: ItemKind, ids: set[str], index: int | None) -> OpenItem | None:
        same = [known for known in reversed(self._items) if known.kind == kind]
        named = [known for known in same if known.ids & ids]
        opened = [known for known in same if not known.complete]
        placed = [known for known in opened if index is not None and known.index == index]
        # An item of the same name elsewhere, which is complete, is another one.
        if named and (not named[0].complete or index in (None, named[0].index)):
            return named[0]
        if not placed and opened and None in (index, opened[0].index):
            return opened[0]  # without a place it can only be the one that came last
        return placed[0] if placed else None


def kind_of(item: Item) -> ItemKind | None:
    """What kind of item it is; None for kinds kaa did not ask for."""
    return next((kind for kind in get_args(ItemKind) if kind == item.type), None)
