from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.components.list_position import MOVES, ListPosition


def moved(count: int, index: int, action: str, page: int = 5) -> int:
    position = ListPosition(count)
    position.go(index)
    position.move(action, page)
    return position.index


def test_single_steps_go_round() -> None:
    assert [moved(3, 0, "tui.select.up"), moved(3, 2, "tui.select.down"), moved(3, 0, "tui.select.down")] == [2, 0, 1]


def test_pages_stop_at_the_ends_and_keep_an_entry_in_view() -> None:
    assert [moved(20, 3, "tui.select.pageUp"), moved(20, 17, "tui.select.pageDown")] == [0, 19]
    assert moved(20, 5, "tui.select.pageDown") == 9


def test_keys_go_to_both_ends() -> None:
    assert [moved(20, 5, "tui.select.first"), moved(20, 5, "tui.select.last")] == [0, 19]


def test_an_empty_list_has_nowhere_to_go() -> None:
    assert [moved(0, 0, action) for action in MOVES] == [0] * len(MOVES)


def test_the_view_follows_only_as_far_as_it_must() -> None:
    position = ListPosition(10)
    views = []
    for index in (0, 3, 4, 9, 7, 6, 2):
        position.go(index)
        views.append(position.in_view(4))

    assert [view.start for view in views] == [0, 0, 1, 6, 6, 6, 2]
    assert {len(view) for view in views} == {4}


@given(
    st.integers(0, 30),
    st.lists(st.tuples(st.sampled_from(MOVES) | st.integers(-5, 40), st.integers(-1, 12), st.integers(0, 30))),
)
def test_the_selected_entry_is_always_in_view(count: int, steps: list[tuple[str | int, int, int]]) -> None:
    position = ListPosition(count)
    for step, rows, new_count in steps:
        if isinstance(step, str):
            position.move(step, rows)
        else:
            position.count = new_count
            position.go(step)
        view = position.in_view(rows)

        assert len(view) == min(max(1, rows), position.count)
        assert position.index in view or position.count == 0
        assert 0 <= view.start <= view.stop <= position.count
