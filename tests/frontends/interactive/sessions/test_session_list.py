"""The list of sessions, driven by keys."""

from collections.abc import Callable

import pytest

from kaa.frontends.interactive.keybindings import GROUPS
from kaa.frontends.interactive.sessions.session_list import Score, SessionActions, SessionListView
from kaa.session.catalogue.matching import Query
from kaa.session.catalogue.records import SessionSummary
from kaa.tui.context import Context, Size
from kaa.tui.events import Key
from kaa.tui.keymap import Keymap
from kaa.tui.palette import Palette, Theme
from tests.frontends.interactive.sessions.summaries import NOW, path_of, summary
from tests.support.painted import assert_well_formed, visible
from tests.support.tables import each

SESSIONS = [
    summary("1", title="Mend the parser", minutes_ago=3),
    summary("2", said="why is the build slow?", minutes_ago=200, cwd="/elsewhere"),
    summary("3", said="copy of that", minutes_ago=300, parent="2"),
]


class Shown:
    """A list, and what was done with it."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.done: list[tuple[str, str]] = []
        self.later: list[Callable[[], None]] = []
        self.looked_at: list[str] = []
        keymap = Keymap({action.id: action.keys for group in GROUPS for action in group.actions})
        self.context = Context(Palette(Theme("test", {})), keymap, Size(columns, rows))
        actions = SessionActions(
            open=lambda session: self._do("open", session),
            rename=lambda session: self._do("rename", session),
            trash=lambda session: self._do("trash", session),
            change_scope=lambda: self.done.append(("scope", "")),
            search_text=lambda text: self.done.append(("search", text)),
            cancel=lambda: self.done.append(("cancel", "")),
        )
        self.list = SessionListView(self.context, actions, self._parse, lambda: NOW, self.later.append)
        self.list.show(SESSIONS, "this directory")

    def _do(self, what: str, session: SessionSummary) -> None:
        self.done.append((what, session.id))

    def _parse(self, text: str) -> Score:
        query = Query.parse(text)

        def score(session: SessionSummary) -> float | None:
            self.looked_at.append(session.id)
            return query.score(session)

        return score

    @property
    def text(self) -> str:
        return "\n".join(visible(self.list.render(self.context.size.columns)))

    def type(self, text: str) -> None:
        for character in text:
            self.list.key(Key(character, character))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.list.key(Key(key))


def test_titles_are_listed_with_what_tells_them_apart() -> None:
    shown = Shown()

    assert "› Mend the parser" in shown.text
    assert "3 min" in shown.text
    assert "  ╰ copy of that" in shown.text
    assert "this directory • newest first • (1/3)" in shown.text


def test_the_selected_one_is_opened() -> None:
    shown = Shown()

    shown.press("down", "enter")

    assert shown.done == [("open", "2")]


def test_typing_finds_and_the_best_is_selected() -> None:
    shown = Shown()

    shown.type("slow")
    shown.press("enter")

    assert "best match first • (1/1)" in shown.text
    assert shown.done == [("open", "2")]


def test_an_expression_that_is_half_typed_leaves_what_was_found_and_says_what_is_wrong() -> None:
    shown = Shown()

    shown.type("re:(parser")

    assert "is not a regular expression" in shown.text
    assert "Mend the parser" in shown.text


def test_what_no_title_has_is_searched_in_what_was_said() -> None:
    shown = Shown()

    shown.type("zebra")
    assert "No title matches; Enter searches the text" in shown.text
    shown.press("enter")

    assert shown.done == [("search", "zebra")]


@each(
    ("key", "done"),
    [
        ("ctrl+r", ("rename", "1")),
        ("ctrl+d", ("trash", "1")),
        ("ctrl+backspace", ("trash", "1")),
        ("tab", ("scope", "")),
        ("ctrl+f", ("search", "")),
        ("escape", ("cancel", "")),
    ],
)
def test_keys_of_pi_act_on_the_selected_one(key: str, done: tuple[str, str]) -> None:
    shown = Shown()

    shown.press(key)

    assert shown.done == [done]


def test_with_something_typed_the_harmless_key_deletes_letters() -> None:
    shown = Shown()

    shown.type("par")
    shown.press("ctrl+backspace")

    assert shown.done == []


def test_sorting_goes_round_and_keeps_the_pointer_where_it_was() -> None:
    shown = Shown()
    shown.press("down", "ctrl+s")

    assert "by name" in shown.text
    assert shown.list.selected is SESSIONS[1]
    shown.press("ctrl+s")
    assert "newest first" in shown.text


def test_only_named_ones_can_be_shown() -> None:
    shown = Shown()

    shown.press("ctrl+n")

    assert "only named ones • (1/1)" in shown.text
    assert "slow" not in shown.text


def test_paths_can_be_shown() -> None:
    shown = Shown()

    shown.press("ctrl+p")

    assert "/elsewhere" in shown.text
    assert str(path_of("1")) in shown.text


def test_the_open_one_is_marked() -> None:
    shown = Shown()
    shown.list.current = path_of("2")
    shown.list.show(SESSIONS, "this directory")

    (row,) = (line for line in shown.text.splitlines() if "slow?" in line and "200" not in line and "✓" in line)

    assert row.startswith("  why is the build slow? ✓")


def test_the_pointer_stays_on_its_session_when_others_come() -> None:
    shown = Shown()
    shown.press("down")

    shown.list.show([summary("0", said="new"), *SESSIONS], "all directories")

    assert shown.list.selected is SESSIONS[1]


def test_progress_is_told_until_the_list_is_there() -> None:
    shown = Shown()

    shown.list.tell_progress("reading 1,000 of 3,000")
    before = shown.text
    shown.list.show(SESSIONS, "this directory")

    assert "reading 1,000 of 3,000" in before
    assert "reading" not in shown.text


def test_no_session_at_all_is_said() -> None:
    shown = Shown()

    shown.list.show([], "this directory")
    shown.press("enter", "ctrl+d", "down")

    assert "There is no session yet" in shown.text
    assert shown.done == []


@pytest.mark.parametrize("size", [(1, 3), (12, 8), (40, 12), (80, 24), (200, 60)])
def test_lines_keep_to_the_width_whatever_titles_contain(size: tuple[int, int]) -> None:
    shown = Shown(*size)
    hostile = summary("4", title="\x1b[2J\x1b]0;owned\x07 界面\u202e\nsecond", said="\x9b3J\t" * 50, parent="3")

    shown.list.show([*SESSIONS, hostile], "this directory")
    for _ in range(4):
        assert_well_formed(shown.list.render(size[0]), size[0])
        shown.press("down")


class TestThousands:
    """All of them are not looked at for each key: the screen would wait for that."""

    MANY = tuple(summary(str(number), title=f"number {number}") for number in range(3_000))

    def shown(self) -> Shown:
        shown = Shown()
        shown.list.show(self.MANY, "this directory")
        return shown

    def test_a_key_looks_at_some_and_the_rest_comes_later(self) -> None:
        shown = self.shown()

        shown.type("2999")
        during, looked_at_by_keys = shown.text, len(shown.looked_at)
        while shown.later:
            shown.later.pop(0)()

        assert "number 0 " in during
        assert looked_at_by_keys < len(self.MANY)
        assert "› number 2999" in shown.text
        assert len(shown.looked_at) < 2 * len(self.MANY)  # what was typed on from is not looked for to the end

    def test_enter_means_what_is_found_however_fast_it_comes(self) -> None:
        shown = self.shown()

        shown.type("2999")
        shown.press("enter")

        assert shown.done == [("open", "2999")]

    def test_moving_means_it_too(self) -> None:
        shown = self.shown()

        shown.type("number 29")
        shown.press("down", "enter")
        while shown.later:
            shown.later.pop(0)()

        assert shown.done == [("open", "290")]
        assert "› number 290" in shown.text
