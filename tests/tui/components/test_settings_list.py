import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.components.select_list import SelectItem, SelectList
from kaa.tui.components.settings_list import Done, SettingRow, SettingsList
from kaa.tui.context import Context
from kaa.tui.fuzzy import rank
from tests.support.keyboard import keyboard_context, keys
from tests.support.painted import assert_well_formed, visible


class Menu:
    """Settings, and what was changed in them."""

    def __init__(self, *, searched: bool = False, rows: int = 40, ascii_only: bool = False, max_rows: int = 12) -> None:
        self.context = keyboard_context(rows=rows, ascii_only=ascii_only)
        self.changes: list[tuple[str, str]] = []
        self.closed = 0
        self.list = SettingsList(
            self.context,
            [
                SettingRow("images", "Show images", "true", ("true", "false"), "Where the terminal can"),
                SettingRow("width", "Width", "60", ("40", "60", "80")),
                SettingRow("theme", "Theme", "dark", description="The colours", opener=self._open),
                SettingRow("odd", "Odd", "neither", ("a", "b", "c")),
            ],
            on_change=lambda id_, value: self.changes.append((id_, value)),
            on_close=self._close,
            rank=rank if searched else None,
            max_rows=max_rows,
        )

    def _open(self, value: str, done: Done) -> SelectList[str]:
        items = [SelectItem(name, name, is_current=name == value) for name in ("dark", "light")]
        return SelectList(self.context, items, on_select=lambda item: done(item.value), on_cancel=lambda: done(None))

    def _close(self) -> None:
        self.closed += 1

    def press(self, *ids: str) -> list[bool]:
        return [self.list.key(key) for key in keys(*ids)]


def test_labels_values_and_the_description_of_the_selected_one() -> None:
    assert visible(Menu().list.render(40)) == [
        "› Show images  true",
        "  Width        60",
        "  Theme        dark",
        "  Odd          neither",
        "",
        "  Where the terminal can",
    ]


@pytest.mark.parametrize("key", ["enter", "space", "right"])
def test_keys_take_the_next_value_and_go_round(key: str) -> None:
    menu = Menu()

    menu.press(key, key)

    assert menu.changes == [("images", "false"), ("images", "true")]


def test_the_previous_value() -> None:
    menu = Menu()

    menu.press("down", "left", "left")

    assert menu.changes == [("width", "40"), ("width", "80")]
    assert visible(menu.list.render(40))[1] == "› Width        80"


@pytest.mark.parametrize(("key", "value"), [("right", "a"), ("left", "c")])
def test_a_value_that_is_not_allowed_gives_way_to_the_first_or_last(key: str, value: str) -> None:
    menu = Menu()

    menu.press("end", key)

    assert menu.changes == [("odd", value)]


def test_a_list_of_its_own() -> None:
    menu = Menu()

    menu.press("down", "down", "enter")
    assert visible(menu.list.render(40)) == ["› dark ✓", "  light"]
    assert menu.list.cursor() == (0, 0)
    menu.press("down", "enter")

    assert menu.changes == [("theme", "light")]
    assert visible(menu.list.render(40))[2] == "› Theme        light"


def test_leaving_the_list_of_its_own_changes_nothing() -> None:
    menu = Menu()

    menu.press("down", "down", "enter", "escape")

    assert menu.changes == []
    assert menu.closed == 0
    assert visible(menu.list.render(40))[2] == "› Theme        dark"
    menu.press("escape")
    assert menu.closed == 1


def test_a_value_that_was_changed_elsewhere() -> None:
    menu = Menu()

    menu.list.set_value("width", "80")

    assert visible(menu.list.render(40))[1] == "  Width        80"
    assert menu.changes == []


def test_a_search_leaves_what_fits_and_says_if_nothing_does() -> None:
    menu = Menu(searched=True)

    menu.press("c", "o", "l", "o")

    assert visible(menu.list.render(40)) == ["Search: colo", "› Theme        dark", "", "  The colours"]
    menu.press("u", "x")
    assert visible(menu.list.render(40)) == ["Search: coloux", "No such setting"]
    assert menu.press("enter", "space", "left", "down") == [True] * 4
    assert menu.changes == []


def test_values_changed_while_searching_stay() -> None:
    menu = Menu(searched=True)

    menu.press("w", "i", "d", "right", "backspace", "backspace", "backspace")

    assert visible(menu.list.render(40))[2] == "  Width        80"


def test_long_lists_tell_the_position() -> None:
    menu = Menu(max_rows=2)

    menu.press("down", "down")

    assert visible(menu.list.render(40))[:3] == ["  Width        60", "› Theme        dark", "  (3/4)"]


def test_the_same_lines_until_something_changes() -> None:
    menu = Menu()
    first = menu.list.render(40)

    assert menu.list.render(40) is first
    menu.press("right")
    assert menu.list.render(40) is not first


@given(
    st.lists(st.sampled_from(["up", "down", "pagedown", "home", "enter", "left", "space", "escape", "e"]), max_size=10),
    st.integers(1, 60),
    st.booleans(),
    st.booleans(),
)
def test_lines_keep_to_the_width(pressed: list[str], width: int, searched: bool, ascii_only: bool) -> None:
    menu = Menu(searched=searched, rows=8, ascii_only=ascii_only)
    for key in pressed:
        menu.press(key)

        assert_well_formed(menu.list.render(width), width)


def test_what_comes_from_elsewhere_cannot_harm() -> None:
    context: Context = keyboard_context(rows=40)
    rows = [SettingRow("x", "X", "\x1b[2J\nrm", ("a",))]
    settings = SettingsList(context, rows, on_change=lambda id_, value: None, on_close=lambda: None)

    assert_well_formed(settings.render(40), 40)
    assert len(settings.render(40)) == 1
