"""Registers functions that only watch."""

from collections.abc import Callable

from kaa.ext.hooks import EventHandler, NotificationHandler
from kaa.ext.registration.base import Registrar


class ObserverRegistrations(Registrar):
    """Observers."""

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
