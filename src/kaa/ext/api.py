"""The registration surface: what an extension, built-in or not, can add to kaa.

An extension is a function that takes an `ExtensionAPI`. It registers and returns; the shell reads the
registry when a conversation starts. Five primitives: inject (prompt sections), intercept (before and after
tool calls), react (tools, commands), hook (user messages) and observe (events).
"""

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol, TypeAlias

import msgspec

from kaa.core.events import Event
from kaa.core.hooks import AfterTool, BeforeTool
from kaa.core.messages import UserMessage
from kaa.core.tool import Tool
from kaa.core.usage import ContextParts, UsageReport
from kaa.workspace.protocol import Workspace


class RegistrationError(Exception):
    """An extension registered something that cannot be: a name twice, a name that is no name."""


# What a call of a tool can do at most. `read`: look at the project, at the `path` it is given. `write`: change the
# file `path`. `command`: run the bash `command` it is given. All three through the workspace and nothing else.
# `outside`: anything, as code of an extension can that runs in kaa's own process, which nothing confines.
Risk: TypeAlias = Literal["read", "write", "command", "outside"]


class CommandError(Exception):
    """What a slash command was asked for cannot be done; the message is for the user."""


class RegisteredTool(msgspec.Struct, frozen=True):
    """A tool and what the prompt says of it. `default`: active unless the user chose otherwise."""

    tool: Tool
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
    """

    cwd: str
    date: str
    tools: tuple[RegisteredTool, ...] = ()
    custom: str | None = None
    appended: tuple[str, ...] = ()
    context_files: tuple[ContextFile, ...] = ()


PromptSection: TypeAlias = Callable[[PromptContext], str | None]
UserMessageHook: TypeAlias = Callable[[UserMessage], Awaitable[UserMessage | None]]
EventHandler: TypeAlias = Callable[[Event], None]


class Reply(msgspec.Struct, frozen=True):
    """Show this text to the user; the model does not see it."""

    text: str


class Submit(msgspec.Struct, frozen=True):
    """Give this text to the model as if the user had written it."""

    text: str


CommandAction: TypeAlias = Reply | Submit


class CommandContext(Protocol):
    """What a slash command may know of the conversation it runs in."""

    @property
    def session_path(self) -> str | None:
        """The session's file, None when the session is not kept."""
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
    def active_tools(self) -> tuple[str, ...]:
        """Names of the active tools."""
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


class Command(msgspec.Struct, frozen=True):
    """A slash command: `/name arguments`."""

    name: str
    description: str
    handler: CommandHandler


class ExtensionAPI(Protocol):
    """What an extension gets to register itself with."""

    @property
    def workspace(self) -> Workspace:
        """The project: tools touch it through this and nothing else."""
        ...

    def register_tool(self, tool: Tool, *, snippet: str = "", default: bool = True, risk: Risk = "outside") -> None:
        """Add a tool for the model.

        Args:
            tool: what it is called and does.
            snippet: one line for the system prompt.
            default: whether it is active unless the user chose otherwise.
            risk: what a call can do at most; decides when the user is asked. Declare what is true: the sandbox
                confines what goes through the workspace, not the tool's own code.

        Raises:
            RegistrationError: the name is taken, or there is no such risk.
        """
        ...

    def register_command(self, name: str, description: str, handler: CommandHandler) -> None:
        """Add a slash command.

        Raises:
            RegistrationError: the name is taken or is not a name.
        """
        ...

    def add_prompt_section(self, name: str, section: PromptSection) -> None:
        """Add to the system prompt; sections appear in the order of registration. A name again replaces."""
        ...

    def before_tool(self, hook: BeforeTool) -> None:
        """See every tool call first; may block it or change its arguments."""
        ...

    def after_tool(self, hook: AfterTool) -> None:
        """See every tool result before the model does; may change it."""
        ...

    def on_user_message(self, hook: UserMessageHook) -> None:
        """See every message of the user before the model does; may change it."""
        ...

    def on_event(self, handler: EventHandler) -> None:
        """Observe everything that happens. A handler that raises is reported and switched off."""
        ...


Extension: TypeAlias = Callable[[ExtensionAPI], None]
