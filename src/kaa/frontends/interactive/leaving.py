"""Leaving kaa: what is under way can go on without the terminal, in a process of its own."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kaa.builtin.amounts import counted
from kaa.frontends.interactive.activity import Activity
from kaa.frontends.interactive.dialogs.choices import DialogChoice
from kaa.frontends.interactive.event_presenter import EventPresenter
from kaa.frontends.interactive.ui_context import UIContext
from kaa.frontends.live.errors import NotHandedOverError

if TYPE_CHECKING:
    from kaa.frontends.interactive.dialogs.frame import DialogFrame
    from kaa.frontends.live.starting import Started

_FAILED = 1  # as in `kaa.frontends.exit_codes`


class Leaving:
    """Asks what becomes of what is under way, and ends the program.

    Args:
        leave: ends the program, with an exit code and last words.
    """

    def __init__(
        self, ui: UIContext, activity: Activity, presenter: EventPresenter, leave: Callable[[int, str], None]
    ) -> None:
        self._ui = ui
        self._activity = activity
        self._presenter = presenter
        self._leave = leave
        self._dialog: DialogFrame | None = None

    def leave(self) -> None:
        """Leave kaa; ask first if something is under way."""
        if not self._is_at_work:
            if self._presenter.jobs:
                self._ask_to_end_processes()
            else:
                self._end()
            return
        self._dialog = self._ui.lists.ask(
            "Leave kaa?",
            "Keep it running without this terminal? kaa agents lists it, and kaa agents attach returns to it.",
            [
                DialogChoice("l", "Leave it running", self.detach),
                DialogChoice("q", "Stop it and leave", self._end),
                DialogChoice("s", "Stay", self._stay),
            ],
        )

    def _ask_to_end_processes(self) -> None:
        """Ask whether to leave although background processes end with kaa."""
        count = self._presenter.jobs
        verb = "ends" if count == 1 else "end"
        self._dialog = self._ui.lists.ask(
            "Leave kaa?",
            f"{counted(count, 'background process', 'background processes')} {verb} with kaa; /bg lists them.",
            [
                DialogChoice("q", "Leave", self._end),
                DialogChoice("s", "Stay", self._stay),
            ],
        )

    def _end(self) -> None:
        self._leave(0, self._presenter.farewell)

    def detach(self) -> None:
        """Have what is under way go on without the terminal, and leave."""
        self._stay()
        self._ui.say("handing over…", seconds=60.0)
        self._ui.call(lambda engine: engine.hand_over(), self._handed_over, self._not_handed_over)

    @property
    def _is_at_work(self) -> bool:
        """Whether something is under way that can go on elsewhere."""
        return self._presenter.has_file and (self._activity.is_running or self._presenter.works_beside > 0)

    def _stay(self) -> None:
        if self._dialog is not None:
            self._ui.lists.close(self._dialog)
            self._dialog = None

    def _handed_over(self, started: "Started") -> None:
        short = started.id[-8:]
        self._leave(0, f"kaa continues as process {started.pid}. To return:  kaa agents attach {short}\n")

    def _not_handed_over(self, error: BaseException) -> None:
        if isinstance(error, NotHandedOverError):  # the conversation has ended here
            self._leave(_FAILED, f"{error}\n{self._presenter.farewell}")
            return
        self._ui.main_view.status.show("")
        self._presenter.show_notice(str(error), "warning")
