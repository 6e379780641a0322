"""Where a session was before it went elsewhere in its tree, so that one can return."""

from collections.abc import Callable

from kaa.session.entries import SPEAKING, Leaf
from kaa.session.store import SessionStore, read_entry
from kaa.session.tree import Node

# Not the summary of a branch that was left: leaving it is the step.
_SAID = SPEAKING - {"branch_summary"}


def _is_no_step(_node: Node) -> bool:
    return False


def trail(store: SessionStore, is_step: Callable[[Node], bool] = _is_no_step) -> list[Node | None]:
    """The leaves that were left since something was said, the last one at the end; None is before the first entry.

    The session's file alone tells it, so it outlives a restart. Going to the leaf at the end takes that one off.

    Args:
        is_step: whether an entry that is no leaf entry notes a step elsewhere too, from the leaf that it is behind.

    Raises:
        SessionReadError: the disk failed.
    """
    nodes = store.tree.nodes
    start = next((at for at in range(len(nodes) - 1, -1, -1) if nodes[at].type in _SAID), 0)
    left: list[Node | None] = []
    leaf: Node | None = None
    for node in nodes[start:]:
        if node.type != "leaf":
            if is_step(node):
                left.append(node.parent)
            leaf = node
            continue
        entry = read_entry(store, node)
        target = _target(store, entry.target_id, node) if isinstance(entry, Leaf) else node.parent
        if left and left[-1] is target:
            left.pop()
        else:
            left.append(leaf)
        leaf = target
    return left


def _target(store: SessionStore, target_id: str | None, node: Node) -> Node | None:
    """Where a leaf entry points; one that points nowhere changes nothing, as in `SessionTree`."""
    return None if target_id is None else store.tree.get(target_id) or node.parent
