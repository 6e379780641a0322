"""The registration surface: what an extension, built-in or not, can add to kaa.

An extension is a function that takes an `ExtensionAPI`. It registers and returns; conversations see what is registered
as long as the extension is loaded. Five primitives: inject (prompt sections), intercept (before and after tool calls,
requests, compactions, navigation and the end of a run), react (tools, commands), hook (user messages, start and end of
sessions) and observe (events, notifications).
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec

from kaa.core.budget import Budget, BudgetScope, BudgetUsage, Measure
from kaa.core.events import CompactionEnd, CompactionReason, Event
from kaa.core.hooks import Block, Continue, Refuse, ReplaceArguments, ReplaceMessages, RunAgain
from kaa.core.messages import AssistantMessage, Json, Message, ToolCall, UserMessage
from kaa.core.provider import Request
from kaa.core.spending import Spending
from kaa.core.tool import Permit, Tool, ToolResult
from kaa.core.usage import ContextParts, UsageReport
from kaa.ext.asking import Asker
from kaa.ext.choices import ProjectTrust, SessionApprovals, SessionModels, SessionSettings
from kaa.ext.context import ConversationContext, StateT, ToolContext
from kaa.ext.occasions import (
    AfterCompactionHook,
    BeforeNavigationHook,
    NotificationHandler,
    SessionEndHook,
    SessionStartHook,
)
from kaa.ext.places_to_go import SessionList, SessionNavigation
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.core.largest import ContextItem
    from kaa.session.export.draft import Draft
    from kaa.session.export.request import Exported, ExportRequest
    from kaa.session.figures import SessionFigures
    from kaa.session.library.importing import Imported


# Grows when something is added to `ExtensionAPI`. An extension that needs more than version 1 defines `API_VERSION`.
API_VERSION = 1

# Whether the project's configuration is used: for this conversation, whatever was decided before; never; or until the
# configuration changes (`kaa.shell.trust`).
TrustChoice: TypeAlias = Literal["yes", "no", "stored"]


# What a call of a tool can do at most. `read`: look at the project, at the `path` it is given. `write`: change the
# file `path`. `command`: run the bash `command` it is given. All three through the workspace and nothing else.
# `outside`: anything, as code of an extension can that runs in kaa's own process, which nothing confines.
Risk: TypeAlias = Literal["read", "write", "command", "outside"]


class RegisteredTool(msgspec.Struct, frozen=True):
    """A tool and what the prompt says of it. `default`: active unless the user chose otherwise."""

    tool: Tool[ToolContext]
    snippet: str
    default: bool
    built_in: bool = False
    risk: Risk = "outside"

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        return self.tool.schema.name


class ContextFile(msgspec.Struct, frozen=True):
    """What the user or the project says to every agent, such as AGENTS.md.

    Attributes:
        trusted: these are instructions; otherwise the user does not answer for them, and they only inform.
    """

    path: str
    text: str
    trusted: bool = True


class PromptContext(msgspec.Struct, frozen=True):
    """What a prompt section may depend on. All of it is fixed for the life of a session.

    Attributes:
        cwd: the project's root.
        date: ISO date of the day the session started.
        tools: the active tools.
        custom: a system prompt of the user's own that replaces kaa's.
        appended: texts the user adds to the system prompt.
        context_files: standing instructions and information, the most general first.
        profile: `short` where the model's window is small: say only what it cannot do without.
    """

    cwd: str
    date: str
    tools: tuple[RegisteredTool, ...] = ()
    custom: str | None = None
    appended: tuple[str, ...] = ()
    context_files: tuple[ContextFile, ...] = ()
    profile: Literal["full", "short"] = "full"


PromptSection: TypeAlias = Callable[[PromptContext], str | None]
UserMessageHook: TypeAlias = Callable[[UserMessage, ConversationContext], Awaitable[UserMessage | Block | None]]
BeforeToolHook: TypeAlias = Callable[
    [ToolCall, ConversationContext], Awaitable[Block | ReplaceArguments | Permit | None]
]
AfterToolHook: TypeAlias = Callable[
    [ToolCall, ToolResult, ConversationContext], Awaitable[ToolResult | RunAgain | Refuse | None]
]
BeforeEndHook: TypeAlias = Callable[[AssistantMessage, ConversationContext], Awaitable[Continue | None]]
BeforeRequestHook: TypeAlias = Callable[[Request, ConversationContext], Awaitable[ReplaceMessages | None]]
EventHandler: TypeAlias = Callable[[Event, ConversationContext], None]


class Reply(msgspec.Struct, frozen=True):
    """Show this text to the user; the model does not see it."""

    text: str


class Submit(msgspec.Struct, frozen=True):
    """Give this text to the model as if the user had written it."""

    text: str


class OpenSession(msgspec.Struct, frozen=True):
    """Go on with another session.

    Attributes:
        path: its file.
        text: what was done, to be shown.
    """

    path: str
    text: str = ""


class BeginSession(msgspec.Struct, frozen=True):
    """Go on with a new session. `text`: what was done, to be shown."""

    text: str = ""


class CopySession(msgspec.Struct, frozen=True):
    """Go on in a copy of a session.

    Attributes:
        path: the file of the session to copy.
        text: what was done, to be shown.
        before: copy what leads to this entry, without the entry itself; None copies all of the current branch.
        draft: put into the editor, where there is one, to be said anew.
    """

    path: str
    text: str = ""
    before: str | None = None
    draft: str = ""


CommandAction: TypeAlias = Reply | Submit | OpenSession | BeginSession | CopySession


class SessionAccounts(Protocol):
    """Where tokens and money went, and what the window is filled with. Each answer goes through the whole session."""

    async def spending(self) -> Spending:
        """Tokens and money, by branch, model and purpose, with the misses of the provider's cache."""
        ...

    async def figures(self) -> "SessionFigures":
        """How many messages of whom there are, here and on other branches."""
        ...

    def largest_items(self) -> "tuple[ContextItem, ...]":
        """The single messages and results that take the most of the window, the largest first."""
        ...

    def prompt_items(self) -> "tuple[ContextItem, ...]":
        """What the system prompt consists of."""
        ...


class SessionBudget(Protocol):
    """What runs and the session may use."""

    def limits(self, scope: BudgetScope) -> Budget:
        """The limits of a run, or of the session."""
        ...

    def used(self, scope: BudgetScope) -> BudgetUsage:
        """What the run under way, or the last one, used; or the session."""
        ...

    def set_limit(self, scope: BudgetScope, measure: Measure, limit: float | None) -> None:
        """Change a limit, for the run under way and all later ones, or for the session. None takes it away."""
        ...


class SessionNaming(Protocol):
    """What the session is called."""

    @property
    def name(self) -> str | None:
        """Its name, None if it has none."""
        ...

    def set_name(self, text: str) -> str | None:
        """Call it so; an empty text takes the name away. Returns the name as it is kept.

        Raises:
            CommandError: nothing of the text can be shown.
        """
        ...

    async def suggest(self) -> str:
        """A name of the model's making.

        Raises:
            CommandError: there is nothing to name, or the model could not be asked, or it had no idea.
        """
        ...


class SessionCompaction(Protocol):
    """Condenses the conversation."""

    @property
    def threshold(self) -> int | None:
        """A conversation that takes more tokens is condensed by itself; None if none is."""
        ...

    async def compact(self, instructions: str = "") -> CompactionEnd:
        """Condense the conversation. Returns what went, or why it failed.

        Raises:
            CommandError: there is nothing to condense, or the agent works.
        """
        ...

    async def uncompact(self) -> str:
        """Take the last compaction back. Returns what that did, in some lines.

        Raises:
            CommandError: there is none, or the agent works.
        """
        ...


class SessionExporting(Protocol):
    """Writes the session into files of the user's, and takes such files in."""

    async def export(self, request: "ExportRequest") -> "Exported":
        """Write the session as it is now.

        Raises:
            ExportError: the target cannot be used.
            SessionError: the session cannot be read.
        """
        ...

    async def import_file(self, name: str) -> "Imported":
        """Copy a session file into the library.

        Raises:
            SessionError: it is no session, or cannot be read or copied.
        """
        ...


class SessionSharing(Protocol):
    """Puts the session where others can read it, without the secrets that are known or look like one."""

    async def prepare(self, request: "ExportRequest") -> "Draft":
        """Write what would go out into a private folder. Nothing leaves the machine.

        Raises:
            CommandError: it cannot be shared from here.
            SessionError: the session cannot be read.
        """
        ...

    async def upload(self, draft: "Draft") -> str:
        """Let it out. Returns its address.

        Raises:
            CommandError: that failed.
        """
        ...

    def discard(self, draft: "Draft") -> None:
        """Throw the prepared files away."""
        ...


class CommandContext(Protocol):
    """What a slash command may know of the conversation it runs in, and do to it."""

    @property
    def workspace(self) -> Workspace:
        """The project: files and commands go through this and nothing else."""
        ...

    @property
    def asker(self) -> Asker:
        """Asks the person (`kaa.ext.asking`, `kaa.ext.questions`)."""
        ...

    def state(self, kind: type[StateT], make: Callable[[], StateT]) -> StateT:
        """The object of this class that the conversation keeps until it is closed; made where there is none yet."""
        ...

    @property
    def session_path(self) -> str | None:
        """The session's file, None when the session is not kept."""
        ...

    @property
    def conversation_id(self) -> str:
        """Tells the conversations of one process apart; questions and notices carry it."""
        ...

    @property
    def session_id(self) -> str:
        """The session's id."""
        ...

    @property
    def model_name(self) -> str:
        """`provider/id` of the model in force."""
        ...

    @property
    def models(self) -> SessionModels:
        """Which model answers, and how hard it thinks."""
        ...

    @property
    def approvals(self) -> SessionApprovals:
        """Which tool calls need the person's approval."""
        ...

    @property
    def trust(self) -> ProjectTrust:
        """Whether the project may configure kaa."""
        ...

    @property
    def user_settings(self) -> SessionSettings:
        """The user's settings: to list them, and to change them for good."""
        ...

    @property
    def active_tools(self) -> tuple[str, ...]:
        """Names of the active tools."""
        ...

    def activate_tool(self, name: str) -> None:
        """Let the model call a registered tool that is not active, from the next request on, in this run of kaa.

        The system prompt does not change: a `snippet` is not added. What servers keep of the conversation is lost
        once, because tools come before it.

        Raises:
            RegistrationError: no such tool is registered. That it is active already is no error.
        """
        ...

    @property
    def commands(self) -> tuple["Command", ...]:
        """All slash commands."""
        ...

    @property
    def usage(self) -> UsageReport:
        """Tokens, money, and how much of the context window is taken."""
        ...

    def context_parts(self) -> ContextParts:
        """What the next request consists of, by an estimate."""
        ...

    @property
    def accounting(self) -> SessionAccounts:
        """Where tokens and money went, in detail."""
        ...

    @property
    def budget(self) -> SessionBudget:
        """What runs and the session may use."""
        ...

    @property
    def navigation(self) -> SessionNavigation:
        """Goes elsewhere in the session."""
        ...

    @property
    def sessions(self) -> SessionList:
        """The other sessions there are."""
        ...

    @property
    def naming(self) -> SessionNaming:
        """What the session is called."""
        ...

    @property
    def compaction(self) -> SessionCompaction:
        """Condenses the conversation."""
        ...

    @property
    def exporting(self) -> SessionExporting:
        """Exports the session, imports others."""
        ...

    @property
    def sharing(self) -> SessionSharing:
        """Shares the session."""
        ...

    async def describe_sandbox(self) -> str:
        """What holds the tools back, in some lines."""
        ...

    async def reload(self) -> str:
        """Read settings, rules, models and keys again. Returns what that did, in some lines.

        Raises:
            CommandError: a file has a mistake; everything stays as it was.
        """
        ...

    def set_network(self, text: str) -> str:
        """Change what the commands of tools may reach, running ones too: `off`, `on`, or domains. Returns the state.

        Raises:
            CommandError: it is something else.
        """
        ...

    async def forward(self, port: int, host_port: int = 0) -> int:
        """Make a port that a command of a tool listens on reachable on 127.0.0.1. Returns the port there.

        Raises:
            CommandError: nobody listens, or the wanted port is taken.
        """
        ...


CommandHandler: TypeAlias = Callable[[str, CommandContext], Awaitable[CommandAction | None]]


class Suggestion(msgspec.Struct, frozen=True):
    """A completion of a command's arguments. `text`: stands for all that was typed behind the name."""

    text: str
    description: str = ""


CommandCompleter: TypeAlias = Callable[[str, CommandContext], Sequence[Suggestion]]
CommandAvailability: TypeAlias = Callable[[CommandContext], str | None]


class Command(msgspec.Struct, frozen=True):
    """A slash command: `/name arguments`. See `ExtensionAPI.register_command`."""

    name: str
    description: str
    handler: CommandHandler
    argument_hint: str = ""
    complete: CommandCompleter | None = None
    available: CommandAvailability | None = None
    while_running: bool = False

    @property
    def usage(self) -> str:
        """How it is typed."""
        return f"/{self.name} {self.argument_hint}".rstrip()


class CompactionRequest(msgspec.Struct, frozen=True):
    """What is to be condensed.

    Attributes:
        messages: what the summary is to stand for, the oldest first; what is kept as it is, is not among them.
        previous_summary: stands for what was before; empty if nothing was. The new summary is to stand for it too.
        instructions: of the user's, what to look at; may be empty.
        reason: why now.
        tokens_before: that the whole context takes.
    """

    messages: tuple[Message, ...]
    previous_summary: str
    instructions: str
    reason: CompactionReason
    tokens_before: int


class CondensedText(msgspec.Struct, frozen=True):
    """A summary. `details` is kept with it in the session, and means something to its author only."""

    text: str
    details: Json = None


BeforeCompactionHook: TypeAlias = Callable[[CompactionRequest, ConversationContext], Awaitable[Block | None]]
Compactor: TypeAlias = Callable[[CompactionRequest], Awaitable[CondensedText | None]]
CarriedSection: TypeAlias = Callable[[ConversationContext], str | None]


class ExtensionAPI(Protocol):
    """What an extension gets to register itself with. It is called once for all conversations.

    Whatever is registered belongs to the extension and is taken back when it is unloaded. Hooks run in the order in
    which extensions were loaded (built-in ones first), within an extension in the order of registration, and one at a
    time. Every hook gets the context of the conversation that it runs in; one that takes longer than 60 seconds, not
    counting the time in which the person is asked, is cancelled and counts as failed.
    """

    @property
    def api_version(self) -> int:
        """The version of this interface. It grows when something is added; what is removed is announced before."""
        ...

    def register_tool(
        self, tool: Tool[ToolContext], *, snippet: str = "", default: bool = True, risk: Risk = "outside"
    ) -> None:
        """Add a tool for the model.

        Args:
            tool: what it is called and does.
            snippet: one line for the system prompt.
            default: whether it is active unless the user chose otherwise.
            risk: what a call can do at most; decides when the user is asked. Declare what is true: the sandbox
                confines what goes through the workspace, not the tool's own code.

        Raises:
            RegistrationError: the name is taken or invalid, or there is no such risk.
        """
        ...

    def register_command(
        self,
        name: str,
        description: str,
        handler: CommandHandler,
        *,
        argument_hint: str = "",
        complete: CommandCompleter | None = None,
        available: CommandAvailability | None = None,
        while_running: bool = False,
    ) -> None:
        """Add a slash command.

        Args:
            name: without the slash (`kaa.ext.invocation` has the grammar).
            description: what it does, in one line.
            handler: does it; gets what was typed behind the name.
            argument_hint: what can be typed behind the name, such as `[PATH]`.
            complete: called with what was typed behind the name, on the event loop: it must return at once. One that
                raises is reported and completes nothing.
            available: why the command cannot be used now, in a sentence; None if it can. Called before the handler.
            while_running: whether it may run while the agent works.

        Raises:
            RegistrationError: the name is taken or invalid.
        """
        ...

    def add_prompt_section(self, name: str, section: PromptSection) -> None:
        """Add to the system prompt; sections appear in the order of registration. A name again replaces.

        Called once for each conversation, when it is opened. One that raises keeps the conversation closed.
        """
        ...

    def on_session_start(self, hook: SessionStartHook) -> None:
        """Run once for each conversation, after it was opened and before its first message.

        The hook gets a `SessionStart`; when the user switched sessions, the session before is closed by then. It
        returns None. The first message waits for it. A hook that raises is reported, and the conversation goes on.
        """
        ...

    def on_session_end(self, hook: SessionEndHook) -> None:
        """Run once for each conversation, before it is closed: the session can still be written.

        The hook gets a `SessionEnd` and returns None. Nothing runs any more and nobody can be asked. Its time limit is
        5 seconds. A hook that raises or takes longer is reported, and the conversation is closed. Not called where kaa
        is killed.
        """
        ...

    def before_request(self, hook: BeforeRequestHook) -> None:
        """See every request of a run before it is sent to the model, repeated ones too, after compaction.

        The hook gets the `Request` (model, system prompt, messages, tools) and returns None or
        `ReplaceMessages(messages)`: these are sent this time; the next hook sees them, the conversation and the session
        do not change. kaa repairs the messages first: a result without its call is left out, a call without a result
        gets one that says so. Where they differ from those of the request before, what follows is not read from the
        provider's cache and costs the full price. Where a hook raises, the request is not sent and the run ends with
        the error. Requests beside the conversation, such as those for summaries, are not shown.
        """
        ...

    def before_tool(self, hook: BeforeToolHook) -> None:
        """See every tool call before it runs.

        The hook returns None, `Block` (the tool is not run, later hooks are not called), `ReplaceArguments` or a
        `Permit`. kaa's own approvals run behind all hooks, so they judge what really runs. Where a hook raises, the
        tool is not run, and the model is told so.
        """
        ...

    def after_tool(self, hook: AfterToolHook) -> None:
        """See every tool result before the model does.

        The hook returns None, another `ToolResult`, `RunAgain` (at most five runs in all) or `Refuse`. It runs behind
        kaa's own approvals. Where a hook raises, the model gets no result but the reason.
        """
        ...

    def before_end(self, hook: BeforeEndHook) -> None:
        """See the last reply of a run that would end because the model has nothing more to do.

        The hook returns None, or `Continue(reason)`: the reason goes to the model and the run goes on; later hooks are
        not called then. After ten continuations without a word of the person the run ends as `max_continuations`. Not
        called where a run ends otherwise: aborted, out of budget, with an error, or with something not permitted. A
        hook that raises is reported, and counts as None.
        """
        ...

    def on_user_message(self, hook: UserMessageHook) -> None:
        """See every message of the person before it is queued or the model gets it.

        The hook returns None, another `UserMessage`, or `Block(reason)`: the message is not sent, and the person is
        told why. Where a hook raises, the message is not sent either.
        """
        ...

    def before_compaction(self, hook: BeforeCompactionHook) -> None:
        """See what is to be condensed, before any compactor.

        The hook gets a `CompactionRequest` and returns None, or `Block(reason)`: the conversation stays as it is, later
        hooks and compactors are not called, and the user sees the reason. After that kaa condenses nothing by itself
        until the user's next message; if the conversation no longer fits into the model's window, the run ends with
        that error. A hook that raises is reported, and counts as None.
        """
        ...

    def after_compaction(self, hook: AfterCompactionHook) -> None:
        """Run after each compaction that succeeded, before the next request.

        The hook gets the `CompactionEnd` event and returns None. A hook that raises is reported.
        """
        ...

    def before_navigation(self, hook: BeforeNavigationHook) -> None:
        """Run before the conversation goes elsewhere: in the tree, by undo or redo, or to another session.

        The hook gets a `NavigationRequest` and returns None, or `Block(reason)`: everything stays as it is, later hooks
        are not called, and the user sees the reason. Not called for the first session of a process and at its end. A
        hook that raises is reported, and counts as None.
        """
        ...

    def on_notification(self, handler: NotificationHandler) -> None:
        """Observe what is for the user's attention: each notice, and each question that kaa waits for an answer to.

        The handler gets a `Notification` and must return at once. It is called after a notice is shown, and before a
        question is; notices of the opening itself come before any handler. A handler that raises is reported and
        switched off.
        """
        ...

    def register_compactor(self, compactor: Compactor) -> None:
        """Condense conversations in kaa's place; None leaves it to others. One that raises is reported and passed over.

        The user's own sentences, and what extensions have carried over, are put behind its text as behind kaa's.
        """
        ...

    def carry_through_compaction(self, name: str, section: CarriedSection) -> None:
        """Have a text carried over word for word by every compaction, such as the plan that is followed.

        Args:
            name: what it is, for the model: letters, digits, _ and -. A name again replaces.
            section: gives it as it is at that time; None if there is nothing to carry.

        Raises:
            RegistrationError: the name is invalid.
        """
        ...

    def on_event(self, handler: EventHandler) -> None:
        """Observe everything that happens in every conversation, as it happens; it must return at once.

        A handler that raises is reported and switched off.
        """
        ...

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call this when the extension is unloaded: reloaded, or kaa ends. The last one registered runs first."""
        ...


Extension: TypeAlias = Callable[[ExtensionAPI], None]
