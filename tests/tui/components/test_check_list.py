from kaa.tui.components.check_list import CheckActions, CheckList
from kaa.tui.components.select_list import SelectItem
from kaa.tui.fuzzy import rank
from tests.support.keyboard import keyboard_context, keys
from tests.support.painted import visible

ACTIONS = CheckActions("x.toggle", "x.up", "x.down", "x.all", "x.none", "x.group", "x.save")
KEYS = {
    "x.toggle": ["space"],
    "x.up": ["alt+up"],
    "x.down": ["alt+down"],
    "x.all": ["ctrl+a"],
    "x.none": ["ctrl+x"],
    "x.group": ["ctrl+p"],
    "x.save": ["ctrl+s"],
}
MODELS = [SelectItem(name, name.upper()) for name in ("a1", "a2", "b1", "b2")]


class Ticked:
    """A list and what became of it."""

    def __init__(self, *ticked: str, disabled: str = "") -> None:
        self.changes: list[list[str]] = []
        self.saved: list[list[str]] = []
        self.closed = 0
        self.list = CheckList(
            keyboard_context(KEYS, rows=40),
            [item._replace(is_disabled=item.value == disabled) for item in MODELS],
            ticked,
            ACTIONS,
            on_change=self.changes.append,
            on_save=self.saved.append,
            on_close=self._close,
            group_of=lambda value: value[0],
            rank=rank,
        )

    def _close(self) -> None:
        self.closed += 1

    def press(self, *ids: str) -> None:
        assert all(self.list.key(key) for key in keys(*ids))


def test_what_is_ticked_comes_first_in_its_order() -> None:
    assert visible(Ticked("b2", "a1", "gone").list.render(40)) == [
        "Search:",
        "› [x] B2",
        "  [x] A1",
        "  [ ] A2",
        "  [ ] B1",
    ]


def test_ticking_leaves_entries_where_they_are() -> None:
    ticked = Ticked("b1")

    ticked.press("down", "down", "space", "up", "enter", "space")

    assert ticked.changes == [["b1", "a2"], ["b1", "a1", "a2"], ["b1", "a2"]]
    assert visible(ticked.list.render(40))[1:] == ["  [x] B1", "› [ ] A1", "  [x] A2", "  [ ] B2"]


def test_entries_change_places_and_stop_at_the_ends() -> None:
    ticked = Ticked("a1", "a2")

    ticked.press("alt+down", "alt+up", "alt+up", "end", "alt+down")

    assert ticked.changes == [["a2", "a1"], ["a1", "a2"]]


def test_a_search_has_no_order_to_change() -> None:
    ticked = Ticked("a1", "a2")

    ticked.press("a", "alt+down")

    assert ticked.changes == []


def test_all_but_disabled_ones_are_ticked_and_none_left() -> None:
    ticked = Ticked("b2", disabled="a2")

    ticked.press("ctrl+a", "ctrl+x")

    assert ticked.changes == [["b2", "a1", "b1"], []]


def test_all_of_what_is_found() -> None:
    ticked = Ticked()

    ticked.press("b", "ctrl+a")

    assert ticked.changes == [["b1", "b2"]]


def test_a_group_is_ticked_whole_and_then_not_at_all() -> None:
    ticked = Ticked("a2")

    ticked.press("ctrl+p", "ctrl+p")

    assert ticked.changes == [["a2", "a1"], []]


def test_saving_and_leaving() -> None:
    ticked = Ticked("a2")

    ticked.press("ctrl+s", "escape")

    assert ticked.saved == [["a2"]]
    assert ticked.closed == 1
    assert ticked.changes == []
