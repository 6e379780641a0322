"""Taking a compaction back in a file that is only ever appended to.

Where nothing was said since, a leaf entry goes back before it. Otherwise a further `compaction` entry puts the state
before it in force again: with the summary and the first kept entry of the compaction before that, or, if there was
none, keeping everything from the first entry on. So pi, which knows nothing of this, reads the whole conversation too.
`details.uncompacted` names the entry that was taken back.
"""

from collections.abc import Sequence

import msgspec

from kaa.session.entries import BOOKKEEPING, Compaction, Leaf
from kaa.session.store import SessionStore, read_entry
from kaa.session.tree import Node

# What stands in place of a summary where nothing is left out. kaa does not tell the model of it, pi does.
WHOLE = "Nothing was left out: the whole conversation follows."
_KEY = "uncompacted"


class InForce(msgspec.Struct, frozen=True):
    """A compaction that counts. `restored_by`: the entry that put it in force again, if it was not the last."""

    node: Node
    entry: Compaction


def taken_back(compaction: Compaction) -> str | None:
    """The id of the compaction that this entry takes back, if it does that."""
    value = compaction.details.get(_KEY) if isinstance(compaction.details, dict) else None
    return value if isinstance(value, str) else None


def leaves_nothing_out(compaction: Compaction) -> bool:
    """Whether the whole conversation is told behind it."""
    return taken_back(compaction) is not None and compaction.summary == WHOLE


def in_force(store: SessionStore, path: Sequence[Node]) -> list[InForce]:
    """The compactions on `path` that were not taken back, the last of which counts.

    Raises:
        SessionReadError: the disk failed.
    """
    standing: list[InForce] = []
    for node in path:
        entry = read_entry(store, node) if node.type == "compaction" else None
        if not isinstance(entry, Compaction):
            continue
        if taken_back(entry) is not None:
            del standing[-1:]
        else:
            standing.append(InForce(node, entry))
    return standing


def undo(path: Sequence[Node], standing: Sequence[InForce]) -> Leaf | Compaction:
    """The entry that takes the last of the compactions `standing` on `path` back."""
    last = standing[-1]
    behind = path[path.index(last.node) + 1 :]
    if all(node.type in BOOKKEEPING for node in behind):
        return Leaf(target_id=last.node.parent.id if last.node.parent is not None else None)
    if len(standing) == 1:
        return Compaction(
            summary=WHOLE,
            first_kept_entry_id=path[0].id,
            tokens_before=last.entry.tokens_before,
            details={_KEY: last.node.id},
            from_hook=False,
        )
    before = standing[-2].entry
    details = before.details if isinstance(before.details, dict) else {}
    return Compaction(
        summary=before.summary,
        first_kept_entry_id=before.first_kept_entry_id,
        tokens_before=before.tokens_before,
        details={**details, _KEY: last.node.id},
        from_hook=before.from_hook,
    )
