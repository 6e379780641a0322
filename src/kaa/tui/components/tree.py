"""A tree to find and choose a node in: folded and unfolded, filtered, searched by typing.

Trees here are large and deep (a session is a chain of thousands), so nothing recurs.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from kaa.tui.components.input import Input
from kaa.tui.components.list_position import MOVES, ScrolledList
from kaa.tui.components.text import truncated
from kaa.tui.context import Context
from kaa.tui.events import Input as InputEvent
from kaa.tui.style import BOLD, Span, join, paint, paint_spans
from kaa.tui.width import cells, clip

# Guides, two cells each, take a quarter of the width at most: a session may have branched often.
_WIDTH_PER_GUIDE = 8


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


class TreeFilter(NamedTuple):
    """A choice of nodes.

    Attributes:
        label: what it is called.
        accepts: whether a node is shown; None for all.
        action: the id of what keys put it in force; empty if it has none of its own.
    """

    label: str
    accepts: Callable[[TreeNode], bool] | None = None
    action: str = ""


class TreeActions(NamedTuple):
    """The ids of what keys do here, besides `tui.select.*`."""

    fold_or_up: str
    unfold_or_down: str
    next_filter: str = ""
    previous_filter: str = ""


class Tree(ScrolledList):
    """Nodes below each other with guides before them; the selected one has a pointer.

    What is folded or left out is not painted, and of the rest only what is in view.

    Args:
        context: palette, keys, glyphs and the size of the screen.
        roots: the topmost nodes.
        actions: which actions fold, and change the filter.
        on_select: called with the node that is chosen.
        on_cancel: called when none is.
        filters: choices of nodes; the first is in force. None shows all.
        selected: the id of the node that is selected at first; without it, the last one.
        max_rows: how many nodes are shown at most. On low screens they are fewer.
        indents_only_children: see `rows_of`.
    """

    _search: Input

    def __init__(
        self,
        context: Context,
        roots: Sequence[TreeNode],
        actions: TreeActions,
        *,
        on_select: Callable[[TreeNode], None],
        on_cancel: Callable[[], None],
        filters: Sequence[TreeFilter] = (),
        selected: str | None = None,
        max_rows: int = 20,
        indents_only_children: bool = True,
    ) -> None:
        super().__init__(context, max_rows, Input(context, "Search: "))
        self._roots = roots
        self._actions = actions
        self._on_select = on_select
        self._on_cancel = on_cancel
        self._filters = tuple(filters) or (TreeFilter("all"),)
        self._filter = 0
        self._folded: set[str] = set()
        # What is known of the nodes as soon as it was needed: keys come faster than all of thousands are looked at.
        self._accepted: dict[int, frozenset[str]] = {}  # by filter, the ids of those it accepts
        self._texts: dict[str, str] = {}  # as they are searched, by id
        self._order: list[str] = []  # all ids, from top to bottom
        self._indents_only_children = indents_only_children
        self._query = ""
        self._rows: list[TreeRow] = []
        self._lay_out(selected)

    @property
    def selected(self) -> TreeNode | None:
        """The node with the pointer; None if none is shown."""
        return self._rows[self._position.index].node if self._rows else None

    def set_roots(self, roots: Sequence[TreeNode]) -> None:
        """Show another tree; what is folded and selected stays so where ids are the same."""
        self._roots = roots
        self._accepted.clear()
        self._texts.clear()
        self._order.clear()
        self._lay_out(self._selected_id())

    def key(self, key: InputEvent) -> bool:
        """Move, fold, filter, choose, cancel, or type into the search field."""
        keymap = self._context.keymap
        action = keymap.first(key, *MOVES, "tui.select.confirm", "tui.select.cancel", *filter(None, self._actions))
        if action == "tui.select.cancel":
            self._on_cancel()
        elif action == "tui.select.confirm":
            if self.selected:
                self._on_select(self.selected)
        elif action in MOVES:
            self._go(lambda: self._position.move(action, self._height()))
        elif action:
            self._act(action)
        elif (chosen := keymap.first(key, *(each.action for each in self._filters if each.action))) is not None:
            self._use_filter(next(at for at, each in enumerate(self._filters) if each.action == chosen))
        elif self._search.key(key):
            self._find()
        else:
            return False
        return True

    def _act(self, action: str) -> None:
        if action == self._actions.fold_or_up:
            self._fold_or_up()
        elif action == self._actions.unfold_or_down:
            self._unfold_or_down()
        else:
            step = 1 if action == self._actions.next_filter else -1
            self._use_filter((self._filter + step) % len(self._filters))

    def _fold_or_up(self) -> None:
        """Fold the selected node; if there is nothing to fold, go up to where there is."""
        if not self._rows:
            return
        row: TreeRow | None = self._rows[self._position.index]
        if row is not None and self._can_fold(row) and not self._query and not row.hidden:
            self._folded.add(row.node.id)
            self._lay_out(row.node.id)
            return
        row = row.parent if row else None
        while row is not None and not self._can_fold(row):
            row = row.parent
        if row is not None:
            at = self._rows.index(row)
            self._go(lambda: self._position.go(at))

    def _unfold_or_down(self) -> None:
        """Unfold the selected node; if it is not folded, go down to where something can be."""
        if not self._rows:
            return
        at = self._position.index
        row = self._rows[at]
        if row.hidden:
            self._folded.discard(row.node.id)
            self._lay_out(row.node.id)
            return
        further = (index for index in range(at + 1, len(self._rows)) if self._can_fold(self._rows[index]))
        target = next(further, len(self._rows) - 1)
        self._go(lambda: self._position.go(target))

    def _can_fold(self, row: TreeRow) -> bool:
        """Whether a fold would be seen: where chains go straight down, at their beginnings only."""
        return bool(row.branches) and (self._indents_only_children or row.is_indented or row.parent is None)

    def _use_filter(self, index: int) -> None:
        self._filter = index
        self._lay_out(self._selected_id())

    def _find(self) -> None:
        if self._search.text != self._query:
            self._query = self._search.text
            self._lay_out(self._selected_id())

    def _selected_id(self) -> str | None:
        return self.selected.id if self.selected else None

    def _go(self, move: Callable[[], None]) -> None:
        move()
        self._revision += 1

    def _lay_out(self, select: str | None) -> None:
        """Find out which nodes are shown, and select the one with this id, or what is shown nearest above it."""
        folded = () if self._query else self._folded  # a search looks into what is folded
        self._rows = rows_of(self._roots, self._accepts(), folded, indents_only_children=self._indents_only_children)
        self._position.count = len(self._rows)
        self._position.go(self._nearest(select))
        self._revision += 1

    def _nearest(self, id_: str | None) -> int:
        if id_ is None:
            return len(self._rows) - 1
        at = {row.node.id: index for index, row in enumerate(self._rows)}
        if id_ in at:
            return at[id_]
        # Not shown: the last one shown before it, where its parent is, or what is folded.
        self._order = self._order or [row.node.id for row in rows_of(self._roots)]
        before = self._order[: self._order.index(id_)] if id_ in self._order else self._order
        return next((at[other] for other in reversed(before) if other in at), 0)

    def _accepts(self) -> Callable[[TreeNode], bool] | None:
        accepted, words = self._accepted_ids(), self._query.casefold().split()
        if not words:
            return None if accepted is None else lambda node: node.id in accepted
        if not self._texts:
            self._texts = {row.node.id: row.node.text.casefold() for row in rows_of(self._roots)}
        found = {id_ for id_, text in self._texts.items() if words[0] in text}
        for word in words[1:]:
            found = {id_ for id_ in found if word in self._texts[id_]}
        if accepted is not None:
            found &= accepted
        return lambda node: node.id in found

    def _accepted_ids(self) -> frozenset[str] | None:
        """Which nodes the filter in force accepts; None for all."""
        accepts = self._filters[self._filter].accepts
        if accepts is None:
            return None
        if self._filter not in self._accepted:
            nodes = (row.node for row in rows_of(self._roots))
            self._accepted[self._filter] = frozenset(node.id for node in nodes if accepts(node))
        return self._accepted[self._filter]

    def _paint(self, width: int) -> list[str]:
        palette, glyphs = self._context.palette, self._context.glyphs
        if not self._rows:
            return [paint(truncated("Nothing found", width, glyphs.ellipsis), palette["muted"])]
        lines = [self._painted_row(index, width) for index in self._position.in_view(self._height())]
        label = self._filters[self._filter].label
        named = f" {label}" if len(self._filters) > 1 else ""
        return [*lines, paint(f"{' ' * (cells(glyphs.pointer) + 1)}{self._position.label()}{named}", palette["dim"])]

    def _painted_row(self, index: int, width: int) -> str:
        row = self._rows[index]
        palette, glyphs = self._context.palette, self._context.glyphs
        selected = index == self._position.index
        spans: list[Span] = [
            (glyphs.pointer, palette["accent"]) if selected else (" " * cells(glyphs.pointer), ""),
            (f" {self._guides(row, width)}", palette["borderMuted"]),
            (self._fold_sign(row), palette["muted"]),
        ]
        spans += [(text, join(style, BOLD) if selected else style) for text, style in row.node.label]
        if row.hidden:
            spans.append((f" (+{row.hidden})", palette["muted"]))
        return paint_spans(_shortened(spans, width, glyphs.ellipsis))

    def _guides(self, row: TreeRow, width: int) -> str:
        """Lines from parents to children; of a deep tree only the innermost, so that labels have room."""
        glyphs = self._context.glyphs
        limit = max(1, width // _WIDTH_PER_GUIDE)
        ends = list(row.guides(limit + 1))
        elided = len(ends) > limit
        guides = [" " if has_ended else glyphs.vertical for has_ended in ends[:limit]]
        if row.is_indented and row.is_last:
            guides[0] = glyphs.bottom_left
        return (glyphs.ellipsis if elided else "") + "".join(f"{guide} " for guide in reversed(guides))

    def _fold_sign(self, row: TreeRow) -> str:
        glyphs = self._context.glyphs
        if row.hidden:
            return f"{glyphs.collapsed} "
        if self._can_fold(row):
            return f"{glyphs.expanded} "
        return " " * (cells(glyphs.expanded) + 1)


def _shortened(spans: Sequence[Span], width: int, ellipsis: str) -> list[Span]:
    """The spans as far as they have room, with an ellipsis if that is not all."""
    if sum(cells(text) for text, _ in spans) <= width:
        return list(spans)
    room = max(0, width - cells(ellipsis))
    kept: list[Span] = []
    for text, style in spans:
        if cells(text) > room:
            return [*kept, (clip(text, room) + ellipsis, style)]
        kept.append((text, style))
        room -= cells(text)
    return kept
