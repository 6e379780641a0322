"""A tree as rows below each other: what of it is shown, and the guides before each row.

Trees here are large and deep (a session is a chain of thousands), so nothing recurs, and rows are painted by whoever
shows them, not here.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from kaa.tui.style import Span


class TreeNode:
    """A node.

    Args:
        id: unique in the tree.
        label: one line of it, ours and trusted.
        children: below it, from top to bottom.
    """

    __slots__ = ("children", "id", "label")

    def __init__(
        self,
        id: str,  # noqa: A002 (what it is called)
        label: Sequence[Span],
        children: Sequence["TreeNode"] = (),
    ) -> None:
        self.id = id
        self.label = label
        self.children = children

    @property
    def text(self) -> str:
        """The label without its styles."""
        return "".join(text for text, _ in self.label)


class TreeRow:
    """A node that is shown.

    Attributes:
        node: the node.
        parent: the row of the nearest shown node above it in the tree; None for a root.
        is_last: none of its siblings is shown below it.
        branches: how many shown nodes are its children.
        hidden: how many nodes are folded away below it.
        is_indented: whether it stands further right than its parent.
    """

    __slots__ = ("branches", "hidden", "is_indented", "is_last", "node", "parent")

    def __init__(self, node: TreeNode, parent: "TreeRow | None") -> None:
        self.node = node
        self.parent = parent
        self.is_last = True
        self.branches = 0
        self.hidden = 0
        self.is_indented = False

    def guides(self, limit: int) -> Iterator[bool]:
        """For each guide, from the right to the left, whether its line ends at the node it leads to; `limit` at most.

        That node is the row's own for the first guide if the row is indented, else one above.
        """
        row: TreeRow | None = self
        while row is not None and limit > 0:
            if row.is_indented:
                limit -= 1
                yield row.is_last
            row = row.parent


def rows_of(
    roots: Sequence[TreeNode],
    accepts: Callable[[TreeNode], bool] | None = None,
    folded: Collection[str] = (),
    *,
    indents_only_children: bool = True,
) -> list[TreeRow]:
    """The rows of a tree.

    Args:
        roots: its topmost nodes.
        accepts: which nodes are shown; those below a node that is not belong to the nearest one that is.
        folded: ids of nodes whose descendants are not shown.
        indents_only_children: whether the only child of a node stands further right than that; without it, chains go
            straight down, and only branches are indented.
    """
    shown = _shown(roots, accepts)
    _count_children(shown)
    rows = _unfolded(shown, folded) if folded else shown
    for row in rows:
        siblings = len(roots) if row.parent is None else row.parent.branches
        row.is_indented = row.parent is not None and (siblings > 1 or indents_only_children)
    return rows


def _shown(roots: Sequence[TreeNode], accepts: Callable[[TreeNode], bool] | None) -> list[TreeRow]:
    """All accepted nodes, parents before their children."""
    rows: list[TreeRow] = []
    waiting: list[tuple[TreeNode, TreeRow | None]] = [(root, None) for root in reversed(roots)]
    while waiting:
        node, parent = waiting.pop()
        row = parent
        if accepts is None or accepts(node):
            row = TreeRow(node, parent)
            rows.append(row)
        children = node.children
        if len(children) == 1:  # as nearly all have
            waiting.append((children[0], row))
        elif children:
            waiting += [(child, row) for child in reversed(children)]
    return rows


def _count_children(rows: Sequence[TreeRow]) -> None:
    """Count from the end: the child met first is the last one."""
    for row in reversed(rows):
        if row.parent is not None:
            row.is_last = not row.parent.branches
            row.parent.branches += 1


def _unfolded(rows: Sequence[TreeRow], folded: Collection[str]) -> list[TreeRow]:
    left: list[TreeRow] = []
    folding: dict[TreeRow, TreeRow] = {}  # for each row that is not shown, the folded one above it
    for row in rows:
        above = row.parent
        if above is not None and (above in folding or above.node.id in folded):
            folder = folding.get(above, above)
            folding[row] = folder
            folder.hidden += 1
        else:
            left.append(row)
    return left
