"""Going to a session that was chosen, and to a place in it."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kaa.frontends.failures import error_text
from kaa.frontends.interactive.conversations import Conversations
from kaa.frontends.interactive.dialogs.choices import DialogChoice
from kaa.frontends.interactive.footer import short_path
from kaa.frontends.interactive.ui_context import UIContext
from kaa.session.catalogue.records import SessionSummary
from kaa.session.errors import SessionBusyError, SessionError, SessionReadOnlyError
from kaa.shell.options import ForkSession, ResumeSession, SessionChoice, ViewSession
from kaa.tui.sanitize import squeezed

# Why something cannot be done to a session takes a while to read.
REFUSAL_SECONDS = 10.0


class Here(NamedTuple):
    """Where we are.

    Attributes:
        session: the file of the session that is open, if there is one.
    """

    session: Path | None
    directory: str


class SessionOpening:
    """Opens sessions; one of another directory only after asking, as tools work in this one.

    Args:
        show_entry: shows where in its session an entry is, once that is open.
    """

    def __init__(self, ui: UIContext, conversations: Conversations, show_entry: Callable[[str], None]) -> None:
        self._ui = ui
        self._conversations = conversations
        self._show_entry = show_entry

    def go(
        self,
        session: SessionSummary,
        here: Here,
        *,
        entry_id: str | None = None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """Go to a session.

        Args:
            entry_id: the entry to show there; None for where the session goes on.
            close: takes away what it was chosen from, when it is open.
        """

        def arrived() -> None:
            close()
            if entry_id is not None:
                self._show_entry(entry_id)

        if session.path == here.session:
            arrived()
            if entry_id is None:
                self._ui.say("this session is open already")
        elif session.cwd and session.cwd != here.directory:
            self._ask_where(session, here, arrived)
        else:
            self._open(ResumeSession(str(session.path)), session, arrived)

    def _open(self, choice: SessionChoice, session: SessionSummary, arrived: Callable[[], None]) -> None:
        def failed(error: BaseException) -> None:
            if isinstance(choice, ResumeSession) and isinstance(error, SessionBusyError | SessionReadOnlyError):
                self._ask_how(error, session, arrived)
            else:
                self._ui.say(error_text(error), "warning", seconds=REFUSAL_SECONDS)

        match choice:
            case ViewSession():
                what = "It is open read-only: /clone continues in a copy."
            case ForkSession():
                what = "A copy of it continues here."
            case _:
                what = "It continues here."
        notice = f"{squeezed(session.title)}\n{what} The previous session is saved."
        self._conversations.open_other(choice, notice, arrived, failed)

    def _ask_how(self, error: SessionError, session: SessionSummary, arrived: Callable[[], None]) -> None:
        """Offer what can be done with a session that cannot be written."""
        in_use = isinstance(error, SessionBusyError)
        title = "Another kaa uses this session" if in_use else "The session cannot be written"
        path = str(session.path)
        ways = (("v", "Open it read-only", ViewSession(path)), ("f", "Continue here with a copy", ForkSession(path)))
        self._offer(title, squeezed(str(error)), ways, session, arrived)

    def _ask_where(self, session: SessionSummary, here: Here, arrived: Callable[[], None]) -> None:
        is_gone = not os.path.isdir(session.cwd)
        said = f"The session is about {short_path(session.cwd)}, and kaa works in {short_path(here.directory)}. " + (
            "That directory does not exist any more." if is_gone else "To work there, start kaa in that directory."
        )
        title = "The directory of the session is gone" if is_gone else "A session of another directory"
        path = str(session.path)
        ways = (("f", "Continue here with a copy", ForkSession(path)), ("o", "Continue it here", ResumeSession(path)))
        self._offer(title, said, ways, session, arrived)

    def _offer(
        self,
        title: str,
        said: str,
        ways: Sequence[tuple[str, str, SessionChoice]],
        session: SessionSummary,
        arrived: Callable[[], None],
    ) -> None:
        """Ask how to open a session. `ways`: the key and the label of each choice, and what it opens."""

        def go(choice: SessionChoice) -> None:
            self._ui.lists.close(dialog)
            self._open(choice, session, arrived)

        choices = [DialogChoice(key, label, partial(go, choice)) for key, label, choice in ways]
        dialog = self._ui.lists.ask(title, said, choices)
