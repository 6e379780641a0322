"""Opening conversations, one at a time; and keeping what is entered until there is one."""

from collections.abc import Callable, Sequence

from kaa.frontends import getting_started
from kaa.frontends.interactive.board import Board
from kaa.frontends.interactive.commands import Commands
from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.desk import Desk
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.opened import Opened, describe_opened
from kaa.frontends.interactive.submission import Submission
from kaa.llm.registry import NoModelError
from kaa.shell.options import NewSession, SessionChoice


class Conversations:
    """Opens them, and lets what is entered through when one is open.

    Args:
        desk: has the editor.
        core: opens them.
        board: shows them.
        commands: learns the slash commands of each.
        submission: does what is entered.
        on_opened: told when another one is open.
    """

    def __init__(
        self,
        desk: Desk,
        core: CoreThread[Engine],
        board: Board,
        commands: Commands,
        submission: Submission,
        on_opened: Callable[[], None],
    ) -> None:
        self._desk = desk
        self._core = core
        self._board = board
        self._commands = commands
        self._submission = submission
        self._on_opened = on_opened
        self._waiting: list[str] = []  # entered before there was one
        self._is_open = self._is_opening = False

    def open(self, submitted: Sequence[str] = ()) -> None:
        """Open the conversation of the command line; or try again: what was missing may be there now.

        Args:
            submitted: what was entered and is to be done then.
        """
        self._waiting += submitted
        if not self._is_opening:
            self._begin(None, self._opened)

    def open_new(self, *, clear: bool) -> None:
        """Begin a new session.

        Args:
            clear: erase what was shown.
        """

        def opened(now: Opened) -> None:
            if clear:
                self._board.clear()
            self._opened(now)
            self._board.show_notice("A new session has begun. The one before is kept.")

        self._begin(NewSession(), opened)

    def submit(self, *, follow_up: bool = False) -> None:
        """Do what stands in the editor, or keep it until there is a conversation."""
        if self._is_open:
            self._submission.submit(follow_up=follow_up)
        elif not self._desk.editor.is_empty:
            self._desk.say("starting…")
            self.open([self._desk.editor.take()])

    def _begin(self, session: SessionChoice | None, opened: Callable[[Opened], None]) -> None:
        self._is_open, self._is_opening = False, True
        folder = self._desk.folder
        self._core.call(lambda engine: describe_opened(engine, session, folder), opened, self._not_opened)

    def _opened(self, opened: Opened) -> None:
        self._is_open, self._is_opening = True, False
        self._desk.status.show("")  # it has started
        self._commands.of_conversation = opened.commands
        self._desk.editor.history.prepend(opened.history)
        self._board.show_session(opened.entries)
        self._on_opened()
        self._core.call(lambda engine: engine.submit_first(), None, self._board.show_failure)
        self._core.call(lambda engine: engine.prepare())
        waiting, self._waiting = self._waiting, []
        for text in waiting:
            self._submission.enter(text)

    def _not_opened(self, error: BaseException) -> None:
        """The desk stays usable, and what was entered stays too: it is tried again with the next message."""
        self._is_opening = False
        if isinstance(error, NoModelError):
            self._board.show_notice(getting_started.screen(error), "warning")
        else:
            self._board.show_failure(error)
        if self._waiting:
            self._desk.editor.set_text("\n".join(self._waiting))
            self._waiting = []
