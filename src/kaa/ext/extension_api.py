"""The argument of `extend(api)`: the methods by which an extension registers tools, commands and hooks."""

import re
from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias, TypeVar, get_args

from kaa.core.tool import Tool
from kaa.ext.commands import Command, CommandAvailability, CommandCompleter, CommandHandler
from kaa.ext.context import ToolContext
from kaa.ext.errors import RegistrationError
from kaa.ext.hooks import (
    AfterCompactionHook,
    AfterToolHook,
    BeforeCompactionHook,
    BeforeEndHook,
    BeforeNavigationHook,
    BeforeRequestHook,
    BeforeToolHook,
    CarriedSection,
    Compactor,
    EventHandler,
    NotificationHandler,
    SessionEndHook,
    SessionStartHook,
    UserMessageHook,
)
from kaa.ext.invocation import is_command_name
from kaa.ext.prompt_sections import PromptSection
from kaa.ext.scope import Scope
from kaa.ext.tools import RegisteredTool, Risk

# Grows when something is added to `ExtensionAPI`. An extension that needs more than version 1 defines `API_VERSION`.
API_VERSION = 1

# What all model vendors accept as a tool name.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

FunctionT = TypeVar("FunctionT")

NamedKind: TypeAlias = Literal["tool", "command"]
"""What no two extensions of a conversation can register under one name."""


class Registrations(Protocol):
    """Told of what extensions register. Until an extension is loaded, both methods do nothing."""

    def require_free(self, scope: Scope, kind: NamedKind, name: str) -> None:
        """Make sure that no other extension has registered this name.

        Raises:
            RegistrationError: one has.
        """
        ...

    def changed(self, scope: Scope) -> None:
        """Tools, commands or prompt sections of an extension came or went."""
        ...


class ExtensionAPI:
    """Registers what an extension adds to kaa. All open conversations see it until the extension is unloaded.

    Rules for all hooks:

    - **Order**: hooks of built-in extensions first, then in the order in which the extensions were loaded, within an
      extension in the order of registration. The next hook starts when the one before has returned. Tool calls of one
      reply run in parallel, so hooks of different calls may overlap.
    - **Arguments**: those that the method names, then the `ConversationContext` of the conversation.
    - **Return value**: None changes nothing. A value of a wrong type counts as a failure of the hook.
    - **Time limit**: 60 seconds for each call; the time in which the hook waits for the user's answer does not count. A
      hook that takes longer is cancelled, which counts as a failure. The user sees the name of a hook that runs for
      half a second, and can stop it with the same effect.
    - **Failure**: kaa reports it with the name of the extension. Each method says what happens then.
    - **Abort**: if the user stops the run, the hook that is running gets `asyncio.CancelledError`.
    """

    def __init__(self, scope: Scope, registrations: Registrations) -> None:
        self._scope = scope
        self._registrations = registrations

    @property
    def api_version(self) -> int:
        """The version of this interface. It grows with each addition; removals are announced in advance."""
        return API_VERSION

    def register_tool(
        self, tool: Tool[ToolContext], *, snippet: str = "", default: bool = True, risk: Risk = "outside"
    ) -> None:
        """Add a tool for the model, at any time; it is there from the next request on.

        Args:
            tool: the tool, for example a `TypedTool`.
            snippet: one line for the system prompt.
            default: active unless the user chooses otherwise.
            risk: the most that a call can do. It decides when kaa asks the user, so it must be true: the sandbox
                confines what goes through the workspace, not the tool's own code.

        Raises:
            RegistrationError: the name is taken or invalid, the risk is unknown, or `tool` is not a tool.
        """
        scope = self._open_scope()
        if not isinstance(tool, Tool):
            raise RegistrationError(
                f"invalid tool {tool!r}: use TypedTool(name, description, arguments, function), or an object with"
                " schema, sequential and run"
            )
        name = tool.schema.name
        if not _NAME.fullmatch(name):
            raise RegistrationError(f"invalid tool name {name!r}: use 1 to 64 letters, digits, _ and -")
        if name in scope.tools:
            raise RegistrationError(f"a tool named {name!r} is already registered")
        if risk not in get_args(Risk):
            raise RegistrationError(f"invalid risk {risk!r}: use {', '.join(get_args(Risk))}")
        self._registrations.require_free(scope, "tool", name)
        scope.tools[name] = RegisteredTool(tool, snippet, default, scope.author, risk)
        self._registrations.changed(scope)

    def unregister_tool(self, name: str) -> None:
        """Take back a tool of this extension; the model does not have it from the next request on.

        Raises:
            RegistrationError: this extension has no tool of this name.
        """
        scope = self._open_scope()
        if name not in scope.tools:
            raise RegistrationError(f"extension {scope.owner} has no tool named {name!r}")
        del scope.tools[name]
        self._registrations.changed(scope)

    def register_command(
        self,
        name: str,
        description: str,
        handler: CommandHandler,
        *,
        argument_hint: str | None = "",
        complete: CommandCompleter | None = None,
        available: CommandAvailability | None = None,
        while_running: bool = False,
    ) -> None:
        """Add a slash command.

        Args:
            name: without the slash. `kaa.ext.invocation` has the grammar.
            description: one line for lists.
            handler: async; gets the text after the name and a `CommandContext`, returns a `CommandAction` or None. It
                has no time limit, but the user can stop it. `CommandError` refuses the command with its message;
                another exception is a failure.
            argument_hint: the arguments, for example `[PATH]`. None: the command takes no arguments, and kaa refuses
                a call with some.
            complete: gets the text after the name and a `CommandContext`, returns suggestions. It runs on the event
                loop and must return at once. A failure completes nothing.
            available: gets a `CommandContext`, returns why the command cannot run now, or None. kaa calls it before
                `handler` and for lists. It must return at once.
            while_running: the command can run while the agent works.

        Raises:
            RegistrationError: the name is taken or invalid, or a function is not callable.
        """
        scope = self._open_scope()
        if not is_command_name(name):
            raise RegistrationError(
                f"invalid command name {name!r}: use letters, digits, : _ . and -, first a letter or digit"
            )
        for function in (handler, *(one for one in (complete, available) if one is not None)):
            _require_function(function)
        if name in scope.commands:
            raise RegistrationError(f"a command named {name!r} is already registered")
        self._registrations.require_free(scope, "command", name)
        scope.commands[name] = Command(name, description, handler, argument_hint, complete, available, while_running)
        self._registrations.changed(scope)

    def add_prompt_section(self, name: str, section: PromptSection) -> None:
        """Add a section to the system prompt, or replace the section of this name.

        `section` gets a `PromptContext` and returns a text, or None for nothing. It runs when kaa opens a conversation,
        and when extensions or their tools came or went; the new prompt is in force from the next run on. Sections
        appear in the order of registration. It has no time limit and must return at once. If it raises, kaa does not
        open the conversation, or keeps the prompt as it was.
        """
        _require_function(section)
        scope = self._open_scope()
        scope.sections[name] = section
        self._registrations.changed(scope)

    def on_session_start(self, hook: SessionStartHook) -> None:
        """Run once for each conversation, after kaa opened it and before its first message, which waits.

        The hook gets a `SessionStart`. After a switch, the previous session is closed already. It returns None.
        Failure: the conversation continues.
        """
        self._add(self._open_scope().session_starts, hook)

    def on_session_end(self, hook: SessionEndHook) -> None:
        """Run once for each conversation, after the agent stopped and before kaa closes the session.

        The hook gets a `SessionEnd` and returns None. It cannot ask the user. Its time limit is 5 seconds. Failure: kaa
        closes the session. The hook does not run if kaa is killed.
        """
        self._add(self._open_scope().session_ends, hook)

    def on_user_message(self, hook: UserMessageHook) -> None:
        """Run for each message of the user, and each text that a command submits, before it is queued or sent.

        The hook gets the `UserMessage`. It returns another `UserMessage`, which the next hook gets, or
        `Block(reason)`: the message is not sent, the user sees the reason, and later hooks do not run. Failure: the
        message is not sent. Slash commands and messages of hooks do not reach it.
        """
        self._add(self._open_scope().message_hooks, hook)

    def before_request(self, hook: BeforeRequestHook) -> None:
        """Run before each request of a run, including retries, after compaction.

        The hook gets the `Request`: model, system prompt, messages, tools. It returns `ReplaceMessages(messages)`: this
        request has these messages, and the next hook gets them; the conversation and the session do not change. kaa
        drops results without a call and adds a result to calls without one. Messages from the first difference to the
        request before are not read from the provider's cache. Failure: the request is not sent, and the run ends with
        the error. The hook does not see requests for summaries and titles.
        """
        self._add(self._open_scope().before_requests, hook)

    def before_tool(self, hook: BeforeToolHook) -> None:
        """Run before each call of an existing tool with readable arguments.

        The hook gets the `ToolCall`. It returns one of

        - `Block(reason)`: the tool does not run, the model gets the reason, later hooks do not run. With `denied=True`
          the run counts as not permitted;
        - `ReplaceArguments(arguments)`: the next hook and the tool get these, and a permit of an earlier hook is void;
        - a `Permit`, such as `WorkspacePermit(workspace)`, for this call.

        kaa's approvals run after all hooks, so they judge what will run. Failure: the tool does not run, and the model
        gets the reason.
        """
        self._add(self._open_scope().before_tools, hook)

    def after_tool(self, hook: AfterToolHook) -> None:
        """Run after each tool call, before the model gets the result.

        The hook gets the `ToolCall`, with the arguments that the tool got, and the `ToolResult`. It returns one of

        - another `ToolResult`, which the next hook gets;
        - `RunAgain(permit)`: the tool runs again, at most five times in all, and all hooks get the new result; the
          remaining hooks do not get the old one;
        - `Refuse(reason)`: the result becomes an error that ends with the reason, and the run counts as not permitted.
          The next hook gets that result.

        kaa's approvals run before all hooks. The hook does not run for calls that were blocked. Failure: the model gets
        the reason instead of the result.
        """
        self._add(self._open_scope().after_tools, hook)

    def before_end(self, hook: BeforeEndHook) -> None:
        """Run when a run would end because the model has nothing more to do.

        The hook gets the last `AssistantMessage`. It returns `Continue(reason)`: the model gets the reason as the next
        message, and later hooks do not run. Messages that the user sends meanwhile come first. After ten continuations
        without a message of the user, the run ends as `max_continuations`. Failure: counts as None. The hook does not
        run if the run is aborted, fails, reaches a limit, or needed something that was not permitted.
        """
        self._add(self._open_scope().before_ends, hook)

    def before_compaction(self, hook: BeforeCompactionHook) -> None:
        """Run before each compaction, before all compactors.

        The hook gets a `CompactionRequest`. It returns `Block(reason)`: kaa does not compact, the user sees the reason,
        and later hooks and compactors do not run. Automatic compaction then waits until the user's next message; if the
        conversation exceeds the model's window, the run ends with that error. Failure: counts as None.
        """
        self._add(self._open_scope().before_compactions, hook)

    def after_compaction(self, hook: AfterCompactionHook) -> None:
        """Run after each successful compaction, before the next request.

        The hook gets the `CompactionEnd` event and returns None. Failure: has no consequences.
        """
        self._add(self._open_scope().after_compactions, hook)

    def before_navigation(self, hook: BeforeNavigationHook) -> None:
        """Run before `/tree`, `/rewind`, `/undo` and `/redo` move, and before kaa opens another session.

        The hook gets a `NavigationRequest`. It returns `Block(reason)`: the conversation stays, the user sees the
        reason, and later hooks do not run. Failure: counts as None. The hook does not run for the first session of the
        process and when kaa ends.
        """
        self._add(self._open_scope().before_navigations, hook)

    def register_compactor(self, compactor: Compactor) -> None:
        """Write summaries instead of kaa.

        `compactor` gets a `CompactionRequest`, without a context, and returns a `CondensedText`, or None to leave the
        summary to the next compactor or kaa. kaa appends the user's own sentences and the carried texts. It has no time
        limit. Failure: counts as None.
        """
        self._add(self._open_scope().compactors, compactor)

    def carry_through_compaction(self, name: str, section: CarriedSection) -> None:
        """Add a text to each summary word for word, for example the current plan.

        Args:
            name: the title for the model: letters, digits, _ and -. A second text of this name replaces the first.
            section: gets the `ConversationContext`, returns the text or None. It must return at once. Failure: the text
                is missing.

        Raises:
            RegistrationError: the name is invalid.
        """
        if not _NAME.fullmatch(name):
            raise RegistrationError(f"invalid name {name!r} of a text: use 1 to 64 letters, digits, _ and -")
        _require_function(section)
        self._open_scope().carried[name] = section

    def on_event(self, handler: EventHandler) -> None:
        """Observe all events (`kaa.core.events`) of all conversations as they happen.

        `handler` is a plain function that gets the event; it must return at once. Events are recorded in the session
        before it gets them. Failure: kaa does not call the handler again.
        """
        self._add(self._open_scope().handlers, handler)

    def on_notification(self, handler: NotificationHandler) -> None:
        """Observe what needs the user's attention: notices, failures of extensions, and questions.

        `handler` is a plain function that gets a `Notification`; it must return at once. It runs after kaa showed a
        notice, and before kaa shows a question. Notices from before the extension was loaded do not reach it. Failure:
        kaa does not call the handler again.
        """
        self._add(self._open_scope().notification_handlers, handler)

    def on_close(self, callback: Callable[[], None]) -> None:
        """Run a plain function when the extension is unloaded: after `/reload` loaded a new version, and when kaa ends.

        Callbacks run in reverse order of registration. Failure: the other callbacks run.
        """
        self._add(self._open_scope().closers, callback)

    def _add(self, registered: list[FunctionT], function: FunctionT) -> None:
        _require_function(function)
        registered.append(function)

    def _open_scope(self) -> Scope:
        if not self._scope.is_open:
            raise RegistrationError(f"extension {self._scope.owner} is unloaded and can register nothing more")
        return self._scope


Extension: TypeAlias = Callable[[ExtensionAPI], None]


def _require_function(function: object) -> None:
    """Make sure that something can be called; extensions are not type-checked."""
    if not callable(function):
        raise RegistrationError(f"{function!r} is not a function: pass the function itself, without calling it")
