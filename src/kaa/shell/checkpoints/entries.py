"""Which change sets a session names, which of them count at an entry, and which turns have none.

A change set is named by a `custom` entry. What a turn did counts for everything behind the turn's last message,
wherever the entry stands that names it: the loop does not wait until it is written.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from kaa.builtin.amounts import counted
from kaa.core.messages import Json
from kaa.session.file.jsonl import UNREADABLE
from kaa.session.store import SessionStore
from kaa.session.tree import Node

CHECKPOINT = "kaa.checkpoint"
NO_CHECKPOINT = "kaa.no_checkpoint"
REWIND = "kaa.rewind"
DELETED = "kaa.deleted"


class _Named(msgspec.Struct, rename="camel", frozen=True):
    """The data of an entry.

    Attributes:
        files: how many it changed; for people and other programs.
        after: the entry behind which it counts; None for the entry itself.
        rewind: it is the way of files that went elsewhere without the conversation.
    """

    id: str
    files: int = 0
    after: str | None = None
    rewind: bool = False


class _Missing(msgspec.Struct, rename="camel", frozen=True):
    """The data of an entry that says what no change set has of what was done behind the entry `after`.

    Attributes:
        reason: why there is none; or, if it lacks only a `part`, what that is.
    """

    reason: str
    after: str
    part: bool = False


class _Rewind(msgspec.Struct, rename="camel", frozen=True):
    """The data of an entry that says that files begin to go elsewhere without the conversation.

    A later `_Named` with `rewind` says where they arrived.

    Attributes:
        begun: the change set of the whole way; None: they did not go anywhere.
    """

    begun: str | None


class _Deleted(msgspec.Struct, rename="camel", frozen=True):
    """The data of an entry that says that others deleted files before a restore would have; or that it now has."""

    paths: tuple[str, ...]
    by_others: bool


class _Line(msgspec.Struct, rename="camel", frozen=True):
    custom_type: str = ""
    data: msgspec.Raw = msgspec.Raw(b"null")


_LINE = msgspec.json.Decoder(_Line)
_Entry: TypeAlias = _Named | _Missing | _Rewind | _Deleted
_DECODERS: Mapping[str, msgspec.json.Decoder[_Entry]] = {
    CHECKPOINT: msgspec.json.Decoder(_Named),
    NO_CHECKPOINT: msgspec.json.Decoder(_Missing),
    REWIND: msgspec.json.Decoder(_Rewind),
    DELETED: msgspec.json.Decoder(_Deleted),
}


class CheckpointEntries:
    """The entries of a session that name change sets, read as they come."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._named: dict[str, list[str]] = {}  # ids of change sets by the entry behind which they count
        self._missing: dict[str, _Missing] = {}  # by the entry behind which none counts
        self._unfinished: str | None = None
        self._deleted_by_others: frozenset[str] = frozenset()
        self._read_nodes = 0

    @property
    def unfinished_rewind(self) -> str | None:
        """The change set of a way without the conversation of which nobody noted where it ended."""
        self._read_new()
        return self._unfinished

    @property
    def deleted_by_others(self) -> frozenset[str]:
        """The files that somebody else deleted before a restore would have."""
        self._read_new()
        return self._deleted_by_others

    def way(self, start: str | None, end: str | None) -> tuple[Sequence[str], Sequence[str]]:
        """From the files after one entry to those after another; None stands for before the first entry.

        Returns:
            Change sets to take back, the newest first; and those to do after that.
        """
        here, there = self._in_effect(start), self._in_effect(end)
        shared = 0
        for one, other in zip(here, there, strict=False):
            if one != other:
                break
            shared += 1
        return here[shared:][::-1], there[shared:]

    def is_rewind(self, node: Node) -> bool:
        """Whether files went elsewhere there, and the conversation did not."""
        named = self._decode(node)
        return isinstance(named, _Named) and named.rewind

    def gaps(self, start: str | None, end: str | None) -> tuple[str, ...]:
        """Sentences that say of which turns between two entries nothing is kept; None as for `way`."""
        self._read_new()
        here, there = ({node.id for node in self._path(entry_id)} for entry_id in (start, end))
        turns = Counter((one.reason, one.part) for one in self._missing.values() if one.after in here ^ there)
        return tuple(
            f"{counted(count, 'turn')} changed {reason}"
            if is_part
            else f"{'1 turn has' if count == 1 else f'{count} turns have'} no checkpoint: {reason}"
            for (reason, is_part), count in turns.items()
        )

    def of(self, entry_id: str) -> Sequence[str]:
        """The change set that an entry names, or those that count right behind it."""
        self._read_new()
        node = self._store.tree.get(entry_id)
        named = self._decode(node) if node is not None else None
        return [named.id] if isinstance(named, _Named) else self._named.get(entry_id, [])

    def _in_effect(self, entry_id: str | None) -> list[str]:
        """The change sets that made files what they were after an entry, the oldest first."""
        self._read_new()
        return list(dict.fromkeys(found for node in self._path(entry_id) for found in self._named.get(node.id, ())))

    def _path(self, entry_id: str | None) -> Sequence[Node]:
        """The entries from the first to this one."""
        node = self._store.tree.get(entry_id) if entry_id is not None else None
        return self._store.tree.path(node) if node is not None else ()

    def _read_new(self) -> None:
        """Take in the entries that were added since the last time."""
        nodes = self._store.tree.nodes
        for node in nodes[self._read_nodes :]:
            match self._decode(node):
                case _Named(id=change_set_id, after=after, rewind=rewind):
                    self._named.setdefault(after or node.id, []).append(change_set_id)
                    if rewind:
                        self._unfinished = None
                case _Rewind(begun=begun):
                    self._unfinished = begun
                case _Deleted(paths=paths, by_others=by_others):
                    known = self._deleted_by_others
                    self._deleted_by_others = known.union(paths) if by_others else known.difference(paths)
                case _Missing(after=after) as missing_there:
                    self._missing[after] = missing_there
        self._read_nodes = len(nodes)

    def _decode(self, node: Node) -> _Entry | None:
        if node.type != "custom":
            return None
        try:
            line = _LINE.decode(self._store.line(node))
            decoder = _DECODERS.get(line.custom_type)
            return decoder.decode(line.data) if decoder is not None else None
        except UNREADABLE:
            return None


def naming(change_set_id: str, files: int, after: str | None, *, rewind: bool = False) -> dict[str, Json]:
    """The data of an entry that names a change set. `after`: the entry behind which it counts, if not this."""
    data: dict[str, Json] = {"id": change_set_id, "files": files}
    if after is not None:
        data["after"] = after
    if rewind:
        data["rewind"] = True
    return data


def missing(reason: str, after: str, *, part: bool = False) -> dict[str, Json]:
    """The data of an entry that says why nothing, or which `part`, is not kept of what was done behind `after`."""
    return {"reason": reason, "after": after, **({"part": True} if part else {})}


def rewinding(begun: str | None) -> dict[str, Json]:
    """The data of an entry that says that files begin to go elsewhere without the conversation; None: they did not."""
    return {"begun": begun}


def deleted(paths: Iterable[str], *, by_others: bool) -> dict[str, Json]:
    """The data of an entry that says who deleted files which a restore would have deleted."""
    return {"paths": sorted(paths), "byOthers": by_others}
