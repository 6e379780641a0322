"""What a session consists of, in figures: who said how much, here and on other branches, and where it came from."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from kaa.session.outline import SPOKEN, outline
from kaa.session.store import SessionStore, session_name
from kaa.session.tree import Node


class SessionFigures(msgspec.Struct, frozen=True):
    """A session in figures.

    Attributes:
        name: what the user called it, None if nothing.
        created: when it began, ISO 8601.
        here: messages on the way from the root to the leaf, by `RowKind`.
        everywhere: messages on all branches, by `RowKind`.
        branches: ends that the tree has.
    """

    name: str | None
    parent: str | None
    created: str
    here: dict[str, int]
    everywhere: dict[str, int]
    branches: int


def figures(store: SessionStore, nodes: Sequence[Node], leaf: Node | None) -> SessionFigures:
    """Count. Goes through the whole session: call it in a thread.

    Args:
        nodes: its entries, as they were when this was asked for.
        leaf: the entry that it went on from then.

    Raises:
        SessionReadError: the disk failed.
    """
    rows = outline(store, nodes, leaf).rows
    here: Counter[str] = Counter()
    everywhere: Counter[str] = Counter()
    spoken_above: dict[str, str | None] = {}  # an entry's nearest entry, itself included, in which something is said
    ends: set[str] = set()
    for row in rows:
        above = spoken_above.get(row.parent_id) if row.parent_id is not None else None
        if row.kind not in SPOKEN:
            spoken_above[row.entry_id] = above
            continue
        spoken_above[row.entry_id] = row.entry_id
        everywhere[row.kind] += 1
        here[row.kind] += row.is_current
        ends.discard(above or "")
        ends.add(row.entry_id)
    header = store.header
    return SessionFigures(
        session_name(store), header.parent_session, header.timestamp, dict(here), dict(everywhere), len(ends)
    )
