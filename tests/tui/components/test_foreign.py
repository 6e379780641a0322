from hypothesis import example, given
from hypothesis import strategies as st

from kaa.tui.components.markdown import ForeignText
from kaa.tui.sanitize import sanitize

_characters = st.sampled_from([*"ab\n\r\t\x1b7", "é", "漢", "\u200d", "\ufe0f", "\u202e", "\u200b", "👩", "\ud800"])


@given(st.lists(st.text(_characters, max_size=6)))
@example(["\r", "\n"])
@example(["a", "\u200d"])
@example(["👩\u200d", "\u200d👩"])
@example(["é" + "\u200d" * 10, "\u200d" * 10, "\u200d"])
def test_where_it_is_cut_makes_no_difference(pieces: list[str]) -> None:
    text = ForeignText()

    clean = "".join(map(text.add, pieces)) + text.finish()

    assert clean == sanitize("".join(pieces))


def test_nothing_visible_is_held_back() -> None:
    text = ForeignText()

    assert text.add("plain") == "plain"
    assert text.add("漢字") == "漢字"
