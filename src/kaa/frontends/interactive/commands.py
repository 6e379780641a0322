"""The slash commands: the user interface's own, and those of the conversation (`kaa.builtin.commands`, extensions)."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from kaa.tui.completion_sources import CommandEntry

Run = Callable[[str], None]
Complete = Callable[[str], Iterable[tuple[str, str]]]
Found = Callable[[Iterable[tuple[str, str]]], None]


class UiCommand(NamedTuple):
    """A slash command.

    Attributes:
        name: without the slash.
        description: what it does, for the help.
        run: gets what stands behind the name.
        complete: for what stands behind it so far, what could: texts and descriptions.
        is_independent: it needs no conversation, and is there when none can be opened.
        only_bare: with arguments, the command of the conversation runs that has the same name.
    """

    name: str
    description: str
    run: Run
    complete: Complete | None = None
    is_independent: bool = False
    only_bare: bool = False


class CoreCommand(NamedTuple):
    """A slash command of the conversation, which the core runs.

    Attributes:
        name: without the slash.
        description: what it does, for the help.
        argument_hint: what can stand behind the name.
        completes: whether the core knows what can.
    """

    name: str
    description: str
    argument_hint: str = ""
    completes: bool = False


class Commands:
    """All of them. One of the user interface goes before one of the conversation with the same name.

    Args:
        ask: is given the name of a command of the conversation and what stands behind it; calls back with what could.

    Attributes:
        of_conversation: those of the conversation that is open; replaced when extensions come and go.
    """

    def __init__(self, ask: Callable[[str, str, Found], None] = lambda _name, _typed, found: found(())) -> None:
        self._ask = ask
        self.of_conversation: tuple[CoreCommand, ...] = ()
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

    def is_own(self, name: str, arguments: str = "") -> bool:
        """Whether the one of this name, called like this, is the user interface's."""
        return name in self._own and not (arguments and self._own[name].only_bare)

    def is_independent(self, name: str) -> bool:
        """Whether the one of this name needs no conversation."""
        return self.is_own(name) and self._own[name].is_independent

    def run(self, name: str, arguments: str) -> None:
        """Do what one of the user interface does."""
        self._own[name].run(arguments)

    def own(self) -> Sequence[UiCommand]:
        """Those of the user interface, by name."""
        return sorted(self._own.values())

    def offered(self) -> Sequence[CommandEntry]:
        """All that can be typed, by name: for completion and help."""
        own = [
            CommandEntry(command.name, command.description, _answering(command.complete))
            for command in self.own()
            if not command.only_bare
        ]
        others = (command for command in self.of_conversation if not self.is_own(command.name, "anything"))
        return sorted([*own, *map(self._offered, others)], key=lambda command: command.name)

    def _offered(self, command: CoreCommand) -> CommandEntry:
        arguments = partial(self._ask, command.name) if command.completes else None
        return CommandEntry(command.name, f"{command.argument_hint} {command.description}".strip(), arguments)


def _answering(complete: Complete | None) -> Callable[[str, Found], None] | None:
    """Completes by calling back."""
    return None if complete is None else lambda typed, found: found(complete(typed))
