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
        self._open_wanted: Callable[[], None] = lambda: self._begin(None, self._opened)

    def open(self, submitted: Sequence[str] = ()) -> None:
        """Open the conversation of the command line; or try the last one again: what was missing may be there now.

        Args:
            submitted: what was entered and is to be done then.
        """
        self._waiting += submitted
        if not self._is_opening:
            self._open_wanted()

    def open_new(self, *, clear: bool) -> None:
        """Begin a new session, unless one is being opened.

        Args:
            clear: erase what was shown.
        """
        if self._is_opening:
            self._desk.say("starting…")
            return
        before = " The one before is kept." if self._board.is_worth_resuming else ""

        def opened(now: Opened) -> None:
            if clear:
                self._board.clear()
            self._opened(now)
            self._board.show_notice(f"A new session has begun.{before}")

        self._open_wanted = lambda: self._begin(NewSession(), opened)
        self._open_wanted()

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
        while self._is_open and self._waiting:  # what is entered may begin another one, and the rest is for that
            self._submission.enter(self._waiting.pop(0))

    def _not_opened(self, error: BaseException) -> None:
        """The desk stays usable, and what was entered stays too: it is tried again with the next message."""
        self._is_opening = False
        if isinstance(error, NoModelError):
            self._board.show_notice(getting_started.screen(error), "warning")
        else:
            self._board.show_failure(error)
        waiting, self._waiting = self._waiting, []
        self._desk.give_back(waiting, "\n")
