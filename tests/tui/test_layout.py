import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.layout import pad, wrap, wrap_spans
from kaa.tui.style import Span
from kaa.tui.width import cells, plain
from tests.tui.test_width import FLAG, TEXTS, WOMAN_TECHNOLOGIST

SPANS = st.lists(st.tuples(TEXTS | st.just("\n"), st.sampled_from(["", "1", "38;5;2"])), max_size=6)


def lines_of(text: str, width: int) -> list[str]:
    return wrap([(text, "")], width)


def test_lines_break_at_spaces_which_vanish() -> None:
    assert lines_of("the quick  brown fox", 9) == ["the quick", "brown fox"]
    assert lines_of("the quick  brown fox", 10) == ["the quick", "brown fox"]
    assert lines_of("ends here   ", 5) == ["ends", "here"]


def test_spaces_within_a_line_and_before_it_stay() -> None:
    assert lines_of("  a  b c", 6) == ["  a  b", "c"]
    assert lines_of("x\n    indented\n", 20) == ["x", "    indented", ""]


def test_indentation_gives_way_to_a_word_that_fits_without_it() -> None:
    assert lines_of("      word more", 6) == ["  word", "more"]
    assert lines_of("   漢 x", 4) == ["  漢", "x"]


def test_long_words_begin_a_line_and_go_on() -> None:
    assert lines_of("see abcdefghij k", 4) == ["see", "abcd", "efgh", "ij k"]


def test_ideographs_break_anywhere_but_not_before_a_full_stop() -> None:
    assert lines_of("漢字漢字", 5) == ["漢字", "漢字"]
    assert lines_of("漢字漢字。", 8) == ["漢字漢", "字。"]
    assert lines_of("漢字「字」", 6) == ["漢字", "「字」"]


def test_sequences_are_not_torn() -> None:
    assert lines_of(WOMAN_TECHNOLOGIST + FLAG, 3) == [WOMAN_TECHNOLOGIST, FLAG]


def test_words_may_change_style_in_their_middle() -> None:
    assert wrap([("one t", ""), ("wo", "1"), (" three", "")], 4) == ["one", "t\x1b[1mwo\x1b[0m", "thre", "e"]


def test_prefixes_take_room_from_the_text() -> None:
    assert wrap([("aa bb cc\ndd", "")], 5, [("- ", "")], [("  ", "")]) == ["- aa", "  bb", "  cc", "  dd"]
    assert wrap([("aa bb", "")], 4, [("| ", "2")]) == ["\x1b[2m| \x1b[0maa", "\x1b[2m| \x1b[0mbb"]


def test_further_lines_have_the_room_that_their_prefix_leaves() -> None:
    assert wrap([("aa\nbb bb bb", "")], 10, [("----- ", "")], [("- ", "")]) == ["----- aa", "- bb bb bb"]


def test_pictures_belong_to_the_word_they_stand_in() -> None:
    assert lines_of("go \U0001f44d\U0001f44d\U0001f44d", 7) == ["go", "\U0001f44d\U0001f44d\U0001f44d"]


def test_a_prefix_wider_than_the_line_leaves_room_for_the_text() -> None:
    assert wrap([("ab", "")], 3, [("=====", "")]) == ["==a", "==b"]


@pytest.mark.parametrize("width", [1, 0, -3])
def test_a_grapheme_wider_than_the_line_is_replaced(width: int) -> None:
    assert lines_of("a漢" + FLAG, width) == ["a", "?", "?"]


def test_nothing_is_one_empty_line() -> None:
    assert wrap([], 10) == [""]
    assert lines_of("", 10) == [""]


def test_styles_are_passed_on_as_they_are() -> None:
    class Link(str):
        __slots__ = ()

    link = Link("4")

    assert all(style is link for line in wrap_spans([("a link", link)], 3) for _, style in line)


@given(SPANS, st.integers(2, 40))
def test_no_line_is_too_long_and_nothing_but_spaces_is_lost(spans: list[Span], width: int) -> None:
    lines = [plain(line) for line in wrap(spans, width)]

    assert all(cells(line) <= width for line in lines)
    assert not [line for line in lines if line.endswith(" ")]
    text = "".join(text for text, _ in spans)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "").replace("\n", "")


@given(SPANS, st.integers(2, 40))
def test_styles_stay_with_their_characters(spans: list[Span], width: int) -> None:
    def styled(pieces: list[Span]) -> list[Span]:
        return [(char, style) for text, style in pieces for char in text if char not in " \n"]

    assert styled([span for line in wrap_spans(spans, width) for span in line]) == styled(spans)


@given(st.text("ab c-", max_size=60), st.integers(1, 12))
def test_narrow_and_wide_text_wrap_alike(text: str, width: int) -> None:
    with_mark = text.replace("b", "b\u0301")

    assert [line.replace("\u0301", "") for line in lines_of(with_mark, width)] == lines_of(text, width)


def test_a_megabyte_in_one_line_wraps() -> None:
    assert len(lines_of("x" * 1_000_000, 80)) == 12_500
    assert len(lines_of("word " * 200_000, 80)) == 12_500


def test_padding_keeps_its_background_behind_spans() -> None:
    assert pad("a\x1b[1mb\x1b[0mc", 5, "44") == "\x1b[44ma\x1b[1mb\x1b[0m\x1b[44mc  \x1b[0m"
    assert pad("漢", 4, "") == "漢  "
