from hypothesis import given, settings
from hypothesis import strategies as st

from kaa.tui.components.code import Code, hard_wrap
from kaa.tui.width import grapheme_cells, graphemes
from tests.support.painted import assert_well_formed, make_context, visible


def test_long_lines_go_on_in_the_next_one() -> None:
    assert visible(Code(make_context(), "ab  cdef\n\tx\n").render(5)) == ["ab  c", "def", "    x"]


def test_the_language_is_that_of_files_of_this_name() -> None:
    context = make_context()

    assert Code(context, "return", filename="src/a.py").render(20) == ["\x1b[94mreturn\x1b[0m"]
    assert Code(context, "return").render(20) == ["return"]


@given(
    st.lists(st.tuples(st.text(st.characters(exclude_categories=["C", "Z"])), st.sampled_from(["", "1"]))),
    st.integers(1, 9),
)
@settings(deadline=None)
def test_wrapping_loses_nothing(spans: list[tuple[str, str]], width: int) -> None:
    lines = hard_wrap(spans, width)

    text = "".join(text for text, _ in spans)
    widest = max(map(grapheme_cells, graphemes(text)), default=0)
    assert "".join(text for line in lines for text, _ in line) == text or width < widest


@given(st.text(), st.integers(0, 40), st.sampled_from(["a.py", "a.js", "a.html", "a.yaml", "nothing"]))
@settings(deadline=None)
def test_any_text_keeps_to_the_width(text: str, width: int, filename: str) -> None:
    assert_well_formed(Code(make_context(), text, filename).render(width), max(1, width))
