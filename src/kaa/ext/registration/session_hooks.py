"""Registers what belongs to the beginning, the changes and the end of a session."""

from typing import TypeVar

from kaa.ext.hooks import BeforeNavigationHook, Service, SessionEndHook, SessionStartHook
from kaa.ext.registration.base import Registrar, require_async

BeforeNavigationT = TypeVar("BeforeNavigationT", bound=BeforeNavigationHook)
SessionEndT = TypeVar("SessionEndT", bound=SessionEndHook)
SessionStartT = TypeVar("SessionStartT", bound=SessionStartHook)


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
