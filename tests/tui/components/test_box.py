from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.component import Component
from kaa.tui.components.box import Box
from kaa.tui.components.text import Text
from kaa.tui.events import Input, Key
from tests.support.painted import assert_well_formed, make_context, visible


class Caret:
    """A child that takes keys and has a cursor."""

    def render(self, width: int) -> list[str]:
        return ["12345"[:width]]

    def key(self, key: Input) -> bool:
        return key == Key("x")

    def cursor(self) -> tuple[int, int]:
        return 0, 2


def test_border_with_title() -> None:
    context = make_context()

    lines = Box(context, Text(context, "hello"), "Title", "border").render(16)

    assert visible(lines) == ["╭─ Title ──────╮", "│ hello        │", "╰──────────────╯"]


def test_border_in_ascii() -> None:
    context = make_context(ascii_only=True)

    lines = Box(context, Text(context, "hello"), border_token="border").render(9)

    assert visible(lines) == ["+-------+", "| hello |", "+-------+"]


def test_long_title_is_cut() -> None:
    context = make_context()

    assert visible(Box(context, Text(context, "x"), "A long title", "border").render(13))[0] == "╭─ A long… ─╮"


def test_background_fills_every_line() -> None:
    context = make_context()

    lines = Box(context, Text(context, "hi"), background_token="userMessageBg", vertical_padding=1).render(6)

    assert [line.count("\x1b[48;5;236m") >= 1 for line in lines] == [True] * 3
    assert lines[1] == "\x1b[48;5;236m hi   \x1b[0m"


def test_title_without_border_is_a_line() -> None:
    context = make_context()

    assert visible(Box(context, Text(context, "hi"), "Title").render(10)) == [" Title", " hi"]


def test_keys_and_cursor_are_the_childs() -> None:
    context = make_context()
    child: Component = Caret()
    box = Box(context, child, border_token="border", vertical_padding=1)
    box.render(20)

    assert box.cursor() == (2, 4)
    assert box.key(Key("x"))
    assert not box.key(Key("y"))


def test_same_lines_object_until_the_child_changes() -> None:
    context = make_context()
    child = Text(context, "one")
    box = Box(context, child, "t", "border")

    first = box.render(20)
    assert box.render(20) is first
    child.set_text("two")
    assert visible(box.render(20))[1] == "│ two              │"


@given(st.text(), st.text(max_size=20), st.integers(0, 20), st.booleans(), st.integers(0, 4))
def test_any_text_keeps_to_the_width(text: str, title: str, width: int, bordered: bool, padding: int) -> None:
    context = make_context()
    box = Box(context, Text(context, text), title, "border" if bordered else None, "userMessageBg", padding)

    assert_well_formed(box.render(width), max(1, width))
