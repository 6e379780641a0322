"""Where registrations are collected: what extensions call into, and what the shell reads out of."""

import re
from collections.abc import Callable, Iterable
from typing import TypeGuard, get_args

from kaa.core.events import Event
from kaa.core.hooks import AfterTool, BeforeTool, ToolHooks
from kaa.core.messages import UserMessage
from kaa.core.tool import Tool
from kaa.ext.api import (
    CarriedSection,
    Command,
    CommandAction,
    CommandContext,
    CommandError,
    CommandHandler,
    CompactionRequest,
    Compactor,
    CondensedText,
    EventHandler,
    Extension,
    OpenSession,
    PromptContext,
    PromptSection,
    RegisteredTool,
    RegistrationError,
    Reply,
    Risk,
    Submit,
    ToolContext,
    UserMessageHook,
)
from kaa.session.errors import SessionError

# What all model vendors accept as a tool name.
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_COMMAND_NAME = re.compile(r"[a-z0-9][a-z0-9:_-]*")


class ExtensionError(Exception):
    """An extension could not be loaded, or raised where its absence would change what the user asked for."""


class Registry:
    """Everything that extensions registered, in the order they did.

    Args:
        report: told, in a sentence, of event handlers that raised and were switched off.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._tools: dict[str, RegisteredTool] = {}
        self._commands: dict[str, Command] = {}
        self._sections: dict[str, PromptSection] = {}
        self._before: list[BeforeTool] = []
        self._after: list[AfterTool] = []
        self._message_hooks: list[UserMessageHook] = []
        self._handlers: list[EventHandler] = []
        self._compactors: list[Compactor] = []
        self._carried: dict[str, CarriedSection] = {}
        self._loading_built_in = False

    def load(self, name: str, extension: Extension, *, built_in: bool = False) -> None:
        """Let an extension register itself. `built_in` only marks its tools for `--no-builtin-tools`.

        Raises:
            ExtensionError: it raised; what it had registered until then stays.
        """
        self._loading_built_in = built_in
        try:
            extension(self)
        except Exception as error:  # isolation boundary: names the extension instead of a bare traceback
            raise ExtensionError(f"Extension {name} failed to load: {_described(error)}") from error

    def register_tool(
        self, tool: Tool[ToolContext], *, snippet: str = "", default: bool = True, risk: Risk = "outside"
    ) -> None:
        """Add a tool for the model."""
        name = tool.schema.name
        if not _TOOL_NAME.fullmatch(name):
            raise RegistrationError(f"{name!r} is no tool name: use 1 to 64 letters, digits, _ and -")
        if name in self._tools:
            raise RegistrationError(f"a tool named {name!r} is already registered")
        if risk not in get_args(Risk):
            raise RegistrationError(f"{risk!r} is no risk: use {', '.join(get_args(Risk))}")
        self._tools[name] = RegisteredTool(tool, snippet, default, self._loading_built_in, risk)

    def register_command(self, name: str, description: str, handler: CommandHandler) -> None:
        """Add a slash command."""
        if not _COMMAND_NAME.fullmatch(name):
            raise RegistrationError(f"{name!r} is no command name: use lower-case letters, digits, : _ and -")
        if name in self._commands:
            raise RegistrationError(f"a command named {name!r} is already registered")
        self._commands[name] = Command(name, description, handler)

    def add_prompt_section(self, name: str, section: PromptSection) -> None:
        """Add to the system prompt, or replace the section of this name."""
        self._sections[name] = section

    def before_tool(self, hook: BeforeTool) -> None:
        """See every tool call first."""
        self._before.append(hook)

    def after_tool(self, hook: AfterTool) -> None:
        """See every tool result before the model does."""
        self._after.append(hook)

    def on_user_message(self, hook: UserMessageHook) -> None:
        """See every message of the user before the model does."""
        self._message_hooks.append(hook)

    def on_event(self, handler: EventHandler) -> None:
        """Observe everything that happens."""
        self._handlers.append(handler)

    def register_compactor(self, compactor: Compactor) -> None:
        """Condense conversations in kaa's place."""
        self._compactors.append(compactor)

    def carry_through_compaction(self, name: str, section: CarriedSection) -> None:
        """Have a text carried over word for word by every compaction."""
        if not _TOOL_NAME.fullmatch(name):
            raise RegistrationError(f"{name!r} is no name for a text: use 1 to 64 letters, digits, _ and -")
        self._carried[name] = section

    @property
    def tools(self) -> tuple[RegisteredTool, ...]:
        """All tools."""
        return tuple(self._tools.values())

    @property
    def commands(self) -> dict[str, Command]:
        """All slash commands by name."""
        return dict(self._commands)

    @property
    def hooks(self) -> ToolHooks:
        """What steps in around tool calls."""
        return ToolHooks(tuple(self._before), tuple(self._after))

    def select_tools(
        self, only: Iterable[str] | None = None, without: Iterable[str] = (), *, built_in: bool = True
    ) -> tuple[RegisteredTool, ...]:
        """The tools to make active.

        Args:
            only: names; None takes every tool that is active by default.
            without: names to leave out.
            built_in: whether built-in tools are active by default.

        Raises:
            RegistrationError: a name is not registered.
        """
        wanted, unwanted = (None if only is None else set(only)), set(without)
        unknown = sorted(((wanted or set()) | unwanted) - set(self._tools))
        if unknown:
            raise RegistrationError(f"no such tool: {', '.join(unknown)} (known: {', '.join(self._tools)})")
        chosen = (
            tool
            for tool in self._tools.values()
            if (tool.name in wanted if wanted is not None else tool.default and (built_in or not tool.built_in))
        )
        return tuple(tool for tool in chosen if tool.name not in unwanted)

    def prompt_sections(self, context: PromptContext) -> tuple[tuple[str, str], ...]:
        """The name and the text of each prompt section that has something to say.

        Raises:
            ExtensionError: a section raised.
        """
        texts: list[tuple[str, str]] = []
        for name, section in self._sections.items():
            try:
                if text := section(context):
                    texts.append((name, text.strip("\n")))
            except Exception as error:  # isolation boundary, as in `load`
                raise ExtensionError(f"The prompt section {name!r} failed: {_described(error)}") from error
        return tuple(texts)

    async def user_message(self, message: UserMessage) -> UserMessage:
        """The message after every hook saw it.

        Raises:
            ExtensionError: a hook raised; what it was to check or change is not known to be fit for the model.
        """
        for hook in self._message_hooks:
            try:
                changed: object = await hook(message)
            except Exception as error:  # isolation boundary, as in `load`
                raise ExtensionError(f"A hook for user messages failed: {_described(error)}") from error
            match changed:
                case UserMessage():
                    message = changed
                case None:
                    pass
                case _:
                    raise ExtensionError(f"A hook for user messages returned {changed!r}, which is no UserMessage")
        return message

    async def run_command(self, name: str, arguments: str, context: CommandContext) -> CommandAction | None:
        """Do what a slash command does.

        Raises:
            CommandError: it cannot do it; the message says why.
            SessionError: the session cannot be read or written.
            ExtensionError: its handler raised something else, or returned what is no action.
        """
        try:
            action: object = await self._commands[name].handler(arguments, context)
        except (CommandError, SessionError):
            raise
        except Exception as error:  # isolation boundary, as in `load`
            raise ExtensionError(f"The command /{name} failed: {_described(error)}") from error
        if action is None or isinstance(action, Reply | Submit | OpenSession):
            return action
        raise ExtensionError(f"The command /{name} returned {action!r}, which is neither Reply, Submit nor OpenSession")

    async def condense(self, request: CompactionRequest) -> CondensedText | None:
        """What the first compactor makes of it that wants to; None if none does."""
        for compactor in self._compactors:
            try:
                condensed: object = await compactor(request)
            except Exception as error:  # noqa: BLE001 isolation boundary: the conversation must become shorter anyway
                self._report(f"a compactor failed and was passed over: {_described(error)}")
                continue
            if _is_summary(condensed):
                return condensed
            if condensed is not None:
                self._report(f"a compactor was passed over: it returned {condensed!r}, which is no summary")
        return None

    def carried(self) -> dict[str, str]:
        """What extensions want carried over now, by name."""
        texts: dict[str, str] = {}
        for name, section in self._carried.items():
            try:
                text: object = section()
            except Exception as error:  # noqa: BLE001 isolation boundary, as above
                self._report(f"the text {name!r} could not be carried over: {_described(error)}")
                continue
            if isinstance(text, str) and text.strip():
                texts[name] = text
            elif not isinstance(text, str | None):
                self._report(f"the text {name!r} could not be carried over: it is {type(text).__name__}, not str")
        return texts

    def notify(self, event: Event) -> None:
        """Pass an event to every handler; one that raises is reported and not called again."""
        for handler in tuple(self._handlers):
            try:
                handler(event)
            except Exception as error:  # noqa: BLE001 isolation boundary: observers must not end a conversation
                self._handlers.remove(handler)
                self._report(f"an event handler failed and was switched off: {_described(error)}")


def joined_sections(sections: Iterable[tuple[str, str]]) -> str:
    """The system prompt that sections make, one empty line apart."""
    return "\n\n".join(text for _, text in sections)


def _is_summary(value: object) -> TypeGuard[CondensedText]:
    """Extensions are not type-checked: an own field may hold anything too."""
    if not isinstance(value, CondensedText):
        return False
    text: object = value.text
    return isinstance(text, str) and bool(text.strip())


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
