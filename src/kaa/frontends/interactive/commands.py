"""The slash commands of the user interface itself; those of the conversation are in `kaa.builtin.commands`."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

Run = Callable[[str], None]
Complete = Callable[[str], Sequence[tuple[str, str]]]


class UiCommand(NamedTuple):
    """A slash command.

    Attributes:
        name: without the slash.
        description: what it does, for the help.
        run: gets what stands behind the name.
        complete: for what stands behind it so far, what could: texts and descriptions.
    """

    name: str
    description: str
    run: Run
    complete: Complete | None = None


class Commands:
    """All of them, by name. Later ones of a name replace earlier ones."""

    def __init__(self) -> None:
        self._commands: dict[str, UiCommand] = {}

    def add(self, commands: Iterable[UiCommand]) -> None:
        """Add commands."""
        self._commands |= {command.name: command for command in commands}

    def has(self, name: str) -> bool:
        """Whether there is one of this name."""
        return name in self._commands

    def run(self, name: str, arguments: str) -> None:
        """Do what it does."""
        self._commands[name].run(arguments)

    def all(self) -> Sequence[UiCommand]:
        """All of them, by name."""
        return sorted(self._commands.values())
