"""The part of a session that the model is told word for word, entry by entry: what a compaction chooses from."""

from collections.abc import Iterable, Sequence

import msgspec

from kaa.core.messages import Message
from kaa.core.usage import estimate
from kaa.session.context import visible_path
from kaa.session.edits import Edits, message_of, read_edits
from kaa.session.entries import AnyEntry, Compaction
from kaa.session.store import SessionStore, read_entry
from kaa.session.tree import Node


class PathStep(msgspec.Struct, frozen=True):
    """An entry on the way to the leaf.

    Attributes:
        entry: None for what we do not understand.
        message: what the model is told of it; None for entries that it is not told of.
        tokens: that this takes, estimated.
    """

    id: str
    entry: AnyEntry | None = None
    message: Message | None = None
    tokens: int = 0


def read_steps(store: SessionStore, path: Sequence[Node]) -> tuple[Compaction | None, list[PathStep]]:
    """The compaction in force on `path`, and the entries that are told as they are.

    Raises:
        SessionReadError: the disk failed.
    """
    previous, nodes = visible_path(store, path)
    return previous, steps_of(store, (node for node in nodes if node.type != "compaction"), read_edits(store, nodes))


def steps_of(store: SessionStore, nodes: Iterable[Node], edits: Edits) -> list[PathStep]:
    """These entries, as the model is told of them.

    Raises:
        SessionReadError: the disk failed.
    """
    return [_step(store, node, edits) for node in nodes]


def _step(store: SessionStore, node: Node, edits: Edits) -> PathStep:
    entry = read_entry(store, node)
    message = message_of(entry, node.id, edits) if entry is not None else None
    return PathStep(node.id, entry, message, estimate(message) if message is not None else 0)
