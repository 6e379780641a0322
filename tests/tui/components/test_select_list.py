from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.components.select_list import SelectItem, SelectList
from kaa.tui.context import Context
from kaa.tui.events import Key
from kaa.tui.fuzzy import rank
from kaa.tui.palette import Theme
from tests.support.keyboard import keyboard_context, keys
from tests.support.painted import assert_well_formed, visible

FRUITS = [
    SelectItem("a", "Apple", "Grows on trees, keeps all winter, and falls not far from the stem"),
    SelectItem("b", "Banana", "Bent", is_current=True),
    SelectItem("c", "Cherry", is_disabled=True),
    SelectItem("d", "Date"),
]


class Chosen:
    """A list and what was done with it."""

    def __init__(
        self,
        items: Sequence[SelectItem[str]] = FRUITS,
        *,
        context: Context | None = None,
        searched: bool = False,
        max_rows: int = 10,
    ) -> None:
        self.selected: list[str] = []
        self.highlighted: list[str] = []
        self.cancelled = 0
        self.list = SelectList(
            context or keyboard_context(rows=40),
            items,
            on_select=lambda item: self.selected.append(item.value),
            on_cancel=self._cancel,
            on_highlight=lambda item: self.highlighted.append(item.value),
            rank=rank if searched else None,
            max_rows=max_rows,
        )

    def _cancel(self) -> None:
        self.cancelled += 1

    def press(self, *ids: str) -> list[bool]:
        return [self.list.key(key) for key in keys(*ids)]


def test_rows_with_marks_and_descriptions() -> None:
    lines = Chosen().list.render(80)

    assert visible(lines) == [
        "  Apple     Grows on trees, keeps all winter, and falls not far from the stem",
        "› Banana ✓  Bent",
        "  Cherry",
        "  Date",
    ]


def test_terminals_without_unicode_get_plain_signs() -> None:
    lines = Chosen(context=keyboard_context(rows=40, ascii_only=True)).list.render(40)

    assert visible(lines) == ["  Apple      Grows on trees, keeps al...", "> Banana ok  Bent", "  Cherry", "  Date"]


def test_narrow_terminals_describe_the_selected_entry_below() -> None:
    chosen = Chosen()
    chosen.press("up")

    assert visible(chosen.list.render(24)) == [
        "› Apple",
        "  Banana ✓",
        "  Cherry",
        "  Date",
        "  Grows on trees, keeps",
        "  all winter, and falls",
        "  not far from the stem",
    ]


def test_the_current_entry_is_selected_at_first() -> None:
    chosen = Chosen()

    chosen.press("enter")

    assert chosen.selected == ["b"]


def test_moving_tells_what_is_highlighted() -> None:
    chosen = Chosen()

    chosen.press("up", "up", "down", "end", "home")

    assert chosen.highlighted == ["a", "d", "a", "d", "a"]


def test_disabled_entries_cannot_be_chosen() -> None:
    chosen = Chosen()

    chosen.press("down", "enter")

    assert chosen.selected == []
    assert chosen.list.selected == FRUITS[2]


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
def test_the_keys_that_cancel_choose_nothing(key: str) -> None:
    chosen = Chosen()

    assert chosen.press(key) == [True]
    assert chosen.cancelled == 1


def test_keys_of_others_are_left_to_them() -> None:
    assert Chosen().press("x", "f5") == [False, False]
    assert Chosen(searched=True).press("f5") == [False]


def test_typing_searches_and_enter_takes_the_best() -> None:
    chosen = Chosen(searched=True)

    chosen.press("a", "t", "e", "enter")

    assert visible(chosen.list.render(40))[:2] == ["Search: ate", "› Date"]
    assert chosen.selected == ["d"]
    assert chosen.highlighted[-1] == "d"


def test_what_is_called_so_comes_before_what_is_said_to_do_so() -> None:
    commands = [SelectItem("r", "/redo", "As before /undo"), SelectItem("u", "/undo", "Restore the files of a turn")]

    chosen = Chosen(commands, searched=True)
    chosen.press("u", "n", "d", "o", "enter")

    assert chosen.selected == ["u"]


def test_moving_in_the_query_leaves_the_selection() -> None:
    chosen = Chosen(searched=True)
    chosen.press("a", "down")
    before = chosen.list.selected

    chosen.press("left")

    assert chosen.list.selected == before


def test_nothing_found_is_said() -> None:
    chosen = Chosen(searched=True)

    chosen.press("z", "z", "enter", "down")

    assert visible(chosen.list.render(40)) == ["Search: zz", "Nothing found"]
    assert chosen.selected == []
    assert chosen.list.selected is None


def test_long_lists_tell_the_position() -> None:
    items = [SelectItem(str(number), f"Entry {number}") for number in range(120)]
    chosen = Chosen(items, max_rows=5)

    chosen.press("pagedown", "down")

    assert visible(chosen.list.render(30)) == [
        "  Entry 1",
        "  Entry 2",
        "  Entry 3",
        "  Entry 4",
        "› Entry 5",
        "  (6/120)",
    ]


def test_low_screens_show_fewer_rows() -> None:
    context = keyboard_context(rows=6)
    chosen = Chosen([SelectItem(str(number), str(number)) for number in range(50)], context=context)

    assert len(chosen.list.render(30)) == 4
    context.size.rows = 12
    assert len(chosen.list.render(30)) == 7


def test_other_entries_keep_the_selection_by_value() -> None:
    chosen = Chosen()
    chosen.press("end")

    chosen.list.set_items([FRUITS[3], FRUITS[0]])
    assert chosen.list.selected == FRUITS[3]

    chosen.list.set_items(FRUITS[:2])
    assert chosen.list.selected == FRUITS[0]


def test_a_list_may_become_empty() -> None:
    chosen = Chosen()

    chosen.list.set_items([])

    assert chosen.list.selected is None
    assert chosen.press("down", "enter", "up", "pageup") == [True] * 4


def test_the_same_lines_until_something_changes() -> None:
    context = keyboard_context(rows=40)
    chosen = Chosen(context=context, searched=True)
    first = chosen.list.render(40)

    assert chosen.list.render(40) is first
    context.palette.change(Theme("other", {"accent": "35"}))
    second = chosen.list.render(40)
    assert second is not first
    chosen.press("x")
    assert chosen.list.render(40) is not second


def test_the_cursor_is_at_the_selected_entry_or_in_the_search_field() -> None:
    plain, searched = Chosen(), Chosen(searched=True)
    for chosen in (plain, searched):
        chosen.list.render(40)

    assert plain.list.cursor() == (1, 0)
    assert searched.list.cursor() == (0, 8)


def test_what_comes_from_elsewhere_cannot_harm() -> None:
    chosen = Chosen([SelectItem("x", "a\x1b[31mb\nc\td", "e\x07\u202ef\ng")])

    lines = chosen.list.render(80)

    assert len(lines) == 1
    assert_well_formed(lines, 80)


LABELS = st.text(max_size=12) | st.sampled_from(["日本語", "👩‍💻 code", "e\u0301te", "a\nb", "\x1b[2J", "long " * 30])

ITEMS = st.builds(
    SelectItem, st.text(max_size=2), LABELS, LABELS, st.booleans(), st.booleans(), st.sampled_from(["", "[x]"])
)


@given(
    st.lists(ITEMS, max_size=14),
    st.lists(
        st.sampled_from(["up", "down", "pageup", "pagedown", "home", "end", "a", "space", "backspace"]), max_size=8
    ),
    st.integers(1, 50),
    st.booleans(),
    st.booleans(),
)
def test_lines_keep_to_the_width(
    items: list[SelectItem[str]], pressed: list[str], width: int, searched: bool, ascii_only: bool
) -> None:
    chosen = Chosen(items, context=keyboard_context(rows=12, ascii_only=ascii_only), searched=searched)
    for key in pressed:
        chosen.press(key)
        lines = chosen.list.render(width)

        assert_well_formed(lines, width)
        assert len(lines) <= 6 + 1 + 1 + 3


@given(st.integers(1, 30), st.lists(st.sampled_from(["up", "down", "pageup", "pagedown", "home", "end"])))
def test_navigation_agrees_with_a_model(count: int, pressed: list[str]) -> None:
    chosen = Chosen([SelectItem(str(number), str(number)) for number in range(count)], max_rows=5)
    at = 0
    for key in pressed:
        chosen.press(key)
        at = {
            "up": (at - 1) % count,
            "down": (at + 1) % count,
            "pageup": max(0, at - 4),
            "pagedown": min(count - 1, at + 4),
            "home": 0,
            "end": count - 1,
        }[key]

        assert chosen.list.selected is not None
        assert chosen.list.selected.value == str(at)
        assert [line for line in visible(chosen.list.render(20)) if line.startswith("›")] == [f"› {at}"]


def test_releases_do_nothing() -> None:
    chosen = Chosen()

    assert chosen.list.key(Key("enter", "", "release")) is False
    assert chosen.selected == []


HEADED = [
    SelectItem("", "Trees", is_heading=True),
    SelectItem("a", "Apple", "Round"),
    SelectItem("d", "Date"),
    SelectItem("", "Bushes with a long title", is_heading=True),
    SelectItem("c", "Currant", "Red"),
]


def test_headings_are_shown_and_skipped() -> None:
    chosen = Chosen(HEADED)

    chosen.press("enter", "down", "down", "enter", "down", "enter", "up", "enter", "up", "enter")

    assert chosen.selected == ["a", "c", "a", "c", "d"]
    assert visible(chosen.list.render(40))[0] == "Trees"


def test_a_search_leaves_headings_out() -> None:
    chosen = Chosen(HEADED, searched=True)

    chosen.press(*"bush")

    assert visible(chosen.list.render(40))[1:] == ["Nothing found"]


def test_the_position_counts_entries_and_not_headings() -> None:
    chosen = Chosen(HEADED, max_rows=3)
    chosen.press("down", "down")

    assert visible(chosen.list.render(40)) == ["  Date", "Bushes with a long title", "› Currant    Red", "  (3/3)"]


def test_the_heading_returns_with_its_first_entry() -> None:
    chosen = Chosen(HEADED, max_rows=2)
    chosen.press("down", "down")
    chosen.list.render(40)
    chosen.press("home")

    assert visible(chosen.list.render(40))[:2] == ["Trees", "› Apple      Round"]


def test_a_description_that_is_cut_off_is_shown_with_the_position() -> None:
    text = "Grows on trees and keeps all winter"
    chosen = Chosen([SelectItem("a", "Apple", text), SelectItem("b", "Banana")], max_rows=1)

    assert visible(chosen.list.render(40))[-1].startswith("  (1/2) Grows on trees and keeps")
