"""The help as a list that can be searched; for screen readers, as text."""

from collections.abc import Callable, Iterable, Sequence

from kaa.frontends.interactive.help_text import HelpSection, help_markdown, help_sections, matching
from kaa.frontends.interactive.keybindings import GROUPS, command_group
from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.selectors.lists import ListDialogs, words_first
from kaa.tui.components.select_list import SelectItem
from kaa.tui.keybindings import Action

# A tall terminal shows more of the help than of a list of choices.
_MAX_ROWS = 30
_HINT = "type to search, Enter puts a command into the editor, Esc closes"


class HelpSelector:
    """Opens it.

    Args:
        commands: gives names, without the slash, and descriptions.
    """

    def __init__(
        self,
        main_view: MainView,
        commands: Callable[[], Iterable[tuple[str, str]]],
        command_actions: Sequence[Action],
        show_document: Callable[[str], None],
    ) -> None:
        self._main_view = main_view
        self._commands = commands
        self._command_actions = command_actions
        self._show_document = show_document

    def show(self, query: str = "") -> None:
        """Show the keys and commands that a query finds; without one, all."""
        extended = self._main_view.app.terminal.capabilities.kitty_keyboard
        keymap = self._main_view.context.keymap
        groups = (*GROUPS, command_group(self._command_actions))
        sections = help_sections(groups, keymap, self._commands(), extended_keys=extended)
        if not self._main_view.view.linear:
            ListDialogs(self._main_view).choose(
                "Help", _items(sections), self._take, hint=_HINT, query=query, find=words_first, max_rows=_MAX_ROWS
            )
        elif found := matching(query, sections):
            self._show_document(help_markdown(found))
        else:
            self._main_view.say(f"the help says nothing about {query!r}; /help lists all", "warning")

    def _take(self, typed: str) -> None:
        """Put a command, or another beginning of a message, into the editor; a key needs no typing."""
        if typed:
            self._main_view.editor.set_text(typed)


def _items(sections: Sequence[HelpSection]) -> list[SelectItem[str]]:
    items: list[SelectItem[str]] = []
    for section in sections:
        items.append(SelectItem("", section.title, is_heading=True))
        items += [SelectItem(row.typed, row.what, row.does) for row in section.rows]
    return items
