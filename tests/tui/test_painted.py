from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.painted import crop, highlight, lay_over
from kaa.tui.style import paint_spans
from kaa.tui.width import cells, plain
from tests.support.screen import Screen
from tests.support.screen_grid import Cell
from tests.tui.test_width import TEXTS

LINES = st.lists(st.tuples(TEXTS, st.sampled_from(["", "1", "38;5;2", "44"])), max_size=5).map(paint_spans)


def shown(line: str, columns: int = 400) -> list[Cell]:
    screen = Screen(columns, 1)
    screen.feed(line)
    return screen.cells(0)


def test_a_crop_keeps_styles_and_links() -> None:
    line = "ab\x1b[1mcd\x1b]8;;https://example.org\x1b\\ef\x1b]8;;\x1b\\\x1b[0mgh"

    assert crop(line, 3, 5) == "\x1b[1md\x1b]8;;https://example.org\x1b\\e\x1b[0m\x1b]8;;\x1b\\"


def test_halves_of_wide_characters_are_spaces() -> None:
    assert crop("漢字漢", 1, 5) == " 字 "


def test_beyond_the_end_there_are_spaces() -> None:
    assert crop("ab", 1, 4) == "b  "
    assert crop("ab", 5, 7) == "  "
    assert crop("ab", 3, 3) == ""


def test_nothing_is_left_of_a_picture() -> None:
    assert crop("\x1b_Ga=T,i=1,r=2;AAAA\x1b\\", 0, 3) == "   "


@given(LINES, st.integers(0, 40), st.integers(0, 40))
def test_a_crop_has_exactly_its_cells(line: str, start: int, length: int) -> None:
    cropped = crop(line, start, start + length)

    assert cells(plain(cropped)) == length
    assert shown(f"{cropped}|")[length] == shown("|")[0]  # no style goes on


@given(LINES, LINES, st.integers(0, 20), st.integers(1, 20))
def test_what_lies_over_a_row_changes_nothing_beside_it(row: str, line: str, left: int, width: int) -> None:
    columns = 60
    row, before = crop(row, 0, columns), shown(crop(row, 0, columns), columns)

    after = shown(lay_over(row, line, left, width, columns), columns)

    # A wide character that was cut in half is gone from both sides.
    for column in (*range(left - 1), *range(left + width + 1, columns)):
        assert after[column] == before[column]
    assert after[left : left + width] == shown(crop(line, 0, width), width)


@given(LINES, st.integers(0, 20), st.integers(0, 20))
def test_highlighting_marks_its_columns_and_no_others(line: str, start: int, length: int) -> None:
    width = cells(plain(line))
    start, stop = min(start, width), min(start + length, width)

    marked, unmarked = (shown(one, width + 2) for one in (highlight(line, start, stop, "7"), line))

    assert [column for column, cell in enumerate(marked) if cell.style.inverse] == [*range(start, stop)]
    # A wide character at an edge gives way to spaces.
    assert marked[: max(0, start - 1)] == unmarked[: max(0, start - 1)]
    assert marked[stop + 1 :] == unmarked[stop + 1 :]
