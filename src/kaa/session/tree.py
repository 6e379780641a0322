"""The tree of a session's entries: where each stands, not what it says.

Every entry hangs below an earlier one, so the tree has no cycles and no lost parts whatever the file
claims: an entry whose parent is unknown, itself or later in the file continues from the leaf. So it is with
the targets of `leaf` entries: one that is unknown, the entry itself or later in the file leads to its parent.
"""

import sys
from collections.abc import Callable

import msgspec

from kaa.session.file.decoding import LineHead


# Tracked by the garbage collector though there are no cycles: only tracked objects let go of a long chain of parents
# without one C call inside the other, which overflows the stack at some 100,000 entries.
class Node(msgspec.Struct, frozen=True, eq=False):
    """An entry's place: `offset` and `length` find its line (without line feed) in the file, in bytes."""

    id: str
    type: str
    parent: "Node | None"
    offset: int
    length: int


class SessionTree:
    """All entries in the order of the file, and the leaf from which the conversation goes on.

    Attributes:
        nodes: all entries in the order of the file. Do not change the list.
        info: the last entry that says something about the session as a whole, wherever it stands.
    """

    def __init__(self) -> None:
        self.info: Node | None = None
        self.nodes: list[Node] = []
        self._by_id: dict[str, Node] = {}
        self._leaf: Node | None = None
        self._observers: list[Callable[[Node], None]] = []

    def observe(self, observer: Callable[[Node], None]) -> None:
        """Call `observer` with every entry that is added from now on."""
        self._observers.append(observer)

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._by_id

    @property
    def leaf(self) -> Node | None:
        """The end of the current branch; None before the first entry."""
        return self._leaf

    def get(self, entry_id: str) -> Node | None:
        """The entry with this id; of several, the last."""
        return self._by_id.get(entry_id)

    def add(self, head: LineHead, offset: int, length: int) -> Node:
        """Add the next entry of the file and move the leaf.

        v1 entries have no id; theirs is their position, the same whenever the file is read.
        """
        entry_id = head.id if head.id is not None else f"{len(self.nodes):08x}"
        if head.parent_id is None:
            parent = None
        elif isinstance(head.parent_id, str):
            parent = self._by_id.get(head.parent_id, self._leaf)
        else:
            parent = self._leaf
        node = Node(entry_id, sys.intern(head.type), parent, offset, length)  # few types, many entries
        self._leaf = node if head.type != "leaf" else self._target(head, parent)  # no entry is its own target
        self.nodes.append(node)
        self._by_id[entry_id] = node
        if node.type == "session_info":
            self.info = node
        for observer in self._observers:
            observer(node)
        return node

    def _target(self, leaf_entry: LineHead, parent: Node | None) -> Node | None:
        """Where a leaf entry points; one that points nowhere changes nothing."""
        if leaf_entry.target_id is None:
            return None
        return self._by_id.get(leaf_entry.target_id, parent)

    def path(self, end: Node | None = None) -> list[Node]:
        """The entries from the root to `end` (the leaf unless told)."""
        nodes = []
        node = end if end is not None else self._leaf
        while node is not None:
            nodes.append(node)
            node = node.parent
        nodes.reverse()
        return nodes
