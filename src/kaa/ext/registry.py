"""What a conversation sees of its extensions, as it is at the moment, and how it calls into them."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeGuard, TypeVar

from kaa.core.events import Event
from kaa.core.hooks import (
    AfterTool,
    BeforeEnd,
    BeforeRequest,
    BeforeTool,
    Block,
    Continue,
    Refuse,
    ReplaceArguments,
    ReplaceMessages,
    RunAgain,
)
from kaa.core.messages import AssistantMessage, ToolCall, ToolResultMessage, UserMessage
from kaa.core.provider import Request
from kaa.core.tool import Permit, ToolResult
from kaa.ext.api import (
    AfterToolHook,
    BeforeRequestHook,
    BeforeToolHook,
    Command,
    CommandAction,
    CommandContext,
    CompactionRequest,
    CondensedText,
    PromptContext,
    RegisteredTool,
    Risk,
    Suggestion,
)
from kaa.ext.calling import call, failed, first_verdict, returned, tell
from kaa.ext.context import ConversationContext
from kaa.ext.errors import (
    CommandError,
    ExtensionError,
    MessageBlockedError,
    RegistrationError,
)
from kaa.ext.extensions import Extensions
from kaa.ext.scope import Scope
from kaa.ext.session_hooks import SessionHooks
from kaa.session.errors import SessionError

ResultT = TypeVar("ResultT")


class Registry:
    """The extensions of one conversation. Nothing is kept: what is unloaded is gone with the next look.

    Args:
        extensions: of the process.
        context: what hooks and handlers get.
        report: told, in a sentence, of what goes wrong where nothing can be raised.
        names: the extensions that this conversation uses; None uses all.

    Attributes:
        session: hooks for what happens to the session.
    """

    def __init__(
        self,
        extensions: Extensions,
        context: ConversationContext,
        report: Callable[[str], None],
        names: Iterable[str] | None = None,
    ) -> None:
        self._extensions = extensions
        self.session = SessionHooks(lambda: self._scopes, context, report)
        self._context = self.session.context
        self._report = report
        self._names = None if names is None else frozenset(names)
        self._failing_completions: set[str] = set()  # were reported; not again for each key that is typed

    @property
    def context(self) -> ConversationContext:
        """What hooks and handlers get."""
        return self._context

    def subscribe(self, observer: Callable[[], None]) -> Callable[[], None]:
        """Call `observer` after extensions were loaded or unloaded. Returns a function that ends this."""
        return self._extensions.subscribe(observer)

    @property
    def tools(self) -> tuple[RegisteredTool, ...]:
        """All tools."""
        return tuple(tool for scope in self._scopes for tool in scope.tools.values())

    def risk_of(self, name: str) -> Risk:
        """What a tool can do at most; a tool that is not registered may do anything."""
        return next((scope.tools[name].risk for scope in self._scopes if name in scope.tools), "outside")

    @property
    def commands(self) -> dict[str, Command]:
        """All slash commands by name."""
        return {name: command for scope in self._scopes for name, command in scope.commands.items()}

    @property
    def before_request(self) -> Sequence[BeforeRequest]:
        """See `kaa.core.hooks.Hooks`."""
        return [self._before_request(scope, hook) for scope in self._scopes for hook in scope.before_requests]

    @property
    def before(self) -> Sequence[BeforeTool]:
        """See `kaa.core.hooks.Hooks`."""
        return [self._before_tool(scope, hook) for scope in self._scopes for hook in scope.before_tools]

    @property
    def after(self) -> Sequence[AfterTool]:
        """See `kaa.core.hooks.Hooks`."""
        return [self._after_tool(scope, hook) for scope in self._scopes for hook in scope.after_tools]

    @property
    def before_end(self) -> Sequence[BeforeEnd]:
        """See `kaa.core.hooks.Hooks`; the one hook there is asks all those of extensions."""
        return [self._demand] if any(scope.before_ends for scope in self._scopes) else []

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
        known = {tool.name: tool for tool in self.tools}
        wanted, unwanted = (None if only is None else set(only)), set(without)
        unknown = sorted(((wanted or set()) | unwanted) - set(known))
        if unknown:
            raise RegistrationError(f"no such tool: {', '.join(unknown)} (known: {', '.join(known)})")
        chosen = (
            tool
            for tool in known.values()
            if (tool.name in wanted if wanted is not None else tool.default and (built_in or not tool.built_in))
        )
        return tuple(tool for tool in chosen if tool.name not in unwanted)

    def prompt_sections(self, context: PromptContext) -> tuple[tuple[str, str], ...]:
        """The name and the text of each prompt section that has something to say.

        Raises:
            ExtensionError: a section raised.
        """
        sections = {name: (scope, section) for scope in self._scopes for name, section in scope.sections.items()}
        texts: list[tuple[str, str]] = []
        for name, (scope, section) in sections.items():
            try:
                if text := section(context):
                    texts.append((name, text.strip("\n")))
            except (
                Exception,
                SystemExit,
            ) as error:  # isolation boundary: names the extension instead of a bare traceback
                raise failed(scope, f"the prompt section {name!r}", error) from error
        return tuple(texts)

    async def user_message(self, message: UserMessage) -> UserMessage:
        """The message after every hook saw it.

        Raises:
            MessageBlockedError: a hook keeps it from the model.
            ExtensionError: a hook raised; what it was to check or change is not known to be fit for the model.
        """
        for scope in self._scopes:
            for hook in tuple(scope.message_hooks):
                changed: object = await self._call(scope, "a hook for user messages", hook, message)
                match changed:
                    case UserMessage():
                        message = changed
                    case Block(reason=reason):
                        raise MessageBlockedError(reason)
                    case None:
                        pass
                    case _:
                        raise returned(scope, "a hook for user messages", changed, "UserMessage or Block")
        return message

    async def run_command(self, name: str, arguments: str, context: CommandContext) -> CommandAction | None:
        """Do what a slash command does.

        Raises:
            CommandError: it cannot do it; the message says why.
            SessionError: the session cannot be read or written.
            ExtensionError: its handler raised something else, or returned what is no action.
        """
        scope, command = self._command(name)
        try:
            action: object = await command.handler(arguments, context)
        except (CommandError, SessionError):
            raise
        except (Exception, SystemExit) as error:  # isolation boundary, as above
            raise failed(scope, f"the command /{name}", error) from error
        if action is None or isinstance(action, CommandAction):
            return action
        raise returned(scope, f"the command /{name}", action, "an action, such as Reply, or None")

    def obstacle(self, name: str, context: CommandContext, *, is_running: bool) -> str | None:
        """Why a slash command cannot be used now, in a sentence; None if it can.

        Args:
            name: of the command.
            context: what it works with.
            is_running: whether the agent works.

        Raises:
            ExtensionError: the command could not say, or returned something else.
        """
        scope, command = self._command(name)
        if is_running and not command.while_running:
            return f"/{name} cannot run while the agent works: wait until it is done, or stop it"
        if command.available is None:
            return None
        try:
            reason: object = command.available(context)
        except (Exception, SystemExit) as error:  # isolation boundary, as above
            raise failed(scope, f"the availability of /{name}", error) from error
        if isinstance(reason, str | None):
            return reason
        raise returned(scope, f"the availability of /{name}", reason, "str or None")

    def complete(self, name: str, typed: str, context: CommandContext) -> tuple[Suggestion, ...]:
        """What can stand behind the name of a slash command, none if there is no such command.

        Args:
            name: of the command.
            typed: what stands there so far.
            context: what it works with.
        """
        if name not in self.commands:
            return ()
        scope, command = self._command(name)
        if command.complete is None:
            return ()
        try:
            found = tuple(command.complete(typed, context))
            if not all(isinstance(one, Suggestion) for one in found):
                raise returned(scope, f"the completion of /{name}", found, "a sequence of Suggestion")
        except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary: without completion one can go on typing
            if name not in self._failing_completions:
                self._failing_completions.add(name)
                is_ours = isinstance(error, ExtensionError)
                self._report(str(error if is_ours else failed(scope, f"the completion of /{name}", error)))
            return ()
        self._failing_completions.discard(name)
        return found

    async def condense(self, request: CompactionRequest) -> CondensedText | None:
        """What the first compactor makes of it that wants to; None if none does."""
        for scope in self._scopes:
            for compactor in tuple(scope.compactors):
                try:
                    condensed: object = await compactor(request)
                except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary: the conversation must become shorter anyway
                    self._report(str(failed(scope, "a compactor", error)))
                    continue
                if _is_summary(condensed):
                    return condensed
                if condensed is not None:
                    self._report(str(returned(scope, "a compactor", condensed, "CondensedText")))
        return None

    def carried(self) -> dict[str, str]:
        """What extensions want carried over now, by name."""
        texts: dict[str, str] = {}
        for scope in self._scopes:
            for name, section in scope.carried.items():
                try:
                    text: object = section(self._context)
                except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary, as above
                    self._report(str(failed(scope, f"the carried text {name!r}", error)))
                    continue
                if isinstance(text, str) and text.strip():
                    texts[name] = text
                elif not isinstance(text, str | None):
                    self._report(str(returned(scope, f"the carried text {name!r}", text, "str or None")))
        return texts

    def notify(self, event: Event) -> None:
        """Pass an event to every handler; one that raises is reported and not called again."""
        for scope in self._scopes:
            if scope.handlers:
                tell(scope, "an event handler", scope.handlers, event, context=self._context, report=self._report)

    @property
    def _scopes(self) -> list[Scope]:
        return self._extensions.scopes(self._names)

    def _command(self, name: str) -> tuple[Scope, Command]:
        return next((scope, scope.commands[name]) for scope in self._scopes if name in scope.commands)

    def _before_tool(self, scope: Scope, hook: BeforeToolHook) -> BeforeTool:
        async def before(call: ToolCall) -> Block | ReplaceArguments | Permit | None:
            return await self._call(scope, "a hook before tools", hook, call)

        return before

    def _after_tool(self, scope: Scope, hook: AfterToolHook) -> AfterTool:
        async def after(call: ToolCall, result: ToolResult) -> ToolResult | RunAgain | Refuse | None:
            return await self._call(scope, "a hook after tools", hook, call, result)

        return after

    async def _demand(self, reply: AssistantMessage) -> Continue | None:
        """What the first hook wants that does not let the run end."""
        hooks = ((scope, hook) for scope in self._scopes for hook in tuple(scope.before_ends))
        what, context = "a hook before the end", self._context
        found = await first_verdict(hooks, what, Continue, reply, context=context, report=self._report)
        return None if found is None else found[1]

    def _before_request(self, scope: Scope, hook: BeforeRequestHook) -> BeforeRequest:
        async def before(request: Request) -> ReplaceMessages | None:
            what = "a hook before requests"
            change: object = await self._call(scope, what, hook, request)
            if change is None or _is_replacement(change):
                return change
            raise returned(scope, what, change, "ReplaceMessages with messages, or None")

        return before

    async def _call(self, scope: Scope, what: str, hook: Callable[..., Awaitable[ResultT]], *seen: object) -> ResultT:
        return await call(scope, what, hook, *seen, context=self._context)


def joined_sections(sections: Iterable[tuple[str, str]]) -> str:
    """The system prompt that sections make, one empty line apart."""
    return "\n\n".join(text for _, text in sections)


def _is_replacement(value: object) -> TypeGuard[ReplaceMessages]:
    """Extensions are not type-checked."""
    if not isinstance(value, ReplaceMessages):
        return False
    messages: object = value.messages
    return isinstance(messages, tuple | list) and all(
        isinstance(message, UserMessage | AssistantMessage | ToolResultMessage) for message in messages
    )


def _is_summary(value: object) -> TypeGuard[CondensedText]:
    """Extensions are not type-checked: an own field may hold anything too."""
    if not isinstance(value, CondensedText):
        return False
    text: object = value.text
    return isinstance(text, str) and bool(text.strip())
