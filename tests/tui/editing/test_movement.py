import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.editing import movement
from kaa.tui.editing.movement import Movement
from tests.support.strategies import foreign_text
from tests.support.tables import each

_MARK = "|"


def _moved(marked: str, move: Movement) -> str:
    """Where the caret (`|`) is after a movement."""
    at = marked.index(_MARK)
    text = marked.replace(_MARK, "")
    to = move(text, at)
    return f"{text[:to]}{_MARK}{text[to:]}"


@each(
    "grapheme",
    ["a", "é", "e\u0301", "日", "👩\u200d💻", "🇩🇪", "👍🏽", "❤\ufe0f", "1\ufe0f\u20e3", "क्षि", "\ud800", "한", "ä"],
)
def test_a_grapheme_is_passed_at_once(grapheme: str) -> None:
    for before, after in (("", ""), ("x", "y"), ("\n", "\n"), ("日", "日"), ("\ud801", "\ud801")):
        assert _moved(f"{before}|{grapheme}{after}", movement.right) == f"{before}{grapheme}|{after}"
        assert _moved(f"{before}{grapheme}|{after}", movement.left) == f"{before}|{grapheme}{after}"


@given(foreign_text())
def test_going_right_and_going_left_stop_at_the_same_places(text: str) -> None:
    forwards, at = [0], 0
    while at < len(text):
        at = movement.right(text, at)
        forwards.append(at)
    backwards, at = [len(text)], len(text)
    while at > 0:
        at = movement.left(text, at)
        backwards.append(at)

    assert forwards == backwards[::-1]


@each(
    ("before", "after"),
    [
        ("foo bar|", "foo |bar"),
        ("foo |bar", "|foo bar"),
        ("foo.bar|", "foo.|bar"),
        ("foo.|bar", "foo|.bar"),
        ("foo()|", "foo|()"),
        ("snake_case9|", "|snake_case9"),
        ("Über größe|", "Über |größe"),
        ("e\u0301te\u0301|", "|e\u0301te\u0301"),
        ("नमस्ते दुनिया|", "नमस्ते |दुनिया"),
        ("ok 👩\u200d💻|", "ok |👩\u200d💻"),
        ("word   |", "|word   "),
        ("one\n|two", "one|\ntwo"),
        ("one\n   |two", "one\n|   two"),
        ("a\ud800|", "a|\ud800"),
        ("\ud800\ud801|", "\ud800|\ud801"),
        ("|x", "|x"),
    ],
)
def test_word_to_the_left(before: str, after: str) -> None:
    assert _moved(before, movement.word_left) == after


@each(
    ("before", "after"),
    [
        ("|foo bar", "foo| bar"),
        ("foo| bar", "foo bar|"),
        ("f|oo.bar", "foo|.bar"),
        ("foo|.bar", "foo.|bar"),
        ("|e\u0301te\u0301 x", "e\u0301te\u0301| x"),
        ("one|\ntwo", "one\n|two"),
        ("one|  \ntwo", "one  |\ntwo"),
        ("|\ud800b", "\ud800|b"),
        ("x|", "x|"),
    ],
)
def test_word_to_the_right(before: str, after: str) -> None:
    assert _moved(before, movement.word_right) == after


@given(foreign_text(), st.data())
def test_words_end_between_graphemes_and_every_step_gets_on(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))

    left, right = movement.word_left(text, at), movement.word_right(text, at)

    assert left < at or at == 0
    assert right > at or at == len(text)


@pytest.mark.parametrize(("at", "found"), [(0, 3), (3, 6), (6, None)])
def test_next_occurrence(at: int, found: int | None) -> None:
    assert movement.next_occurrence("abcxyzx", at, "x") == found


@pytest.mark.parametrize(("at", "found"), [(7, 6), (6, 3), (3, None)])
def test_previous_occurrence(at: int, found: int | None) -> None:
    assert movement.previous_occurrence("abcxyzx", at, "x") == found
