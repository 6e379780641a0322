"""Registers hooks that step into runs, sessions and compaction, and functions that only watch."""

from collections.abc import Awaitable, Callable
from typing import TypeVar, get_args, overload

import msgspec

from kaa.core.events import Event
from kaa.core.messages import TextContent, UserMessage
from kaa.ext.context import ConversationContext
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
    EventObserver,
    InputTransformer,
    MissingToolHook,
    NotificationHandler,
    Service,
    SessionEndHook,
    SessionStartHook,
    ShortenResultsHook,
    UserMessageHook,
)
from kaa.ext.registration.base import NAME, Registrar, require_async, require_function

AfterToolT = TypeVar("AfterToolT", bound=AfterToolHook)
MissingToolT = TypeVar("MissingToolT", bound=MissingToolHook)
BeforeEndT = TypeVar("BeforeEndT", bound=BeforeEndHook)
BeforeRequestT = TypeVar("BeforeRequestT", bound=BeforeRequestHook)
BeforeToolT = TypeVar("BeforeToolT", bound=BeforeToolHook)
UserMessageT = TypeVar("UserMessageT", bound=UserMessageHook)
InputTransformerT = TypeVar("InputTransformerT", bound=InputTransformer)
BeforeNavigationT = TypeVar("BeforeNavigationT", bound=BeforeNavigationHook)
SessionEndT = TypeVar("SessionEndT", bound=SessionEndHook)
SessionStartT = TypeVar("SessionStartT", bound=SessionStartHook)
AfterCompactionT = TypeVar("AfterCompactionT", bound=AfterCompactionHook)
BeforeCompactionT = TypeVar("BeforeCompactionT", bound=BeforeCompactionHook)
CarriedSectionT = TypeVar("CarriedSectionT", bound=CarriedSection)
CompactorT = TypeVar("CompactorT", bound=Compactor)
ShortenResultsT = TypeVar("ShortenResultsT", bound=ShortenResultsHook)
EventT = TypeVar("EventT", bound=Event)
EventHandlerT = TypeVar("EventHandlerT", bound=EventHandler)
SomeHandlerT = TypeVar("SomeHandlerT", bound=Callable[..., None])
NotificationHandlerT = TypeVar("NotificationHandlerT", bound=NotificationHandler)
CallbackT = TypeVar("CallbackT", bound=Callable[[], None])
CheckT = TypeVar("CheckT", bound=Callable[[], Awaitable[None]])


class RunHookRegistrations(Registrar):
    """Hooks in a run."""

    def on_user_message(self, hook: UserMessageT) -> UserMessageT:
        """Run for each message of the user, and each text that a command submits, before it is queued or sent.

        The hook gets the `UserMessage`. It returns another `UserMessage`, which the next hook gets, or
        `Block(reason)`: the message is not sent, the user sees the reason, and later hooks do not run. Failure: the
        message is not sent. Slash commands and messages of hooks do not reach it.
        """
        return self._add_hook(self._open_scope().message_hooks.append, hook)

    def transform_input(self, transformer: InputTransformerT) -> InputTransformerT:
        """Change what the user writes before it becomes a message.

        The async function gets a text of the message and returns another text, or None to leave it. Images and the
        origin of the message stay. It runs in the order of the `on_user_message` hooks. Slash commands and texts that
        commands, hooks and extensions send do not reach it. Failure: the message is not sent.
        """
        require_async(transformer)

        async def transform(message: UserMessage, context: ConversationContext) -> UserMessage | None:
            return await _transformed(transformer, message, context) if message.origin == "person" else None

        self._add_hook(self._open_scope().message_hooks.append, transform)
        return transformer

    def before_request(self, hook: BeforeRequestT) -> BeforeRequestT:
        """Run before each request of a run, including retries, after compaction.

        The hook gets the `Request`: model, system prompt, messages, tools. It returns `ReplaceMessages(messages)`: this
        request has these messages, and the next hook gets them; the conversation and the session do not change. Or it
        returns `UseThinking(level)`: this request has another level of `context.models.current.levels`; or
        `GiveUp(reason)`: the request is not sent, and the run ends with the reason. kaa drops results without a call
        and adds a result to calls without one. Messages from the first difference to the request before are not read
        from the provider's cache. Failure: the request is not sent, and the run ends with the error. The hook does not
        see requests for summaries and titles.
        """
        return self._add_hook(self._open_scope().before_requests.append, hook)

    def before_tool(self, hook: BeforeToolT) -> BeforeToolT:
        """Run before each call of an existing tool with readable arguments.

        The hook gets the `ToolCall`. It returns one of

        - `Block(reason)`: the tool does not run, the model gets the reason, later hooks do not run. With `denied=True`
          the run counts as not permitted;
        - `ReplaceArguments(arguments)`: the next hook and the tool get these, and a permit of an earlier hook is void;
        - a `Permit`, such as `WorkspacePermit(workspace)`, for this call.

        kaa's approvals run after all hooks, so they judge what will run. Failure: the tool does not run, and the model
        gets the reason.
        """
        return self._add_hook(self._open_scope().before_tools.append, hook)

    def after_tool(self, hook: AfterToolT) -> AfterToolT:
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
        return self._add_hook(self._open_scope().after_tools.append, hook)

    def missing_tool(self, hook: MissingToolT) -> MissingToolT:
        """Run when the model calls a tool that does not exist.

        The hook gets the tool's name. It returns what the model can do instead, or None if it does not know the tool;
        later hooks do not run after an answer. Without one, the model gets the names of the tools that it has. Failure:
        counts as None.
        """
        return self._add_hook(self._open_scope().missing_tools.append, hook)

    def before_end(self, hook: BeforeEndT) -> BeforeEndT:
        """Run when a run would end because the model has nothing more to do.

        The hook gets the last `AssistantMessage`. It returns `Continue(reason)`: the model gets the reason as the next
        message, and later hooks do not run. Messages that the user sends meanwhile come first. After ten continuations
        without a message of the user, the run ends as `max_continuations`; `progress=True` counts from there. Or it
        returns `GiveUp(reason, ends_as)`: the run ends as `unfinished`, `unverified` or `loop`, with the reason.
        Failure: counts as None. The hook does not run if the run is aborted, fails, reaches a limit, or needed
        something that was not permitted.
        """
        return self._add_hook(self._open_scope().before_ends.append, hook)


async def _transformed(
    transformer: InputTransformer, message: UserMessage, context: ConversationContext
) -> UserMessage | None:
    """The message with its texts transformed; None if none of them changes."""
    content = (TextContent(message.content),) if isinstance(message.content, str) else message.content
    changed = list(content)
    for place, block in enumerate(content):
        if not isinstance(block, TextContent):
            continue
        text: object = await transformer(block.text, context)
        if not isinstance(text, str | None):
            raise TypeError(f"transform_input returned {text!r}: return a text or None")
        if text is not None:
            changed[place] = TextContent(text)
    return None if tuple(changed) == content else msgspec.structs.replace(message, content=tuple(changed))


class SessionHookRegistrations(Registrar):
    """Hooks for changes of the session."""

    def on_session_start(self, hook: SessionStartT) -> SessionStartT:
        """Run once for each conversation, after kaa opened it and before its first message, which waits.

        The hook gets a `SessionStart`. After a switch, the previous session is closed already. It returns None.
        Failure: the conversation continues. In a conversation that is open already when the extension is loaded or
        enabled, the hook runs then, with the reason `reload`, and the next message waits for it.
        """
        return self._add_hook(self._open_scope().session_starts.append, hook)

    def on_session_end(self, hook: SessionEndT) -> SessionEndT:
        """Run once for each conversation, after the agent stopped and before kaa closes the session.

        If the extension is unloaded, disabled or replaced before, the hook runs then, with the reason `reload`.
        The hook gets a `SessionEnd` and returns None. It cannot ask the user. Its time limit is 5 seconds. Failure: kaa
        closes the session. The hook does not run if kaa is killed.
        """
        return self._add_hook(self._open_scope().session_ends.append, hook)

    def before_navigation(self, hook: BeforeNavigationT) -> BeforeNavigationT:
        """Run before `/tree`, `/rewind`, `/undo` and `/redo` move, and before kaa opens another session.

        The hook gets a `NavigationRequest`. It returns `Block(reason)`: the conversation stays, the user sees the
        reason, and later hooks do not run. Failure: counts as None. The hook does not run for the first session of the
        process and when kaa ends.
        """
        return self._add_hook(self._open_scope().before_navigations.append, hook)

    def service(self, function: Service) -> Service:
        """Run an async function in the background of each conversation, also as a decorator: `@kaa.service`.

        The function gets the `ConversationContext`. It starts after the hooks of the extension for the start of the
        session, or at once if they have run. kaa cancels it when the conversation is closed or the extension is
        unloaded or disabled, the last one first, and waits at most 5 seconds for all. It may also return before.
        Failure: kaa reports it and does not start the function again.
        """
        scope = self._open_scope()
        require_async(function)
        scope.services.append(function)
        self._registrations.changed(scope)
        return function


class CompactionRegistrations(Registrar):
    """Compaction, and what shortens a conversation before it."""

    def shorten_results(self, hook: ShortenResultsT) -> ShortenResultsT:
        """Run before each request of a run, before kaa looks whether the conversation must be compacted.

        The hook gets a `ResultsRequest`. It returns `ShortenResults(results, reason)`: from this request on the model
        sees these results with their new content, and later hooks do not run. kaa records that in the session, so it
        lasts; going back to an entry before it restores the results. Results of tools that are registered as `lasting`
        stay. What was sent is then no longer read from the provider's cache from the first changed result on, so
        shorten many results at once, and rarely. Failure: counts as None.
        """
        return self._add_hook(self._open_scope().result_shorteners.append, hook)

    def before_compaction(self, hook: BeforeCompactionT) -> BeforeCompactionT:
        """Run before each compaction, before all compactors.

        The hook gets a `CompactionRequest`. It returns `Block(reason)`: kaa does not compact, the user sees the reason,
        and later hooks and compactors do not run. Automatic compaction then waits until the user's next message; if the
        conversation exceeds the model's window, the run ends with that error. Failure: counts as None.
        """
        return self._add_hook(self._open_scope().before_compactions.append, hook)

    def after_compaction(self, hook: AfterCompactionT) -> AfterCompactionT:
        """Run after each successful compaction, before the next request.

        The hook gets the `CompactionEnd` event and returns None. Failure: has no consequences.
        """
        return self._add_hook(self._open_scope().after_compactions.append, hook)

    def register_compactor(self, compactor: CompactorT) -> CompactorT:
        """Write summaries instead of kaa.

        `compactor` gets a `CompactionRequest`, without a context, and returns a `CondensedText`, or None to leave the
        summary to the next compactor or kaa. kaa appends the user's own sentences and the carried texts. It has no time
        limit. Failure: counts as None.
        """
        return self._add_hook(self._open_scope().compactors.append, compactor)

    @overload
    def carry_through_compaction(self, name: str, section: CarriedSectionT) -> CarriedSectionT: ...

    @overload
    def carry_through_compaction(self, name: str) -> Callable[[CarriedSectionT], CarriedSectionT]: ...

    def carry_through_compaction(
        self, name: str, section: CarriedSectionT | None = None
    ) -> CarriedSectionT | Callable[[CarriedSectionT], CarriedSectionT]:
        """Add a text to each summary word for word, for example the current plan. Without `section`, a decorator.

        Args:
            name: the title for the model: letters, digits, _ and -. A second text of this name replaces the first.
            section: gets the `ConversationContext`, returns the text or None. It must return at once. Failure: the text
                is missing.

        Raises:
            RegistrationError: the name is invalid.
        """
        if not NAME.fullmatch(name):
            raise RegistrationError(f"invalid name {name!r} of a text: use 1 to 64 letters, digits, _ and -")

        def register(section: CarriedSectionT) -> CarriedSectionT:
            require_function(section)
            self._open_scope().carried[name] = section
            return section

        return register if section is None else register(section)


class ObserverRegistrations(Registrar):
    """Observers."""

    @overload
    def on_event(
        self, kind: type[EventT], /
    ) -> Callable[[Callable[[EventT, ConversationContext], None]], Callable[[EventT, ConversationContext], None]]: ...

    @overload
    def on_event(
        self, kind: type[Event], other: type[Event], /, *others: type[Event]
    ) -> Callable[[SomeHandlerT], SomeHandlerT]: ...

    @overload
    def on_event(self, handler: EventHandlerT, /) -> EventHandlerT: ...

    def on_event(self, first: EventHandler | type[object], /, *others: type[Event]) -> object:
        """Observe the events (`kaa.core.events`) of all conversations as they happen.

        `@kaa.on_event` gets all events, `@kaa.on_event(events.TurnEnd)` those of one class, and so on for several.
        `handler` is a plain function that gets the event; it must return at once. Events are recorded in the session
        before it gets them. Failure: kaa does not call the handler again.

        Raises:
            RegistrationError: a class is not one of events.
        """
        if not isinstance(first, type):
            self._add(self._open_scope().handlers.append, EventObserver(first))
            return first
        kinds = (first, *others)
        if strange := [kind for kind in kinds if kind not in get_args(Event)]:
            raise RegistrationError(f"{strange[0]!r} is not a class of events: use one of kaa.ext.api.events")

        def register(handler: SomeHandlerT) -> SomeHandlerT:
            require_function(handler)
            self._add(self._open_scope().handlers.append, EventObserver(handler, kinds))
            return handler

        return register

    def on_notification(self, handler: NotificationHandlerT) -> NotificationHandlerT:
        """Observe what needs the user's attention: notices, failures of extensions, and questions.

        `handler` is a plain function that gets a `Notification`; it must return at once. It runs after kaa showed a
        notice, and before kaa shows a question. Notices from before the extension was loaded do not reach it. Failure:
        kaa does not call the handler again.
        """
        return self._add(self._open_scope().notification_handlers.append, handler)

    def before_replacing(self, check: CheckT) -> CheckT:
        """Run an async function before a changed version of the extension replaces the one that is loaded.

        If it raises, the previous version stays, and the user sees the error.
        """
        require_function(check)
        self._open_scope().checks.append(check)
        return check

    def on_close(self, callback: CallbackT) -> CallbackT:
        """Run a plain function when the extension is unloaded: after `/reload` loaded a new version, and when kaa ends.

        Callbacks run in reverse order of registration. Failure: the other callbacks run.
        """
        return self._add(self._open_scope().closers.append, callback)

    def set_problem(self, problem: str) -> None:
        """Show in `/extensions` that the extension does not work: why, and what to do. The empty text takes it back."""
        self._scope.problem = problem
