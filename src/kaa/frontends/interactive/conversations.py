"""Opens conversations, one at a time, and keeps what is entered until one is open."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.core.messages import UserMessage
from kaa.ext.errors import NavigationBlockedError
from kaa.ext.invocation import as_message
from kaa.frontends import getting_started
from kaa.frontends.interactive.drafts import Draft, DraftKeeper, recover_draft
from kaa.frontends.interactive.early_text import LeftText, left_text
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.event_presenter import EventPresenter
from kaa.frontends.interactive.prompt_history import PromptHistory
from kaa.frontends.interactive.submission import Submission
from kaa.frontends.interactive.ui_context import UIContext
from kaa.host.paths import is_below
from kaa.llm.models.registry import NoModelError
from kaa.session.transcript import Transcript
from kaa.shell.options import NewSession, SessionChoice


class OpenedConversation(NamedTuple):
    """A conversation that was opened.

    Attributes:
        path: its session's file; None if it is not kept.
        drafts: beside which file to keep what is typed; None if it is not to be kept.
        typed: what was typed in the session and not sent before its kaa was killed.
        entries: what was said in it before; may be read from any thread as long as it is open.
        history: what was typed in earlier sessions; empty if this is not the first of the process.
        left: what was entered while another kaa started here, which was killed.
    """

    path: Path | None
    drafts: Path | None
    typed: Draft
    entries: Transcript
    history: list[str]
    left: LeftText | None = None


async def describe_opened(
    engine: Engine, session: SessionChoice | None, folder: str, *, is_first: bool
) -> OpenedConversation:
    """Open a conversation and describe it.

    Args:
        session: which one; None for that of the command line.
        folder: kaa's home.
        is_first: whether it is the first of the process.

    Raises:
        Exception: as `Engine.open` does.
    """
    history = PromptHistory(folder).load() if is_first else []
    conversation = await engine.open(session)
    drafts = engine.session_path if conversation.is_kept else None
    entries = conversation.transcript()
    # A small file: whoever sees the model may type.
    typed = _recovered(drafts, entries, folder) if drafts is not None else Draft()
    left = left_text(folder) if is_first and drafts is not None else None
    return OpenedConversation(engine.session_path, drafts, typed, entries, history, left)


def _recovered(session: Path, entries: Transcript, folder: str) -> Draft:
    """What was typed in a session; as a message where others may have written it, outside kaa's home."""
    typed = recover_draft(session).without_recorded(entries)
    if is_below(os.path.realpath(session), (os.path.realpath(folder),)):
        return typed
    return msgspec.structs.replace(typed, text=as_message(typed.text))


# As many as getting started needs below its first line, which says the reason.
_ROWS_TO_GET_STARTED = 24

_NO_LIST = "/model has nothing to list: {reason}. /login saves a key"


class Conversations:
    """Opens them, and lets what is entered through when one is open.

    Args:
        drafts: keeps what is typed.
        on_opened: told when another one is open.
        give_back: takes what waited to be said in the one before.
    """

    def __init__(
        self,
        ui: UIContext,
        presenter: EventPresenter,
        submission: Submission,
        drafts: DraftKeeper,
        on_opened: Callable[[], None],
        give_back: Callable[[list[UserMessage]], None],
    ) -> None:
        self._ui = ui
        self._presenter = presenter
        self._submission = submission
        self._drafts = drafts
        self._on_opened = on_opened
        self._give_back = give_back
        self._waiting: list[str] = []  # entered before there was one
        self._is_open = self._is_opening = False
        self._is_first = True
        self._help_shown = ""  # where there is no model
        self._open_wanted: Callable[[], None] = lambda: self._begin(None, self._opened)

    def open(self, submitted: Sequence[str] = ()) -> None:
        """Open the conversation of the command line; or try the last one again: what was missing may be there now.

        Args:
            submitted: what was entered and is to be done then.
        """
        self.keep(submitted)
        if not self._is_opening:
            self._open_wanted()

    @property
    def is_opening(self) -> bool:
        """Whether a conversation is being opened, which can be stopped while it waits for extensions."""
        return self._is_opening

    def keep(self, submitted: Sequence[str]) -> None:
        """Do this as soon as there is a conversation."""
        self._waiting += submitted
        self._waiting_changed()

    def take_back(self) -> bool:
        """Put the last text that waits for a conversation back into the editor. Returns False if none waits."""
        if not self._waiting:
            return False
        self._ui.main_view.give_back([self._waiting.pop()], "\n\n")
        self._waiting_changed()
        return True

    def _waiting_changed(self) -> None:
        self._ui.main_view.queued.show_entered(self._waiting)
        self._drafts.entered(self._waiting)

    def open_new(self, *, clear: bool) -> None:
        """Start a new session, unless one is being opened.

        Args:
            clear: erase what was shown.
        """
        if self._is_opening:
            self._ui.say("starting…")
            return
        was_open = self._is_open
        before = " The previous session is saved." if self._presenter.is_worth_resuming else ""

        def opened(now: OpenedConversation) -> None:
            if clear:
                self._presenter.clear()
            self._opened(now)
            self._presenter.show_notice(f"Started a new session.{before}")

        def failed(error: BaseException) -> None:
            self._not_opened(error)
            if isinstance(error, NavigationBlockedError):  # the one before goes on
                self._is_open = was_open
                self._let_through()

        self._open_wanted = lambda: self._begin(NewSession(), opened, failed)
        self._open_wanted()

    def open_other(
        self,
        session: SessionChoice,
        notice: str,
        on_opened: Callable[[], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        """Go to another session, unless one is being opened. If that cannot be, all stays as it is.

        Args:
            notice: said above what it shows.
            on_opened: called when it is open and shown.
            on_failure: told why it is not.
        """
        if self._is_opening:
            self._ui.say("starting…")
            return
        was_open = self._is_open

        def opened(now: OpenedConversation) -> None:
            self._presenter.show_notice(notice)
            self._opened(now)
            on_opened()
            self._drafts.keep()  # what this put into the editor

        def failed(error: BaseException) -> None:
            self._is_open, self._is_opening = was_open, False
            on_failure(error)
            self._let_through()

        self._begin(session, opened, failed)

    def submit(self, *, follow_up: bool = False) -> None:
        """Do what stands in the editor, or keep it until there is a conversation."""
        editor = self._ui.main_view.editor
        if not editor.text.strip():
            return
        if self._is_open and self._waiting:  # for a moment: what was entered before goes first
            self.keep([editor.take()])
        elif self._is_open or (not self._is_opening and self._submission.needs_no_conversation):
            self._submission.submit(follow_up=follow_up)
        else:
            self._ui.say("starting…")
            self.open([editor.take()])

    def choose_model(self) -> None:
        """Open the list of models, or say how to get one."""
        if self._is_open:
            self._submission.run("/model")
        elif self._is_opening:
            self._ui.say("starting…")
        else:
            self.open(["/model"])

    def _begin(
        self,
        session: SessionChoice | None,
        opened: Callable[[OpenedConversation], None],
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        self._is_open, self._is_opening = False, True
        folder, is_first = self._ui.main_view.folder, self._is_first
        self._ui.call(
            lambda engine: describe_opened(engine, session, folder, is_first=is_first),
            opened,
            failed or self._not_opened,
        )

    def _opened(self, opened: OpenedConversation) -> None:
        self._is_open, self._is_opening, self._is_first = True, False, False
        self._ui.main_view.status.show("")  # it has started
        self._ui.main_view.editor.history.prepend(opened.history)
        self._presenter.show_session(opened.entries, opened.path)
        self._drafts.begin(opened.drafts, opened.typed, opened.left)
        self._on_opened()
        self._ui.call(lambda engine: engine.take_unsaid(), self._give_back)
        self._submit_first()
        # Behind what the command line says, of which the first may be a command that comes back to be run here.
        self._ui.call(lambda engine: engine.in_turn(), lambda _: self._let_through())
        self._ui.call(lambda engine: engine.prepare())

    def _submit_first(self) -> None:
        """Do what the command line says; commands as if they had been entered here."""
        self._ui.call(lambda engine: engine.submit_first(), self._run_first)

    def _run_first(self, command: str | None) -> None:
        def go_on() -> None:
            if self._is_open:  # otherwise it goes on in the session that is being opened
                self._submit_first()

        if command is not None:
            self._submission.enter(command, then=go_on)

    def _let_through(self) -> None:
        """Do what was entered meanwhile."""
        had_some = bool(self._waiting)
        while self._is_open and self._waiting:  # what is entered may begin another one, and the rest is for that
            self._submission.enter(self._waiting.pop(0))
        if had_some:
            self._waiting_changed()

    def _not_opened(self, error: BaseException) -> None:
        """The main view stays usable, and what was entered stays too: it is tried again with the next message."""
        self._is_opening = False
        waiting, self._waiting = self._waiting, []
        asked_for_list = waiting == ["/model"]
        self._ui.main_view.status.show("")  # it does not start
        if isinstance(error, NoModelError):
            help_text = getting_started.screen(error)
            is_known = help_text == self._help_shown
            if not is_known:
                self._help_shown = help_text
                self._presenter.show_notice(help_text, "warning")
            if is_known or self._ui.main_view.context.size.rows < _ROWS_TO_GET_STARTED:
                # It stands above, or at the top, which is out of sight.
                self._ui.main_view.status.show(
                    _NO_LIST.format(reason=error.reason) if asked_for_list else error.reason, "warning"
                )
        else:
            self._presenter.show_failure(error)
        self._ui.main_view.give_back([] if asked_for_list else waiting, "\n")
        if waiting:
            self._waiting_changed()
        self._ui.main_view.app.refresh()
