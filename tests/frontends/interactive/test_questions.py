"""When somebody is asked, and what counts as an answer."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.ext.questions import AllowOnce, Answer, Approval, Choice, Chosen, Confirmation, Deny, Trust, TrustDecision
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.questions import QuestionDialogs
from kaa.frontends.interactive.selectors.lists import ListDialogs
from kaa.frontends.interactive.shortcuts import Shortcuts
from kaa.tui.components.select_list import SelectItem
from kaa.tui.events import Event, Key, Paste
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


def press(seat: Seated, *keys: str) -> None:
    """Press keys, wherever they go."""
    take(seat, *(Key(key, key if len(key) == 1 else "") for key in keys))


def take(seat: Seated, *events: Event) -> None:
    Shortcuts(
        seat.main_view,
        {},
        command_actions=dict,
        on_focus=lambda _: None,
        on_told=lambda: None,
        on_image=lambda _: None,
        on_viewer_key=lambda _: None,
    ).take(events)


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


def asked(seat: Seated, question: Approval | Trust | Choice) -> list[Answer]:
    """Ask, and wait until the question can be answered. Returns the answers to come."""
    answers: list[Answer] = []
    QuestionDialogs(seat.main_view, Attention(seat.main_view, seat.terminal)).ask(question, answers.append)
    run_until(seat, "Enter chooses" if isinstance(question, Choice) else "(n)")
    return answers


def run_until_answered(seat: Seated, answers: list[Answer]) -> None:
    """Let the loop go on until there is an answer."""

    def look() -> None:
        if answers:
            seat.reactor.stop()
        else:
            seat.reactor.call_later(0.01, look)

    look()
    seat.reactor.run()


def test_a_letter_that_stands_alone_answers(seat: Seated) -> None:
    answers = asked(seat, Trust("Trust it?", "/project", ("AGENTS.md",)))

    press(seat, "o")
    run_until_answered(seat, answers)

    assert answers == [TrustDecision("yes")]
    assert seat.main_view.editor.is_empty


def test_a_letter_and_enter_answer_at_once(seat: Seated) -> None:
    answers = asked(seat, request())

    press(seat, "y", "enter")

    assert answers == [AllowOnce()]


def test_a_number_selects_an_answer_and_enter_gives_it(seat: Seated) -> None:
    answers = asked(seat, Trust("Trust it?", "/project", ("AGENTS.md",)))

    press(seat, "4", "enter")

    assert answers == [TrustDecision("stored")]
    assert seat.main_view.editor.is_empty


def test_a_number_that_stands_alone_only_selects(seat: Seated) -> None:
    answers = asked(seat, Trust("Trust it?", "/project", ("AGENTS.md",)))
    pointer = seat.main_view.context.glyphs.pointer
    before = next(line for line in seat.dock.splitlines() if pointer in line)

    press(seat, "2")
    while next(line for line in seat.dock.splitlines() if pointer in line) == before:
        seat.reactor.call_later(0.01, seat.reactor.stop)
        seat.reactor.run()

    assert answers == []
    assert seat.main_view.editor.is_empty


def test_a_number_without_an_answer_is_text(seat: Seated) -> None:
    answers = asked(seat, Trust("Trust it?", "/project", ("AGENTS.md",)))

    press(seat, "9")

    assert seat.main_view.editor.text == "9"
    assert answers == []


@pytest.mark.parametrize("text", ["/export o", "only this", "yes, do it", "nod"])
def test_the_letters_of_a_message_do_not_answer(seat: Seated, text: str) -> None:
    answers = asked(seat, Trust("Trust it?", "/project", ("AGENTS.md",)))

    press(seat, *text)

    assert seat.main_view.editor.text == text
    assert "keys continue your message, Down selects an answer" in seat.dock
    press(seat, "enter")
    assert answers == []


@pytest.mark.parametrize("text", ["n", "no, the other one"])
def test_a_message_does_not_choose_from_a_list(seat: Seated, text: str) -> None:
    answers = asked(seat, Choice("Which one?", ("first", "another")))

    press(seat, *text, "enter")
    assert answers == []

    press(seat, "down", "enter")
    assert answers == [Chosen("another")]


def test_after_an_arrow_what_is_typed_searches_a_list(seat: Seated) -> None:
    answers = asked(seat, Choice("Which one?", ("first", "another", "third", "a", "b", "c")))

    press(seat, "down", *"thi", "enter")

    assert answers == [Chosen("third")]
    assert seat.main_view.editor.is_empty


def test_a_paste_does_not_answer(seat: Seated) -> None:
    answers = asked(seat, request())

    take(seat, Paste("y"), Paste("y"))

    assert answers == []
    assert seat.main_view.editor.text == "yy"


def test_a_letter_before_a_paste_is_text(seat: Seated) -> None:
    answers = asked(seat, request())

    take(seat, Key("y", "y"), Paste("es"))

    assert answers == []
    assert seat.main_view.editor.text == "yes"


def test_a_question_does_not_take_the_keys_of_a_message_that_was_begun_before(seat: Seated) -> None:
    seat.main_view.editor.insert("and th")
    answers = asked(seat, request())

    press(seat, "e", "y", "backspace", "n")

    assert answers == []
    assert seat.main_view.editor.text == "and then"
    assert "keys continue your message" in seat.dock


@pytest.mark.parametrize(("keys", "answer"), [(("down", "up", "enter"), AllowOnce()), (("down", "y"), AllowOnce())])
def test_after_an_arrow_the_question_takes_all_keys(seat: Seated, keys: tuple[str, ...], answer: Answer) -> None:
    seat.main_view.editor.insert("and th")
    answers = asked(seat, request())

    press(seat, *keys)

    assert answers == [answer]
    assert seat.main_view.editor.text == "and th"


def test_esc_says_no_also_while_a_message_is_written(seat: Seated) -> None:
    seat.main_view.editor.insert("and th")
    answers = asked(seat, request())

    press(seat, "escape")

    assert answers == [Deny()]
