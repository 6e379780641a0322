"""Opens lists, and small questions about what was chosen in them, in the editor's place, and closes them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kaa.frontends.interactive.dialogs.choices import DialogChoice, DialogChoices
from kaa.frontends.interactive.dialogs.frame import DialogFrame
from kaa.frontends.interactive.dialogs.paragraph import paragraph
from kaa.frontends.interactive.dialogs.text_entry import TextEntry
from kaa.frontends.interactive.main_view import MainView
from kaa.tui.component import Component
from kaa.tui.components.select_list import Rank, SelectItem, SelectList
from kaa.tui.fuzzy import rank

_Item = TypeVar("_Item")


class ListDialogs:
    def __init__(self, main_view: MainView) -> None:
        self._main_view = main_view

    def choose(
        self,
        title: str,
        items: Sequence[SelectItem[str]],
        on_select: Callable[[str], None],
        *,
        on_highlight: Callable[[str], None] | None = None,
        on_cancel: Callable[[], None] | None = None,
        hint: str = "",
        query: str = "",
        find: Rank = rank,
        max_rows: int = 10,
    ) -> None:
        """Let somebody choose one of some entries.

        Args:
            items: the entries; those that fit what is typed are shown.
            on_select: gets the value of the one that is chosen; the list is closed by then.
            on_highlight: gets the value of each one that the pointer comes to.
            find: finds entries by what is typed.
            max_rows: how many are shown at most.
        """

        def selected(item: SelectItem[str]) -> None:
            self.close(dialog)
            on_select(item.value)

        def cancelled() -> None:
            self.close(dialog)
            if on_cancel is not None:
                on_cancel()

        control = SelectList(
            self._main_view.context,
            items,
            on_select=selected,
            on_cancel=cancelled,
            on_highlight=None if on_highlight is None else lambda item: on_highlight(item.value),
            rank=find,
            max_rows=max_rows,
        )
        control.set_query(query)
        dialog = self.show(title, control, hint)

    def show(self, title: str, control: Component, hint: str) -> DialogFrame:
        """Open a list of another kind; whoever opens it closes it."""
        return self._open(DialogFrame(self._main_view.context, title, None, control, hint))

    def enter(self, title: str, label: str, text: str, hint: str, on_enter: Callable[[str], None]) -> None:
        """Ask for a text, with `text` to begin with.

        Args:
            on_enter: gets the text; the dialog is closed by then.
        """

        def entered(text: str) -> None:
            self.close(dialog)
            on_enter(text)

        context = self._main_view.context
        entry = TextEntry(context, label, text, on_enter=entered, on_cancel=lambda: self.close(dialog))
        dialog = self.show(title, entry, hint)

    def ask(self, title: str, said: str, choices: Sequence[DialogChoice]) -> DialogFrame:
        """Ask something; whoever asks closes it when one of the choices is made."""

        def cancel() -> None:
            self.close(dialog)

        context = self._main_view.context
        control = DialogChoices(context, choices, cancel)
        dialog = DialogFrame(
            context, title, lambda width: paragraph(context, said, "text", width), control, "Esc goes back"
        )
        return self._open(dialog)

    def close(self, dialog: DialogFrame) -> None:
        self._main_view.dock.close(dialog)
        self._main_view.app.refresh()

    def _open(self, dialog: DialogFrame) -> DialogFrame:
        self._main_view.dock.open(dialog)
        self._main_view.app.refresh()
        return dialog


def words_first(query: str, items: Sequence[_Item], key: Callable[[_Item], str]) -> list[_Item]:
    """Those that have the words as they stand; only if there are none, those with their letters in order.

    Among hundreds of entries, such as models, and what is said of each, letters in order are found nearly everywhere.
    """
    words = query.lower().split()
    literal = [item for item in items if all(word in key(item).lower() for word in words)]
    return rank(query, literal or items, key)
