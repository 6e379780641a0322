"""The tree of a session in a dialog: the tree itself, and the keys for labels."""

from collections.abc import Callable

from kaa.frontends.interactive.navigation.tree_nodes import filters_of, here, tree_of
from kaa.session.outline import Outline, OutlineRow, RowFilter
from kaa.tui.components.tree import Tree, TreeActions
from kaa.tui.context import Context
from kaa.tui.events import Input

_ACTIONS = TreeActions(
    fold_or_up="app.tree.foldOrUp",
    unfold_or_down="app.tree.unfoldOrDown",
    next_filter="app.tree.filter.cycleForward",
    previous_filter="app.tree.filter.cycleBackward",
)


class TreeView:
    """Entries to choose from.

    Args:
        context: palette, keys, glyphs and the size of the screen.
        outline: what the session has.
        selected: the entry with the pointer at first; None for where the conversation goes on.
        chosen_filter: which rows are shown at first.
        on_select: called with the entry that is chosen.
        on_label: called with the entry whose label is to be changed.
        on_cancel: called when none is chosen.
    """

    def __init__(
        self,
        context: Context,
        outline: Outline,
        *,
        selected: str | None,
        chosen_filter: RowFilter,
        on_select: Callable[[OutlineRow], None],
        on_label: Callable[[OutlineRow], None],
        on_cancel: Callable[[], None],
    ) -> None:
        self._context = context
        self._on_label = on_label
        self._shows_times = False
        self._outline = outline
        self._rows = {row.entry_id: row for row in outline.rows}
        self._tree = Tree(
            context,
            tree_of(outline, context),
            _ACTIONS,
            on_select=lambda node: on_select(self._rows[node.id]),
            on_cancel=on_cancel,
            filters=filters_of(self._is_shown, chosen_filter),
            selected=selected or here(outline),
            indents_only_children=False,
        )

    def relabel(self, row: OutlineRow) -> None:
        """Show this row instead of the one with its id."""
        self._rows[row.entry_id] = row
        rows = tuple(row if old.entry_id == row.entry_id else old for old in self._outline.rows)
        self._outline = Outline(rows, self._outline.leaf_id)
        self._show()

    def render(self, width: int) -> list[str]:
        """The tree's lines."""
        return self._tree.render(width)

    def cursor(self) -> tuple[int, int] | None:
        """The tree's."""
        return self._tree.cursor()

    def key(self, key: Input) -> bool:
        """Label, or show when labels were given; all else is the tree's."""
        match self._context.keymap.first(key, "app.tree.editLabel", "app.tree.toggleLabelTimestamp"):
            case "app.tree.editLabel":
                if self._tree.selected is not None:
                    self._on_label(self._rows[self._tree.selected.id])
            case "app.tree.toggleLabelTimestamp":
                self._shows_times = not self._shows_times
                self._show()
            case _:
                return self._tree.key(key)
        return True

    def _is_shown(self, entry_id: str, chosen: RowFilter) -> bool:
        return self._outline.shows(self._rows[entry_id], chosen)

    def _show(self) -> None:
        self._tree.set_roots(tree_of(self._outline, self._context, shows_times=self._shows_times))
