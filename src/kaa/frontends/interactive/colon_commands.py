"""What can be entered behind vi's colon: every slash command without its slash, and these other names of some."""

from collections.abc import Iterable, Sequence

from kaa.tui.completion_sources import CommandEntry

_NAMES = {
    "execute": "plan run",
    "edit-plan": "plan edit",
    "q": "quit",
    "q!": "quit",
    "qa": "quit",
    "h": "help",
}


def slash_command(line: str) -> str:
    """The slash command that a line means."""
    name, _, arguments = line.strip().partition(" ")
    return f"/{_NAMES.get(name, name)} {arguments.strip()}".rstrip()


def colon_commands(offered: Iterable[CommandEntry]) -> Sequence[CommandEntry]:
    """What can be entered, by name."""
    own = [CommandEntry(name, f"/{meaning}") for name, meaning in _NAMES.items()]
    return sorted([*offered, *own], key=lambda entry: entry.name)


def lines_of(entered: Iterable[str]) -> Sequence[str]:
    """The slash commands among what was entered, as they are entered behind a colon."""
    return [text[1:] for text in entered if text.startswith("/") and "\n" not in text]
