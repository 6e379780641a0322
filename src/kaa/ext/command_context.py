"""The context of a slash command: the conversation that it runs in."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, cast

from kaa.core.usage import ContextParts, UsageReport
from kaa.ext.acting import ConversationActions
from kaa.ext.asking import Asker
from kaa.ext.choices import SessionApprovals, SessionSettings
from kaa.ext.context import ConversationContext, StateT
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.ext.commands import Command
    from kaa.ext.navigation import SessionList, SessionNavigation
    from kaa.ext.reports import SessionExtensions
    from kaa.ext.session_services import (
        SandboxPorts,
        SessionAccounts,
        SessionBudget,
        SessionCompaction,
        SessionExporting,
        SessionSharing,
        SessionWorktrees,
    )


class CommandControl(Protocol):
    """What slash commands, unlike hooks and tools, may know of the conversation, and do to it."""

    @property
    def workspace(self) -> Workspace:
        """The project: files and commands go through this and nothing else."""

    @property
    def asker(self) -> Asker:
        """Asks the person (`kaa.ext.asking`, `kaa.ext.questions`)."""

    def state(self, kind: type[StateT], make: Callable[[], StateT]) -> StateT:
        """The object of this class that the conversation keeps until it is closed; made where there is none yet."""

    @property
    def session_path(self) -> str | None:
        """The session's file, None when the session is not kept."""

    @property
    def conversation_id(self) -> str:
        """Tells the conversations of one process apart; questions and notices carry it."""

    @property
    def session_id(self) -> str:
        """The session's id."""

    @property
    def model_name(self) -> str:
        """`provider/id` of the model in force."""

    @property
    def approvals(self) -> SessionApprovals:
        """Which tool calls need the person's approval."""

    async def review_trust(self) -> str:
        """Ask whether the project may configure and instruct kaa. Returns what holds now; see docs/trust.md.

        Raises:
            CommandError: decisions cannot be read or kept.
        """

    @property
    def user_settings(self) -> SessionSettings:
        """The user's settings: lists them, and changes them permanently."""

    @property
    def commands(self) -> tuple["Command", ...]:
        """All slash commands."""

    @property
    def extensions(self) -> "SessionExtensions":
        """The user's extensions: lists them with their costs, and switches them on and off."""

    @property
    def usage(self) -> UsageReport:
        """Tokens, money, and how much of the context window is taken."""

    def context_parts(self) -> ContextParts:
        """What the next request consists of, by an estimate."""

    @property
    def accounting(self) -> "SessionAccounts":
        """Where tokens and money went, in detail."""

    @property
    def budget(self) -> "SessionBudget":
        """What runs and the session may use."""

    @property
    def navigation(self) -> "SessionNavigation":
        """Goes elsewhere in the session."""

    @property
    def sessions(self) -> "SessionList":
        """The other sessions there are."""

    @property
    def compaction(self) -> "SessionCompaction":
        """Condenses the conversation."""

    @property
    def exporting(self) -> "SessionExporting":
        """Exports the session, imports others."""

    @property
    def sharing(self) -> "SessionSharing":
        """Shares the session."""

    @property
    def worktrees(self) -> "SessionWorktrees":
        """Compares, merges and removes worktrees."""

    async def describe_sandbox(self) -> str:
        """What holds the tools back, in some lines."""

    async def reload(self) -> str:
        """Read settings, rules, models, keys and changed extensions again. Returns what that did, in some lines.

        Raises:
            CommandError: a file has a mistake; everything stays as it was.
        """

    @property
    def network(self) -> str:
        """What the commands of tools may reach, as `set_network` takes it; empty where nothing holds them back."""

    def set_network(self, text: str, *, named: bool = False) -> str:
        """Change what the commands of tools may reach, running ones too. Returns the state.

        Args:
            text: `off`, `on`, or hosts and groups of registries, separated by commas.
            named: the person wrote these hosts for this purpose: they may have private addresses. Without it, hosts
                among them that were allowed in answer to a question keep the limits of that answer.

        Raises:
            CommandError: it is something else.
        """

    @property
    def ports(self) -> "SandboxPorts":
        """Ports and services between the sandbox and the user's machine."""


class CommandContext(ConversationActions, CommandControl, Protocol):
    """What a slash command or a shortcut works with: all that hooks and tools have, and what only it may do."""


class CommandContextOf(ConversationContext):
    """The `CommandContext` of one extension.

    Args:
        context: of the conversation, for the extension.
        control: the conversation.
    """

    def __init__(self, context: ConversationContext, control: CommandControl) -> None:
        self.__dict__.update(context.__dict__)
        self._commands = control

    def __getattr__(self, name: str) -> object:
        if name.startswith("_") or name not in vars(CommandControl):
            raise AttributeError(f"no attribute {name!r}", name=name, obj=self)
        return getattr(self._commands, name)


def command_context(context: ConversationContext, control: CommandControl) -> CommandContext:
    """What a slash command of one extension works with.

    Args:
        context: of the conversation, for the extension.
        control: the conversation.
    """
    return cast("CommandContext", CommandContextOf(context, control))
