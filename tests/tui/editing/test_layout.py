from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.editing.layout import TextLayout
from kaa.tui.width import cells
from tests.support.strategies import foreign_text
from tests.support.tables import each

_LABELS = {chr(0xD800): "[paste #1 +12 lines]", chr(0xD801): "[paste #2 2000 chars]"}
_WIDTHS = st.integers(1, 40)


def _laid_out(text: str, width: int) -> TextLayout:
    layout = TextLayout(_LABELS.get, width)
    layout.update(text, width)
    return layout


def _rows(text: str, width: int) -> list[str]:
    layout = _laid_out(text, width)
    return [layout.shown(*layout.row(number)[:2]) for number in range(layout.row_count)]


@each(
    ("text", "rows"),
    [
        ("", [""]),
        ("short", ["short"]),
        ("exactly n", ["exactly n"]),
        ("exactly ten", ["exactly ", "ten"]),
        ("hangs spa ce", ["hangs spa ", "ce"]),
        ("abcdefghijklmnop", ["abcdefghi", "jklmnop"]),
        ("a\n\nb", ["a", "", "b"]),
        ("日本語日本語", ["日本語日", "本語"]),
        ("ab 日本語日", ["ab 日本語", "日"]),
        ("\tx", ["    x"]),
        ("see \ud800", ["see ", "[paste #1"]),
        ("see \ud800\u0301", ["see ", "[paste #1\u0301"]),
    ],
)
def test_rows_of_ten_cells(text: str, rows: list[str]) -> None:
    assert _rows(text, 10) == rows


def test_a_space_at_the_edge_leaves_a_row_for_the_caret() -> None:
    layout = _laid_out("123456789 ", 10)

    assert layout.row_count == 2
    assert layout.locate(10) == (1, 0)


@given(foreign_text(), _WIDTHS)
def test_joined_rows_give_the_text(text: str, width: int) -> None:
    layout = _laid_out(text, width)
    rows = [layout.row(number) for number in range(layout.row_count)]

    joined = "".join(text[start:end] + ("\n" if ends_line else "") for start, end, ends_line in rows)

    assert joined == text + "\n"
    assert all(later.start == row.end + row.ends_line for row, later in pairwise(rows))


@given(foreign_text(), st.integers(3, 40))
def test_no_row_is_wider_than_there_is_room(text: str, width: int) -> None:
    assert all(cells(row) <= width for row in _rows(text, width))


@given(foreign_text(), st.integers(3, 40), st.data())
def test_the_caret_has_a_cell_at_every_offset(text: str, width: int, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    layout = _laid_out(text, width)

    row, column = layout.locate(offset)

    assert 0 <= row < layout.row_count
    assert 0 <= column < width
    start, end, _ = layout.row(row)
    assert start <= offset <= end


@given(foreign_text(), st.integers(3, 40), st.data())
def test_what_is_at_a_place_is_found_there(text: str, width: int, data: st.DataObject) -> None:
    layout = _laid_out(text, width)
    row = data.draw(st.integers(0, layout.row_count - 1))
    column = data.draw(st.integers(0, width))

    found_row, found_column = layout.locate(layout.offset(row, column))

    assert found_row == row
    assert found_column <= column


@given(foreign_text(), foreign_text(), _WIDTHS)
def test_what_was_laid_out_before_makes_no_difference(before: str, text: str, width: int) -> None:
    layout = _laid_out(before, 17)
    layout.update(text, width)
    fresh = _laid_out(text, width)

    assert [layout.row(number) for number in range(layout.row_count)] == [
        fresh.row(number) for number in range(fresh.row_count)
    ]


@given(foreign_text(), st.integers(2, 40), st.data())
def test_a_long_line_that_was_edited_is_laid_out_as_if_it_were_new(piece: str, width: int, data: st.DataObject) -> None:
    line = f"日本語 and words, {piece}".replace("\n", " ") * 120
    layout = _laid_out(line, width)

    for _ in range(3):
        at = data.draw(st.integers(0, len(line)))
        until = data.draw(st.integers(at, min(len(line), at + 9)))
        line = line[:at] + data.draw(foreign_text(max_size=3)) + line[until:]
        layout.update(line, width)

    fresh = _laid_out(line, width)
    assert [layout.row(number) for number in range(layout.row_count)] == [
        fresh.row(number) for number in range(fresh.row_count)
    ]


def test_what_is_added_to_a_long_line_is_not_laid_out_with_all_of_it() -> None:
    asked: list[str] = []

    def label(character: str) -> None:
        asked.append(character)

    line = "日本語 " * 5000
    layout = TextLayout(label, 80)
    layout.update(line, 80)
    asked.clear()

    layout.update(line + "x", 80)

    assert len(asked) < 500


def test_only_lines_that_changed_are_laid_out_again() -> None:
    asked: list[str] = []

    def label(character: str) -> None:
        asked.append(character)

    layout = TextLayout(label, 20)
    # A tab has each character of its line looked at.
    layout.update("\n".join(f"\tline{number}" for number in range(1000)), 20)
    asked.clear()

    layout.update("\n".join(f"\tline{number}" for number in range(999)) + "\n\tnew", 20)

    assert "".join(asked) == "new"
