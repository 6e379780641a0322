"""The slash commands: the user interface's own, and those of the conversation (`kaa.builtin.commands`, extensions)."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kaa.tui.completion_sources import Command

Run = Callable[[str], None]
Complete = Callable[[str], Sequence[tuple[str, str]]]


class UiCommand(NamedTuple):
    """A slash command.

    Attributes:
        name: without the slash.
        description: what it does, for the help.
        run: gets what stands behind the name.
        complete: for what stands behind it so far, what could: texts and descriptions.
        is_independent: it needs no conversation, and is there when none can be opened.
    """

    name: str
    description: str
    run: Run
    complete: Complete | None = None
    is_independent: bool = False


class Commands:
    """All of them. One of the user interface goes before one of the conversation with the same name.

    Attributes:
        of_conversation: those of the conversation that is open, which the core runs.
    """

    def __init__(self) -> None:
        self.of_conversation: tuple[Command, ...] = ()
        self._own: dict[str, UiCommand] = {}

    def add(self, commands: Iterable[UiCommand]) -> None:
        """Add commands of the user interface."""
        self._own |= {command.name: command for command in commands}

    def exists(self, name: str) -> bool:
        """Whether there is one of this name."""
        return self.is_own(name) or any(command.name == name for command in self.of_conversation)

    def names(self) -> list[str]:
        """The names of all."""
        return [*self._own, *(command.name for command in self.of_conversation)]

    def is_own(self, name: str) -> bool:
        """Whether the one of this name is the user interface's."""
        return name in self._own

    def is_independent(self, name: str) -> bool:
        """Whether the one of this name needs no conversation."""
        return self.is_own(name) and self._own[name].is_independent

    def run(self, name: str, arguments: str) -> None:
        """Do what one of the user interface does."""
        self._own[name].run(arguments)

    def own(self) -> Sequence[UiCommand]:
        """Those of the user interface, by name."""
        return sorted(self._own.values())

    def offered(self) -> Sequence[Command]:
        """All that can be typed, by name: for completion and help."""
        own = [Command(command.name, command.description, command.complete) for command in self._own.values()]
        return sorted([*own, *(command for command in self.of_conversation if not self.is_own(command.name))])
