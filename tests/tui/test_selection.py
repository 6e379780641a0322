from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.document import Document
from kaa.tui.layout import wrap
from kaa.tui.selection import Point, ScreenSelection, word_at
from kaa.tui.viewport import Position, Viewport
from tests.tui.blocks import Dock, LinesBlock


def selected(blocks: list[list[str]], start: tuple[int, int, int], end: tuple[int, int, int], width: int = 20) -> str:
    document = Document(Dock("> "))
    document.blocks.extend(LinesBlock(lines) for lines in blocks)
    selection = ScreenSelection(Point(Position(*start[:2]), start[2]))
    selection.head = Point(Position(*end[:2]), end[2])
    return selection.text(Viewport(document), width)


def all_of(*lines: str, width: int = 20) -> str:
    return selected([list(lines)], (0, 0, 0), (0, len(lines) - 1, 999), width)


def test_both_ends_belong_to_it_whichever_came_first() -> None:
    assert selected([["abcdef"]], (0, 0, 1), (0, 0, 3)) == "bcd"
    assert selected([["abcdef"]], (0, 0, 3), (0, 0, 1)) == "bcd"


def test_it_goes_over_lines_and_blocks() -> None:
    assert selected([["ab", "cd"], ["ef"], ["gh"]], (0, 1, 1), (2, 0, 0)) == "d\nef\ng"


def test_what_is_below_its_end_in_the_same_block_does_not_belong_to_it() -> None:
    assert selected([["ab", "cd", "ef"]], (0, 0, 1), (0, 1, 0)) == "b\nc"


def test_text_without_blanks_is_joined_without_blanks() -> None:
    assert all_of("漢字漢字漢", "字漢字", width=11) == "漢字漢字漢字漢字"
    assert all_of("漢字漢字", "字漢字", width=11) == "漢字漢字\n字漢字"


def test_lines_that_were_wrapped_within_a_margin_are_joined() -> None:
    assert all_of("  the quick brown", "  fox jumps", width=20) == "the quick brown fox jumps"


def test_wide_characters_are_whole() -> None:
    assert selected([["漢字漢字"]], (0, 0, 2), (0, 0, 4)) == "字漢"


def test_lines_that_were_wrapped_are_joined() -> None:
    assert all_of("the quick brown fox", "jumps over the lazy", "dog") == "the quick brown fox jumps over the lazy dog"


def test_lines_that_had_room_for_the_next_word_are_not() -> None:
    assert all_of("the quick brown", "fox jumps") == "the quick brown\nfox jumps"


def test_code_lists_and_blank_lines_stay_lines() -> None:
    lines = ["if some_condition():", "    return something", "", "- the first of these", "- second"]

    assert all_of(*lines) == "\n".join(lines)


def test_a_word_that_was_torn_is_whole_again() -> None:
    assert all_of("https://example.org/", "a/path") == "https://example.org/a/path"


def test_the_margin_and_what_fills_lines_are_left_out() -> None:
    assert all_of("\x1b[44m  one   \x1b[0m", "\x1b[44m    two \x1b[0m") == "one\n  two"


def test_words_paths_and_addresses_are_words() -> None:
    assert word_at("see \x1b[1msrc/a.py:12\x1b[0m, please", 6) == (4, 14)
    assert word_at("漢字 word", 6) == (5, 8)
    assert word_at("Look at src/a.py.", 10) == (8, 15)
    assert word_at("a, b", 1) == (1, 1)


@given(st.lists(st.text("abcdefg", min_size=1, max_size=9), min_size=1, max_size=30), st.integers(10, 30))
def test_wrapped_prose_comes_back_as_it_was(words: list[str], width: int) -> None:
    text = " ".join(words)

    lines = wrap([(text, "")], width)

    # A line that is full and one word may have been one with the next: there is no telling.
    if not [line for line in lines if len(line) == width and " " not in line]:
        assert all_of(*lines, width=width) == text
