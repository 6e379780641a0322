"""A session as it is shown: everything on the way from the root to the leaf, decoded when it is looked at."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import TypeAlias, get_args, overload

from kaa.session.entries import (
    ENTRY_KINDS,
    BranchSummary,
    Compaction,
    Custom,
    CustomMessage,
    Entry,
    MessageEntry,
    ModelChange,
    ThinkingLevelChange,
)
from kaa.session.file.decoding import decode_entry
from kaa.session.store import ReadableSession, read_entry
from kaa.session.tree import Node


class Unreadable(Entry, tag="unreadable", kw_only=True, frozen=True):
    """Something kaa does not understand, of a newer program or damaged. Stays in the file as it is."""


DisplayEntry: TypeAlias = (
    MessageEntry | Compaction | BranchSummary | Custom | CustomMessage | ModelChange | ThinkingLevelChange | Unreadable
)

_SHOWN = frozenset(tag for tag, kind in ENTRY_KINDS.items() if kind in get_args(DisplayEntry))
# Of these the place does not tell whether people are to see them.
_PERHAPS_HIDDEN = frozenset({"custom_message", "custom"})


class Transcript(Sequence[DisplayEntry]):
    """The path as it was when this was made. What was condensed is there too.

    Making one touches no entry, so it does not matter how long the session is. Entries may be read from any thread,
    as long as the session is open. Each access decodes anew.

    Args:
        is_torn: the last line of its file is not whole.
    """

    def __init__(self, store: ReadableSession, *, is_torn: bool = False) -> None:
        self.is_torn = is_torn
        self._store = store
        self._nodes = [node for node in store.tree.path() if node.type in _SHOWN and not self._is_hidden(node)]

    def __len__(self) -> int:
        return len(self._nodes)

    def before(self, node: Node) -> int:
        """How many of these entries come before an entry of the same path."""
        return bisect_left(self._nodes, node.offset, key=lambda other: other.offset)

    @overload
    def __getitem__(self, index: int) -> DisplayEntry: ...
    @overload
    def __getitem__(self, index: slice) -> list[DisplayEntry]: ...
    def __getitem__(self, index: int | slice) -> DisplayEntry | list[DisplayEntry]:
        """Entries from the oldest on.

        Raises:
            SessionReadError: the disk failed.
        """
        if isinstance(index, slice):
            return [self._read(node) for node in self._nodes[index]]
        return self._read(self._nodes[index])

    def _read(self, node: Node) -> DisplayEntry:
        match read_entry(self._store, node):
            case (
                MessageEntry()
                | Compaction()
                | BranchSummary()
                | Custom()
                | CustomMessage()
                | ModelChange()
                | ThinkingLevelChange() as entry
            ):
                return entry
            case _:
                return Unreadable(id=node.id)

    def _is_hidden(self, node: Node) -> bool:
        if node.type not in _PERHAPS_HIDDEN:
            return False
        line = self._store.line(node)
        if node.type == "custom" and b'"display"' not in line:
            return True
        match decode_entry(line):
            case CustomMessage(display=is_displayed):
                return not is_displayed
            case Custom(display=values):
                from kaa.core.display_values import stored_values  # lazy: few entries are shown

                return not stored_values(values)
            case _:
                return node.type == "custom"
