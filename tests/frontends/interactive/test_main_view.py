"""What the rules of the editor say, in words and by colour, of what becomes of the text; and what is pasted into it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.frontends.interactive.main_view import MainView
from kaa.tui.events import Paste
from tests.frontends.interactive.offscreen import seated
from tests.support.keyboard import type_text
from tests.support.tables import each


@pytest.fixture
def view(tmp_path: Path) -> Iterator[MainView]:
    with seated(tmp_path) as seat:
        yield seat.main_view


def _rule(view: MainView) -> str:
    """The painted rule above the text."""
    view.mark_editor()
    return view.editor.render(80)[0]


def _plan(view: MainView, mode: str) -> None:
    view.footer.state = view.footer.state._replace(permissions=mode)


@pytest.mark.parametrize("theme", ["dark", "light", "high-contrast-dark", "high-contrast-light"])
def test_planning_and_executing_differ_from_each_other_and_from_all_else(view: MainView, theme: str) -> None:
    view.context.palette.change(view.themes.choose(theme, view.background_is_dark).theme)

    usual = _rule(view)
    _plan(view, "plan")
    planning = _rule(view)
    _plan(view, "auto")
    view.show_task("executing step 1/2: a", "success")
    executing = _rule(view)
    view.show_task("", "")

    assert "plan: kaa changes nothing" in planning
    assert "executing step 1/2: a" in executing
    assert len({rule.split("─")[0] for rule in (usual, planning, executing)}) == 3  # the colour
    assert _rule(view) == usual


def test_a_command_for_the_shell_goes_before_all_else(view: MainView) -> None:
    _plan(view, "plan")
    view.editor.set_text("!make")

    assert "plan" not in _rule(view)
    assert view.editor.border_token == "bashMode"


_HIDDEN = "!!! FATAL: see below\n" + "\n" * 20 + "touch canary"


@each(
    ("before", "pasted", "text"),
    [
        ("", "!ls", "!ls"),
        ("", "/model x\n", "/model x\n"),
        ("", "! a\nb", " ! a\nb"),
        ("", "/net on\n\nPlease", " /net on\n\nPlease"),
        ("", _HIDDEN, f" {_HIDDEN}"),
        ("", "!ls; " + "x" * 300, " !ls; " + "x" * 300),
        ("", "/usr/bin/x\nis broken", "/usr/bin/x\nis broken"),
        ("!cat <<X ", "! a\nX", "!cat <<X ! a\nX"),
    ],
)
def test_a_paste_that_cannot_be_seen_at_a_glance_is_a_message(
    tmp_path: Path, before: str, pasted: str, text: str
) -> None:
    with seated(tmp_path) as seat:
        type_text(seat.main_view.editor, before)
        seat.main_view.editor.key(Paste(pasted))

        assert seat.main_view.editor.text == text
        assert ("pasted as a message" in seat.dock) == (text != before + pasted)


def test_a_paste_in_place_of_all_text_is_judged_too(view: MainView) -> None:
    view.editor.set_text("old")
    view.editor.buffer.select(3, 0)

    view.editor.key(Paste(_HIDDEN))

    assert view.editor.text == f" {_HIDDEN}"
