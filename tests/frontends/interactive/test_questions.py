"""When somebody is asked, and what counts as an answer."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.ext.questions import AllowOnce, Answer, Approval, Confirmation
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.questions import QuestionDialogs
from kaa.frontends.interactive.selectors.lists import ListDialogs
from kaa.frontends.interactive.shortcuts import Shortcuts
from kaa.tui.components.select_list import SelectItem
from kaa.tui.events import Key
from tests.frontends.interactive.offscreen import Seated, seated


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seated]:
    with seated(tmp_path) as seat:
        yield seat


def request(command: str = "make") -> Approval:
    return Approval(f"bash {command}", "1", "bash", "command", {"command": command})


def type_something(seat: Seated) -> None:
    seat.main_view.editor.insert("and th")
    seat.main_view.typed_at = time.monotonic()


def press(seat: Seated, letter: str) -> None:
    """Type a letter, wherever it goes."""
    Shortcuts(
        seat.main_view,
        {},
        command_actions=dict,
        on_focus=lambda _: None,
        on_told=lambda: None,
        on_image=lambda _: None,
        on_viewer_key=lambda _: None,
    ).take([Key(letter, letter)])


def run_until(seat: Seated, wanted: str) -> None:
    """Let the loop go on until the dock shows something."""

    def look() -> None:
        if wanted in seat.dock:
            seat.reactor.stop()
        else:
            seat.reactor.call_later(0.01, look)

    look()
    seat.reactor.run()


def test_an_answer_can_be_given_when_the_answers_are_there(seat: Seated) -> None:
    answers: list[Answer] = []
    QuestionDialogs(seat.main_view, Attention(seat.main_view, seat.terminal)).ask(request(), answers.append)
    asked_at_once = seat.dock
    dialog = seat.main_view.dock.dialog
    assert dialog is not None
    took_keys = dialog.takes_keys

    run_until(seat, "Yes, this time (y)")
    dialog.key(Key("y", "y"))

    assert "Allow bash?" in asked_at_once
    assert "(y)" not in asked_at_once
    assert not took_keys
    assert answers == [AllowOnce()]
    assert "Allow bash?" not in seat.dock


def test_nobody_is_asked_while_typing(seat: Seated) -> None:
    type_something(seat)

    QuestionDialogs(seat.main_view, Attention(seat.main_view, seat.terminal)).ask(request(), lambda _: None)

    assert seat.main_view.dock.dialog is None
    assert "kaa asks whether bash may run, when you stop typing" in seat.dock
    run_until(seat, "Allow bash?")
    assert "when you stop typing" not in seat.dock


def test_what_was_sent_is_not_typed_any_more(seat: Seated) -> None:
    type_something(seat)
    seat.main_view.editor.take()

    QuestionDialogs(seat.main_view, Attention(seat.main_view, seat.terminal)).ask(request(), lambda _: None)

    assert "Allow bash?" in seat.dock


def test_nobody_is_asked_while_typing_in_a_list(seat: Seated) -> None:
    models = [SelectItem("yes-1", "yes-1"), SelectItem("no-1", "no-1")]
    ListDialogs(seat.main_view).choose("Model", models, lambda _: None)
    press(seat, "y")

    QuestionDialogs(seat.main_view, Attention(seat.main_view, seat.terminal)).ask(request(), lambda _: None)

    assert "Model" in seat.dock
    assert "Allow bash?" not in seat.dock
    run_until(seat, "Allow bash?")


def test_typing_that_begins_with_the_question_does_not_answer_it(seat: Seated) -> None:
    answers: list[Answer] = []
    QuestionDialogs(seat.main_view, Attention(seat.main_view, seat.terminal)).ask(request(), answers.append)

    for number in range(8):  # a letter each tenth of a second, longer than it takes to read a question
        seat.reactor.call_later(number / 10, lambda: press(seat, "y"))
    run_until(seat, "Yes, this time (y)")

    assert answers == []
    assert seat.main_view.editor.text == "y" * 8


def test_a_question_that_was_taken_back_is_not_asked(seat: Seated) -> None:
    questions = QuestionDialogs(seat.main_view, Attention(seat.main_view, seat.terminal))
    taken_back, asked = request("one"), request("two")
    type_something(seat)

    questions.ask(taken_back, lambda _: None)
    questions.withdraw(taken_back)
    questions.ask(asked, lambda _: None)
    run_until(seat, "Allow bash?")

    assert "$ two" in seat.dock
    assert "$ one" not in seat.dock


def test_a_yes_that_is_no_longer_needed_is_not_asked_for(seat: Seated) -> None:
    questions = QuestionDialogs(seat.main_view, Attention(seat.main_view, seat.terminal))
    answers: list[Answer] = []
    asked = Confirmation("Go on with $1.00 more?", "$1.00 of the $1.00 are used")

    questions.ask(asked, answers.append)
    assert "Go on with $1.00 more?" in seat.dock
    questions.withdraw(Confirmation("Another question?"))
    assert "Go on with $1.00 more?" in seat.dock
    questions.withdraw(asked)

    assert "Go on" not in seat.dock
    assert answers == []


def test_the_working_line_says_what_is_waited_for(seat: Seated) -> None:
    questions = QuestionDialogs(seat.main_view, Attention(seat.main_view, seat.terminal))
    asked = request()
    seat.main_view.working.begin("Running bash")

    questions.ask(asked, lambda _: None)
    waiting = seat.dock
    questions.withdraw(asked)

    assert "Waiting for your answer" in waiting
    assert "Running bash" in seat.dock
