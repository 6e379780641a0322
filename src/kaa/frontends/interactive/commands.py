"""The slash commands: those that need the screen, and those of the conversation (`kaa.builtin`, extensions)."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kaa.ext.invocation import Invocation, needless_arguments, nothing_to_show, unknown_command
from kaa.tui.completion_sources import CommandEntry

if TYPE_CHECKING:
    from kaa.ext.commands import Command

Run = Callable[[str], None]
Complete = Callable[[str], Iterable[tuple[str, str]]]
Found = Callable[[Iterable[tuple[str, str]]], None]


class UiCommand(NamedTuple):
    """A slash command that only the terminal has.

    Attributes:
        name: without the slash.
        description: what it does, for the help.
        run: gets what stands behind the name.
        complete: for what stands behind it so far, what could: texts and descriptions.
        takes_arguments: whether something can stand behind the name.
        is_independent: it needs no conversation, and is there when none can be opened.
    """

    name: str
    description: str
    run: Run
    complete: Complete | None = None
    takes_arguments: bool = False
    is_independent: bool = False


class CommandView(NamedTuple):
    """How the terminal carries out a command of the conversation: with a view of its own.

    Attributes:
        show: gets what stands behind the name.
        takes_arguments: it is used with arguments, too; otherwise the conversation runs the command with them.
        is_independent: it needs no conversation, and is there when none can be opened.
    """

    name: str
    show: Run
    takes_arguments: bool = False
    is_independent: bool = False


class Commands:
    """All of them. One of the terminal goes before one of the conversation with the same name.

    Args:
        ask: is given the name of a command of the conversation and what stands behind it; calls back with what could.

    Attributes:
        of_conversation: those of the conversation that is open; replaced when extensions come and go.
    """

    def __init__(self, ask: Callable[[str, str, Found], None] = lambda _name, _typed, found: found(())) -> None:
        self._ask = ask
        self.of_conversation: tuple[Command, ...] = ()
        self._own: dict[str, UiCommand] = {}
        self._views: dict[str, CommandView] = {}

    def add(self, commands: Iterable[UiCommand], views: Iterable[CommandView] = ()) -> None:
        """Add commands of the terminal, and its views for commands of the conversation."""
        self._own |= {command.name: command for command in commands}
        self._views |= {view.name: view for view in views}

    def exists(self, name: str) -> bool:
        return name in self.names()

    def names(self) -> list[str]:
        return list(dict.fromkeys([*self._own, *self._views, *(one.name for one in self.of_conversation)]))

    def absence(self, called: Invocation) -> str | None:
        """What a call of a command answers that is not there, because it has nothing to show; None if it is there."""
        return None if self.exists(called.name) else nothing_to_show(called.name)

    def refusal(self, called: Invocation) -> str | None:
        """Why a call is none of a command, or of one of the terminal with needless arguments; None if it can be run."""
        if not self.exists(called.name):
            if self.absence(called) is not None:
                return None
            return unknown_command(called.name, self.names())
        own = self._own.get(called.name)
        return needless_arguments(called) if own and called.arguments and not own.takes_arguments else None

    def is_independent(self, called: Invocation) -> bool:
        """Whether a call needs no conversation."""
        found = self._own.get(called.name) or self._views.get(called.name)
        return found is not None and found.is_independent and self.runner(*called) is not None

    def runner(self, name: str, arguments: str) -> Run | None:
        """What the terminal does for the one of this name, called like this; None if the conversation runs it."""
        if name in self._own:
            return self._own[name].run
        view = self._views.get(name)
        return view.show if view is not None and (view.takes_arguments or not arguments) else None

    def own(self) -> Sequence[UiCommand]:
        """Those that only the terminal has, by name."""
        return sorted(self._own.values())

    def offered(self) -> Sequence[CommandEntry]:
        """All that can be typed, by name: for completion and help."""
        own = [CommandEntry(one.name, one.description, _answering(one.complete)) for one in self.own()]
        others = (command for command in self.of_conversation if command.name not in self._own)
        return sorted([*own, *map(self._offered, others)], key=lambda command: command.name)

    def _offered(self, command: "Command") -> CommandEntry:
        arguments = partial(self._ask, command.name) if command.complete is not None else None
        return CommandEntry(command.name, f"{command.argument_hint or ''} {command.description}".strip(), arguments)


def _answering(complete: Complete | None) -> Callable[[str, Found], None] | None:
    return None if complete is None else lambda typed, found: found(complete(typed))
