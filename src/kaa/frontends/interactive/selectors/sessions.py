"""Going to other sessions: one from the list, or a copy of this one."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kaa.core.messages import UserMessage
from kaa.frontends.interactive.attachments import Attachments
from kaa.frontends.interactive.conversations import Conversations
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.navigation.navigator import Navigator
from kaa.frontends.interactive.ui_context import UIContext
from kaa.shell.options import ForkSession

if TYPE_CHECKING:
    from kaa.frontends.interactive.sessions.picker import SpokenSearch

_UNKEPT = "this session has no file, so it cannot be copied"


class _ForkPoint(NamedTuple):
    """Where a copy is to end, and what the user said there."""

    path: str
    message: UserMessage | None


class SessionSelectors:
    """Lists of sessions, and copies.

    Args:
        navigator: knows the messages of this session, and shows where an entry is.
    """

    def __init__(
        self,
        ui: UIContext,
        conversations: Conversations,
        navigator: Navigator,
        attachments: Attachments,
    ) -> None:
        self._ui = ui
        self._conversations = conversations
        self._navigator = navigator
        self._attachments = attachments

    def resume(self, query: str = "", on_cancel: Callable[[], None] = lambda: None) -> None:
        from kaa.frontends.interactive.sessions.picker import SessionPicker  # lazy: most sessions are never left

        search = self._search()
        SessionPicker(
            self._ui,
            search.opening,
            search,
            query=query,
            on_cancel=on_cancel,
        ).open()

    def search(self, text: str) -> None:
        if not text:
            from kaa.builtin.session_commands import NO_SEARCH_TEXT  # lazy: only for mistakes

            self._ui.say(NO_SEARCH_TEXT, "warning")
            return
        self._search().open(text)

    def fork(self) -> None:
        """Choose a message to go on before, in a session of its own."""
        self._navigator.choose_message("Fork before which message?", "the session stays as it is", self._fork)

    def _search(self) -> "SpokenSearch":
        from kaa.frontends.interactive.sessions.opening import SessionOpening  # lazy, as above
        from kaa.frontends.interactive.sessions.picker import SpokenSearch

        opening = SessionOpening(self._ui, self._conversations, self._navigator.tree)
        return SpokenSearch(self._ui, opening)

    def _fork(self, entry_id: str) -> None:
        async def point(engine: Engine) -> _ForkPoint | None:
            path = engine.conversation.session_path
            if path is None:
                return None
            return _ForkPoint(path, engine.conversation.navigation.message_at(entry_id))

        def fork(found: _ForkPoint | None) -> None:
            if found is None:
                self._ui.say(_UNKEPT, "warning")
                return

            def opened() -> None:
                if found.message is not None:
                    self._ui.main_view.give_back([self._attachments.take_back(found.message)], "\n\n")

            notice = "The conversation continues in a copy of the session, before that message. The original is kept."
            choice = ForkSession(found.path, entry_id)
            self._conversations.open_other(choice, notice, opened, self._ui.show_failure)

        self._ui.call(point, fork)
