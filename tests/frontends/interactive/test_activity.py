from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.core.events import (
    AgentEnd,
    AgentStart,
    AutoRetryStart,
    Event,
    MessageUpdate,
    QueueUpdate,
    TextDelta,
    TextStart,
    ThinkingStart,
    ToolCallStart,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnStart,
    UserCommandEnd,
    UserCommandStart,
)
from kaa.core.messages import ToolResultMessage
from kaa.frontends.interactive.activity import Activity
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.event_presenter import EventPresenter
from kaa.frontends.interactive.transcript.transcript_view import TranscriptView
from kaa.session.errors import SessionWriteError
from tests.frontends.interactive.offscreen import Seated, seated


class World:
    """An activity on a main_view."""

    def __init__(self, seat: Seated) -> None:
        self.seat = seat
        self.activity = Activity(seat.main_view, Attention(seat.main_view, seat.terminal))

    def line(self, *events: Event) -> str:
        """What the working line says after these events, without its spinner and its facts."""
        self.activity.observe(events)
        shown = self.seat.main_view.working.render(80)
        return self.seat.dock.strip().partition(" (")[0][2:] if shown else ""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with seated(tmp_path) as seat:
        yield World(seat)


def _tool(call_id: str, name: str) -> tuple[Event, Event]:
    result = ToolResultMessage(call_id, name, (), False, None, 1)
    return ToolExecutionStart(call_id, name, {}), ToolExecutionEnd(call_id, name, result, False, 1)


def test_the_line_tells_what_the_agent_is_at(world: World) -> None:
    assert world.line(AgentStart()) == "Working"
    assert world.line(TurnStart(1)) == "Waiting for the model"
    assert world.line(MessageUpdate(ThinkingStart(0))) == "Thinking"
    assert world.line(MessageUpdate(TextStart(1))) == "Answering"
    assert world.line(MessageUpdate(ToolCallStart(2, "1", "bash"))) == "Preparing bash"
    assert world.line(AutoRetryStart(1, 3, 9_999_000, "busy")).startswith("Retrying in 99")
    assert world.activity.is_busy
    assert world.line(AgentEnd("done", (), None)) == ""
    assert not world.activity.is_busy


def test_the_wait_for_another_try_is_counted_down_until_it_is_made(world: World) -> None:
    waiting = world.line(AgentStart(), AutoRetryStart(2, 3, 9_999_000, "busy"))

    assert waiting.endswith(" s, 2 of 3")
    assert world.line(AutoRetryStart(3, 3, 0, "busy")) == "Waiting for the model"
    assert world.line(MessageUpdate(TextStart(1))) == "Answering"


def test_tools_that_run_at_once_are_all_told(world: World) -> None:
    one, other = _tool("1", "bash"), _tool("2", "read")

    assert world.line(AgentStart(), one[0]) == "Running bash"
    assert world.line(other[0]) == "Running bash, read"
    assert world.line(_tool("3", "read")[0]) == "Running bash, read"
    assert world.line(one[1], _tool("4", "ls")[0]) == "Running read, ls"
    assert world.line(AgentEnd("aborted", (), None), AgentStart(), other[0]) == "Running read"


def test_what_the_model_writes_is_counted(world: World) -> None:
    world.line(AgentStart(), *(MessageUpdate(TextDelta(0, "abc")) for _ in range(400)))
    world.seat.main_view.working.tick()

    assert "about 300 tokens" in world.seat.dock


def test_an_own_command_is_shown_unless_the_agent_works(world: World) -> None:
    assert world.line(UserCommandStart("make\ntest", True)) == "Running make"
    assert (world.activity.is_busy, world.activity.runs_command) == (False, True)
    assert world.line(UserCommandEnd("make", True, "", 0, False, False, None, 1)) == ""
    assert (world.activity.is_busy, world.activity.runs_command) == (False, False)

    assert world.line(AgentStart(), TurnStart(1), UserCommandStart("ls", True)) == "Waiting for the model"
    assert world.line(UserCommandEnd("ls", True, "", 0, False, False, None, 1)) == "Waiting for the model"


def test_what_waits_is_shown(world: World) -> None:
    world.activity.observe([QueueUpdate(("now",), ("later",))])

    assert "steering: now" in world.seat.dock
    assert "afterwards: later" in world.seat.dock


def test_a_run_whose_session_cannot_be_written_is_over(world: World) -> None:
    transcript = TranscriptView(world.seat.main_view.document, world.seat.main_view.view)
    presenter = EventPresenter(
        world.seat.main_view, transcript, world.activity, Attention(world.seat.main_view, world.seat.terminal)
    )
    world.line(AgentStart())

    presenter.show_failure(OSError("something else"))
    assert world.line() == "Working"

    presenter.show_failure(SessionWriteError(Path("s.jsonl"), "the file was deleted"))
    assert not world.activity.is_busy
    assert world.line() == ""
