import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.components.input import Input
from kaa.tui.events import Paste
from kaa.tui.width import cells, plain
from tests.support.keyboard import keyboard_context, press, type_text
from tests.support.painted import assert_well_formed
from tests.support.strategies import foreign_text


def _input(text: str = "", label: str = "", *, placeholder: str = "", mask: str = "") -> Input:
    line = Input(keyboard_context(), label, placeholder=placeholder, mask=mask)
    line.set_text(text)
    return line


def _shown(line: Input, width: int) -> str:
    return plain(line.render(width)[0])


def test_shows_label_text_and_cursor() -> None:
    line = _input("text", "name: ")

    assert _shown(line, 20) == "name: text"
    assert line.cursor() == (0, 10)


def test_placeholder_is_shown_as_long_as_it_is_empty() -> None:
    line = _input(placeholder="reason")

    assert _shown(line, 20) == "reason"
    type_text(line, "x")
    assert _shown(line, 20) == "x"


def test_long_text_scrolls_with_the_caret() -> None:
    line = _input("0123456789abcdef")

    assert _shown(line, 8) == "9abcdef"
    press(line, "home")
    assert _shown(line, 8) == "01234567"
    assert line.cursor() == (0, 0)
    press(line, *["right"] * 9)
    assert _shown(line, 8)[line.cursor()[1]] == "9"


@given(foreign_text(), st.integers(1, 30), st.text("abc: ", max_size=10), st.data())
def test_the_caret_is_always_in_view(text: str, width: int, label: str, data: st.DataObject) -> None:
    line = _input(text, label)
    for _ in range(3):
        press(line, *data.draw(st.lists(st.sampled_from(("left", "right", "home", "end", "shift+left", "ctrl+left")))))

        lines = line.render(width)

        assert_well_formed(lines, width)
        assert 0 <= line.cursor()[1] < width


@given(foreign_text(max_size=10))
def test_text_that_fits_is_shown_whole(text: str) -> None:
    line = _input(text)

    assert _shown(line, 400) == line.text
    assert line.cursor() == (0, cells(line.text))


def test_a_secret_is_neither_shown_nor_copied() -> None:
    copied: list[str] = []
    line = _input("pass wörd", mask="*")
    line.on_copy = copied.append

    press(line, "alt+a", "ctrl+c")

    assert _shown(line, 20) == "*********"
    assert not copied


def test_line_feeds_become_blanks() -> None:
    line = _input()

    line.key(Paste("one\ntwo\tthree\x1b"))

    assert line.text == "one two three\\x1b"


def test_submits_and_cancels() -> None:
    line = _input("yes")
    told: list[str] = []
    line.on_submit = told.append
    line.on_cancel = lambda: told.append("cancelled")

    press(line, "enter", "escape")

    assert told == ["yes", "cancelled"]


@pytest.mark.parametrize("key", ["enter", "escape", "up", "f1"])
def test_keys_that_mean_nothing_are_left_to_others(key: str) -> None:
    assert press(_input("x"), key) is False


def test_changes_are_told() -> None:
    line = _input()
    told: list[str] = []
    line.on_change = lambda: told.append(line.text)

    type_text(line, "ab\x7f")
    press(line, "left")

    assert told == ["a", "ab", "a"]


def test_nothing_is_painted_again_as_long_as_nothing_changes() -> None:
    line = _input("text")

    assert line.render(10) is line.render(10)
