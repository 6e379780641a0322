"""The help: what keys, commands and prefixes do, as a list that can be searched; for screen readers, as text."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kaa.frontends.interactive.keybindings import GROUPS, command_group
from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.selectors.lists import ListDialogs, words_first
from kaa.tui.components.select_list import SelectItem
from kaa.tui.key_notation import needs_extended_keys, show_key
from kaa.tui.keybindings import Action, ActionGroup
from kaa.tui.keymap import Keymap

# What the beginning of a message means; a key of the editor cannot change these.
PREFIXES = (
    ("/", "Run a kaa command"),
    ("@", "Insert a path, found by a part of its name"),
    ("!", "Run a shell command; the agent sees its output"),
    ("!!", "Run a shell command; the agent does not see it"),
)
# A tall terminal shows more of the help than of a list of choices.
_MAX_ROWS = 30
_HINT = "type to search, Enter puts a command into the editor, Esc closes"


class HelpRow(NamedTuple):
    """A line of the help: what to press or type, and what it does.

    Attributes:
        typed: what to begin a message with, empty for a key.
    """

    what: str
    does: str
    typed: str = ""


class HelpSection(NamedTuple):
    """Lines of the help that belong together.

    Attributes:
        column: what stands in the first column.
    """

    title: str
    rows: tuple[HelpRow, ...]
    column: str = "Key"


def help_sections(
    groups: Sequence[ActionGroup],
    keymap: Keymap,
    commands: Iterable[tuple[str, str]],
    *,
    extended_keys: bool = True,
) -> list[HelpSection]:
    """The help, without keys that nothing is bound to.

    Args:
        commands: names, without the slash, and descriptions.
        extended_keys: whether the terminal can send all keys; of an action with several keys, those that an old
            terminal cannot send are left out, and an action with no other is marked.
    """
    sections = [
        HelpSection(group.title, rows) for group in groups if (rows := tuple(_bound(group, keymap, extended_keys)))
    ]
    sections.append(
        HelpSection(
            "At the beginning of a message", tuple(HelpRow(sign, does, sign) for sign, does in PREFIXES), "Sign"
        )
    )
    if rows := tuple(HelpRow(f"/{name}", description, f"/{name} ") for name, description in commands):
        sections.append(HelpSection("Commands", rows, "Command"))
    return sections


def matching(query: str, sections: Iterable[HelpSection]) -> list[HelpSection]:
    """The rows that have all words of a query, in their sections; all rows for an empty one."""
    words = query.lower().split()
    found = []
    for section in sections:
        rows = tuple(row for row in section.rows if all(word in f"{row.what} {row.does}".lower() for word in words))
        if rows:
            found.append(section._replace(rows=rows))
    return found


def _bound(group: ActionGroup, keymap: Keymap, extended_keys: bool) -> Iterable[HelpRow]:
    for action in group.actions:
        keys = keymap.keys(action.id)
        if not keys:
            continue
        sendable = [key for key in keys if extended_keys or not needs_extended_keys(key)]
        note = "" if sendable else " (this terminal cannot send it)"
        shown = ", ".join(show_key(key) for key in sendable or keys)
        yield HelpRow(shown, action.description + note)


def help_markdown(sections: Iterable[HelpSection]) -> str:
    """The help as a document of headings and tables."""
    return "\n\n".join(_table(section) for section in sections)


def _table(section: HelpSection) -> str:
    rows = (f"| {_code(row.what)} | {_cell(row.does)} |" for row in section.rows)
    return "\n".join((f"### {section.title}", "", f"| {section.column} | What it does |", "|---|---|", *rows))


def _code(text: str) -> str:
    """As inline code, whatever is in it: the fence is longer than any run of backticks."""
    cell = _cell(text)
    if "`" not in cell:
        return f"`{cell}`"
    fence = "`" * (max(len(run) for run in "".join(c if c == "`" else " " for c in cell).split()) + 1)
    return f"{fence} {cell} {fence}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


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
