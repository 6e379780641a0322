"""Registers hooks for changes of the session."""

from kaa.ext.hooks import BeforeNavigationHook, SessionEndHook, SessionStartHook
from kaa.ext.registration.base import Registrar


class SessionHookRegistrations(Registrar):
    """Hooks for changes of the session."""

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

    def before_navigation(self, hook: BeforeNavigationHook) -> None:
        """Run before `/tree`, `/rewind`, `/undo` and `/redo` move, and before kaa opens another session.

        The hook gets a `NavigationRequest`. It returns `Block(reason)`: the conversation stays, the user sees the
        reason, and later hooks do not run. Failure: counts as None. The hook does not run for the first session of the
        process and when kaa ends.
        """
        self._add(self._open_scope().before_navigations, hook)
