"""The ways to somewhere else in the session: the tree, the user's messages, one message back, and forward again."""

from collections.abc import Callable, Mapping, Sequence

from kaa.builtin.step_options import Step, StepOption, step_option
from kaa.ext.errors import CommandError
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.navigation.steps import MoveRequest, NavigationSteps
from kaa.frontends.interactive.navigation.tree_nodes import filters_of, here, tree_of
from kaa.frontends.interactive.ui_context import UIContext
from kaa.session.headline import headline
from kaa.session.outline import Outline, OutlineRow, RowFilter
from kaa.shell.navigating import Along, RewindPoint
from kaa.tui.components.select_list import SelectItem
from kaa.tui.components.tree import Tree, TreeActions
from kaa.tui.context import Context
from kaa.tui.events import Input
from kaa.tui.sanitize import squeezed

_ACTIONS = TreeActions(
    fold_or_up="app.tree.foldOrUp",
    unfold_or_down="app.tree.unfoldOrDown",
    next_filter="app.tree.filter.cycleForward",
    previous_filter="app.tree.filter.cycleBackward",
)


class _TreeView:
    """Entries to choose from.

    Args:
        selected: the entry with the pointer at first; None for where the conversation goes on.
        chosen_filter: which rows are shown at first.
        on_select: called with the entry that is chosen.
        on_label: called with the entry whose label is to be changed.
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
        return self._tree.render(width)

    def cursor(self) -> tuple[int, int] | None:
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


_RESTORES: Mapping[StepOption, Along | None] = {"": None, "--all": "both", "--conversation": "conversation"}
_NO_MESSAGE = "there is no message to go back to"


class Navigator:
    """Opens lists and trees of places to go to."""

    def __init__(
        self,
        ui: UIContext,
        departure: NavigationSteps,
    ) -> None:
        self._ui = ui
        self._steps = departure

    def undo(self, arguments: str = "") -> None:
        """Undo the last message and its changes to files. `arguments`: as typed behind the command."""
        self._step("undo", arguments, MoveRequest(lambda navigation: navigation.back(), _NO_MESSAGE, proposed="b"))

    def redo(self, arguments: str = "") -> None:
        """Return to where the conversation was before it went elsewhere. `arguments`: as typed behind the command."""
        nothing = "there is nothing to redo: nothing was undone, or you have sent a message since"
        self._step("redo", arguments, MoveRequest(lambda navigation: navigation.forward(), nothing, proposed="b"))

    def rewind(self) -> None:
        """Choose a message to go back to."""
        self.choose_message(
            "Rewind to before which message?",
            "later messages stay in the session file",
            lambda entry_id: self._steps.go(MoveRequest(lambda navigation: navigation.to(entry_id), _NO_MESSAGE)),
        )

    def _step(self, step: Step, arguments: str, request: MoveRequest) -> None:
        try:
            option = step_option(step, arguments)
        except CommandError as error:
            self._ui.show_failure(error)
            return
        self._steps.go(request._replace(restore=_RESTORES[option], kind=step))

    def choose_message(self, title: str, hint: str, chosen: Callable[[str], None]) -> None:
        """Let the user choose one of his messages on this branch, the newest first."""

        async def points(engine: Engine) -> Sequence[RewindPoint]:
            return engine.conversation.navigation.points()

        def choose(found: Sequence[RewindPoint]) -> None:
            if not found:
                self._ui.say(_NO_MESSAGE)
                return
            items = [
                SelectItem(point.entry_id, squeezed(headline(point.text)) or "(no text)") for point in reversed(found)
            ]
            self._ui.lists.choose(title, items, chosen, hint=hint)

        self._ui.call(points, choose)

    def tree(self, selected: str | None = None) -> None:
        """Show the session's tree, to go on from anywhere in it.

        Args:
            selected: the entry with the pointer at first; None for where the conversation goes on.
        """

        def show(outline: Outline) -> None:
            if not outline.rows:
                self._ui.say("this session has no messages yet")
            elif self._ui.main_view.view.linear:
                self._list(outline)
            else:
                self._open(outline, selected)

        self._ui.call(lambda engine: engine.conversation.navigation.outline(), show)

    def _open(self, outline: Outline, selected: str | None) -> None:
        def close() -> None:
            self._ui.lists.close(dialog)

        def chosen(row: OutlineRow) -> None:
            close()
            self._go(row, outline)

        view = _TreeView(
            self._ui.main_view.context,
            outline,
            selected=selected,
            chosen_filter=self._ui.main_view.preferences.tree_filter_mode,
            on_select=chosen,
            on_label=lambda row: self._edit_label(view, row),
            on_cancel=close,
        )
        keys = (
            ("app.tree.filter.cycleForward", "filters"),
            ("app.tree.foldOrUp", "folds"),
            ("app.tree.editLabel", "labels"),
        )
        dialog = self._ui.lists.show("Continue from which entry?", view, self._ui.main_view.key_hint(keys))

    def _list(self, outline: Outline) -> None:
        """The same as a list to be read line by line, the newest first."""
        chosen, here_id = self._ui.main_view.preferences.tree_filter_mode, here(outline)
        rows = {row.entry_id: row for row in reversed(outline.rows) if outline.shows(row, chosen)}
        items = [
            SelectItem(
                row.entry_id,
                f"{number}. {row.kind.replace('_', ' ')}: {squeezed(row.text)}",
                ", ".join(filter(None, (squeezed(row.label or ""), "" if row.is_current else "another branch"))),
                row.entry_id == here_id,
            )
            for number, row in enumerate(rows.values(), 1)
        ]
        self._ui.lists.choose("Continue from which entry?", items, lambda entry_id: self._go(rows[entry_id], outline))

    def _go(self, row: OutlineRow, outline: Outline) -> None:
        if row.entry_id == here(outline):
            self._ui.say("the conversation continues from there already")
            return
        find = MoveRequest(lambda navigation: navigation.to(row.entry_id), _NO_MESSAGE, may_summarize=True)
        self._steps.go(find)

    def _edit_label(self, view: _TreeView, row: OutlineRow) -> None:
        def keep(text: str) -> None:
            name = squeezed(text) or None

            async def label(engine: Engine) -> OutlineRow:
                navigation = engine.conversation.navigation
                navigation.label(row.entry_id, name)
                rows = (await navigation.outline()).rows
                return next(one for one in rows if one.entry_id == row.entry_id)

            def labelled(now: OutlineRow) -> None:
                view.relabel(now)
                self._ui.refresh()

            self._ui.call(label, labelled)

        hint = "Enter saves it, Esc goes back"
        self._ui.lists.enter("Label", "Label (empty removes it):", row.label or "", hint, keep)
