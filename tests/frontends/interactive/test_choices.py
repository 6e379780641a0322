"""Answers to a question by letters and by words, and what is none of them."""

import pytest

from kaa.frontends.interactive.dialogs.choices import DialogChoice, DialogChoices
from kaa.frontends.interactive.dialogs.frame import DialogFrame
from kaa.tui.events import Key, Paste
from tests.support.painted import make_context
from tests.support.tables import each


def _choices(taken: list[str]) -> DialogChoices:
    return DialogChoices(
        make_context(),
        [
            DialogChoice("y", "Yes, this time", lambda: taken.append("yes")),
            DialogChoice("s", "Yes, for this session", lambda: taken.append("session")),
            DialogChoice("n", "No, and tell why", lambda: taken.append("no")),
        ],
        on_cancel=lambda: taken.append("cancelled"),
    )


@pytest.mark.parametrize(
    ("words", "answer"), [("y", "yes"), ("S", "session"), ("n ", "no"), ("yes", "yes"), ("No", "no")]
)
def test_a_line_names_an_answer_by_its_letter_or_its_first_word(words: str, answer: str) -> None:
    taken: list[str] = []

    assert _choices(taken).take(words)

    assert taken == [answer]


@each("words", ["", " ", "q", "nope", "yess", "/help", "rm it", ","])
def test_a_line_that_names_no_answer_gives_none(words: str) -> None:
    taken: list[str] = []

    assert not _choices(taken).take(words)

    assert taken == []


def test_keys_that_mean_nothing_choose_nothing() -> None:
    taken: list[str] = []
    choices = _choices(taken)

    for key in (Key("q", "q"), Paste("y\n"), Key("y", "y", action="release")):
        choices.key(key)

    assert taken == []


def test_what_is_written_down_leaves_what_is_painted_as_it_is() -> None:
    frame = DialogFrame(make_context(), "A question", lambda width: ["x" * width], _choices([]))
    painted = frame.render(60)

    frame.written(60)

    assert frame.render(60) is painted
