import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.overlay import Overlay, Placement, compose
from kaa.tui.width import cells, plain
from tests.tui.blocks import Dock

ROWS = ["." * 20] * 6


class Box(Dock):
    def render(self, width: int) -> list[str]:
        return [line[:width] for line in self.lines]


def composed(placement: Placement, *lines: str, cursor: tuple[int, int] | None = None) -> list[str]:
    rows, _ = compose(ROWS, Overlay(Box(*lines, cursor=cursor), placement), 20)
    return rows


@pytest.mark.parametrize(
    ("row", "column", "at"),
    [
        ("center", "center", (2, 8)),
        ("top", "left", (1, 1)),
        ("bottom", "right", (3, 15)),
        (0.0, 1.0, (1, 15)),
        (3, 4, (3, 4)),
        (100, 100, (3, 15)),
    ],
)
def test_a_box_goes_where_it_is_told(row: float | str, column: float | str, at: tuple[int, int]) -> None:
    rows = composed(Placement(row, column, width=4), "abcd", "efgh")  # type: ignore[arg-type] # str of a parametrization

    assert rows[at[0]][at[1] : at[1] + 4] == "abcd"
    assert rows[at[0] + 1][at[1] : at[1] + 4] == "efgh"
    assert [line for number, line in enumerate(rows) if number not in (at[0], at[0] + 1)] == ["." * 20] * 4


def test_a_box_leaves_its_margin_free() -> None:
    rows = composed(Placement(width=1.0, max_height=1.0, margin=2), *["x" * 20] * 9)

    assert rows == ["." * 20] * 2 + ["..xxxxxxxxxxxxxxxx.."] * 2 + ["." * 20] * 2


def test_the_cursor_is_where_the_box_has_it() -> None:
    _, cursor = compose(ROWS, Overlay(Box("abcd", "efgh", cursor=(1, 2)), Placement(width=4)), 20)

    assert cursor == (3, 10)


def test_a_box_higher_than_the_screen_shows_the_rows_around_its_cursor() -> None:
    lines = [f"{number:4}" for number in range(20)]

    rows = composed(Placement(width=4, max_height=4), *lines, cursor=(10, 0))

    assert [row[8:12] for row in rows[1:5]] == ["   8", "   9", "  10", "  11"]


@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 9), st.floats(0, 1), st.floats(0, 1), st.integers(0, 9))
def test_boxes_stay_on_the_screen(
    columns: int, height: int, lines: int, row: float, column: float, margin: int
) -> None:
    placement = Placement(row, column, 0.7, 0.7, margin)

    rows, _ = compose(["漢" * (columns // 2)] * height, Overlay(Box(*["box"] * lines, cursor=None), placement), columns)

    assert len(rows) == height
    assert all(cells(plain(line)) <= columns for line in rows)
