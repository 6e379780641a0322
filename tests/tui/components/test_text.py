import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.components.text import Text, Truncated
from kaa.tui.palette import Theme
from tests.support.painted import assert_well_formed, make_context, visible


def test_wraps_at_words() -> None:
    assert visible(Text(make_context(), "one two three").render(8)) == ["one two", "three"]


def test_paints_in_its_token() -> None:
    assert Text(make_context(), "hi", "accent").render(10) == ["\x1b[36mhi\x1b[0m"]


def test_nothing_shows_nothing() -> None:
    assert Text(make_context(), "").render(10) == []


def test_foreign_sequences_are_shown_not_obeyed() -> None:
    assert visible(Text(make_context(), "a\x1b[31mb\tc").render(40)) == ["a\\x1b[31mb  c"]


def test_same_lines_object_until_something_changes() -> None:
    context = make_context()
    text = Text(context, "one")

    first = text.render(10)
    assert text.render(10) is first
    text.set_text("one")
    assert text.render(10) is first
    text.set_text("two")
    assert visible(text.render(10)) == ["two"]
    context.palette.change(Theme("other", {}))
    assert text.render(10) is not first


@pytest.mark.parametrize(("width", "line"), [(20, "a long sentence"), (10, "a long se…"), (7, "a long…"), (1, "…")])
def test_truncated_says_that_something_is_missing(width: int, line: str) -> None:
    assert visible(Truncated(make_context(), "a long\nsentence").render(width)) == [line]


@given(st.text(), st.integers(-1, 30))
def test_any_text_keeps_to_the_width(text: str, width: int) -> None:
    context = make_context()

    assert_well_formed(Text(context, text, "accent").render(width), max(1, width))
    assert_well_formed(Truncated(context, text, "accent").render(width), max(1, width))
