"""Slash commands: what they do, how they are completed, and what they can return."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import msgspec

from kaa.core.messages import ImageContent
from kaa.core.provider import ThinkingLevel
from kaa.ext.command_context import CommandContext


class Reply(msgspec.Struct, frozen=True):
    """Show this text to the user. The model does not see it.

    Attributes:
        text: the text.
        over_budget: the budget ended the command's work early: print and JSON mode exit with 6, as after a run.
    """

    text: str
    over_budget: bool = False


class Submit(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """Send this text to the model. The message is recorded with the origin `command`.

    Attributes:
        text: the text.
        read_only: tools can change nothing in this run, and nobody is asked, where a sandbox holds.
        images: what goes along with the text.
        allow: rules of approvals about commands and changed files (`bash: git status`, `write: docs/**`): the
            conversation's calls that they allow need no question in this run. They permit nothing that the sandbox
            does not, and nothing that destroys what `/undo` cannot restore.
        models: as `--model` takes them: the first that there is answers in this run; if there is none, that in force.
        thinking: the thinking level of this run; None for that in force.
    """

    text: str
    read_only: bool = False
    images: tuple[ImageContent, ...] = ()
    allow: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    thinking: ThinkingLevel | None = None


class OpenSession(msgspec.Struct, frozen=True):
    """Continue with another session.

    Attributes:
        path: its file.
        text: the result, for the user.
    """

    path: str
    text: str = ""


class BeginSession(msgspec.Struct, frozen=True):
    """Continue with a new session. `text`: the result, for the user."""

    text: str = ""


class CopySession(msgspec.Struct, frozen=True):
    """Continue with a copy of a session.

    Attributes:
        path: the file of the session to copy.
        text: the result, for the user.
        before: copy the path to this entry, without the entry; None copies the current branch.
        draft: text for the editor, if the frontend has one.
    """

    path: str
    text: str = ""
    before: str | None = None
    draft: str = ""


CommandAction: TypeAlias = Reply | Submit | OpenSession | BeginSession | CopySession


CommandHandler: TypeAlias = Callable[[str, CommandContext], Awaitable[CommandAction | str | None]]


class Suggestion(msgspec.Struct, frozen=True):
    """A completion of a command's arguments. `text` replaces everything after the name."""

    text: str
    description: str = ""


Suggestions: TypeAlias = Sequence[Suggestion]
CommandCompleter: TypeAlias = Callable[[str, CommandContext], Suggestions | Awaitable[Suggestions]]
CommandAvailability: TypeAlias = Callable[[CommandContext], str | None]


class Command(msgspec.Struct, frozen=True):
    """A slash command: `/name arguments`. See `ExtensionAPI.register_command`."""

    name: str
    description: str
    handler: CommandHandler
    argument_hint: str | None = ""
    complete: CommandCompleter | None = None
    available: CommandAvailability | None = None
    while_running: bool = False
    key: str = ""

    @property
    def usage(self) -> str:
        """The name and the argument hint."""
        return f"/{self.name} {self.argument_hint or ''}".rstrip()
