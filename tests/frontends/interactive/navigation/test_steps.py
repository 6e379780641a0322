"""Going elsewhere: what is shown while kaa looks what that means."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kaa.frontends.interactive.activity import Activity
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.navigation.steps import MoveRequest, NavigationSteps
from kaa.frontends.interactive.ui_context import UIContext
from tests.frontends.interactive.offscreen import Seated, seated

if TYPE_CHECKING:
    from kaa.frontends.interactive.conversation_tasks import ConversationTasks
    from kaa.frontends.interactive.core_thread import CoreThread
    from kaa.frontends.interactive.engine import Engine


class _SlowCore:
    """Keeps what is to be called once it has found something."""

    def __init__(self) -> None:
        self.done: Callable[[Any], None] | None = None
        self.failed: Callable[[BaseException], None] | None = None

    def call(
        self,
        work: Callable[[Any], Awaitable[Any]],
        done: Callable[[Any], None] | None = None,
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.done, self.failed = done, failed


def _undoing(seat: Seated, failures: list[BaseException]) -> _SlowCore:
    """Begin to look for the last message."""
    core = _SlowCore()
    ui = UIContext(seat.main_view, cast("CoreThread[Engine]", core), failures.append)
    activity = Activity(seat.main_view, Attention(seat.main_view, seat.terminal))
    steps = NavigationSteps(ui, cast("ConversationTasks", None), activity, lambda _: None)
    steps.go(MoveRequest(lambda navigation: navigation.back(), "nothing", kind="undo"))
    return core


def _wait_for_spinner(seat: Seated) -> None:
    def look() -> None:
        if seat.main_view.working.is_shown:
            seat.reactor.stop()
        else:
            seat.reactor.call_later(0.01, look)

    look()
    seat.reactor.run()


def test_a_long_comparison_of_files_is_shown_until_it_ends(tmp_path: Path) -> None:
    failures: list[BaseException] = []
    with seated(tmp_path) as seat:
        core = _undoing(seat, failures)
        assert not seat.main_view.working.is_shown  # most are done at once
        _wait_for_spinner(seat)
        assert core.done is not None

        core.done(None)

        assert not seat.main_view.working.is_shown


def test_it_ends_with_a_failure_too(tmp_path: Path) -> None:
    failures: list[BaseException] = []
    with seated(tmp_path) as seat:
        core = _undoing(seat, failures)
        _wait_for_spinner(seat)
        assert core.failed is not None

        core.failed(OSError("the disk is full"))

        assert not seat.main_view.working.is_shown
        assert [str(failure) for failure in failures] == ["the disk is full"]
