"""Registers functions that only watch."""

from collections.abc import Awaitable, Callable
from typing import TypeVar, get_args, overload

from kaa.core.events import Event
from kaa.ext.context import ConversationContext
from kaa.ext.errors import RegistrationError
from kaa.ext.hooks import EventHandler, EventObserver, NotificationHandler
from kaa.ext.registration.base import Registrar, require_function

EventT = TypeVar("EventT", bound=Event)
EventHandlerT = TypeVar("EventHandlerT", bound=EventHandler)
SomeHandlerT = TypeVar("SomeHandlerT", bound=Callable[..., None])
NotificationHandlerT = TypeVar("NotificationHandlerT", bound=NotificationHandler)
CallbackT = TypeVar("CallbackT", bound=Callable[[], None])

CheckT = TypeVar("CheckT", bound=Callable[[], Awaitable[None]])


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
