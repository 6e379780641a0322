"""What the parts of the user interface share: the screen, the core, lists to choose from, and a place for failures."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.selectors.lists import ListDialogs

ResultT = TypeVar("ResultT")


class UIContext:
    """Given to every part that works with the core and shows something.

    Attributes:
        lists: opens lists and small questions.
        say: shows a short text above the editor for a few seconds.
        refresh: shows soon what has changed.
    """

    def __init__(
        self, main_view: MainView, core: CoreThread[Engine], show_failure: Callable[[BaseException], None]
    ) -> None:
        self.main_view = main_view
        self.core = core
        self.show_failure = show_failure
        self.lists = ListDialogs(main_view)
        self.say = main_view.say
        self.refresh = main_view.app.refresh

    def call(
        self,
        work: Callable[[Engine], Awaitable[ResultT]],
        done: Callable[[ResultT], None] | None = None,
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Run work in the core (`CoreThread.call`); an error is shown unless `failed` takes it."""
        self.core.call(work, done, failed or self.show_failure)
