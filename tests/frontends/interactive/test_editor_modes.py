from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.frontends.interactive.editor_modes import EditorModes
from kaa.tui.completion_sources import CommandEntry
from tests.frontends.interactive.offscreen import Seated, seated
from tests.support.keyboard import press, type_text


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seated]:
    with seated(tmp_path) as seat:
        yield seat


def test_vi_is_there_when_chosen_and_gone_afterwards(seat: Seated) -> None:
    shown: list[str] = []
    modes = EditorModes(seat.main_view, tuple, lambda _: None, shown.append)
    editor = seat.main_view.editor

    modes.choose("vim")
    type_text(editor, "some words")
    press(editor, "escape")
    type_text(editor, "0dw")
    in_vi = editor.text
    modes.choose("default")
    type_text(editor, "0dw")

    assert in_vi == "words"
    assert editor.text.count("0dw") == 1
    assert shown == ["INSERT", "NORMAL", ""]


def test_choosing_the_same_again_keeps_the_mode(seat: Seated) -> None:
    shown: list[str] = []
    modes = EditorModes(seat.main_view, tuple, lambda _: None, shown.append)
    modes.choose("vim")
    press(seat.main_view.editor, "escape")

    modes.choose("vim")

    assert shown[-1] == "NORMAL"


@pytest.mark.parametrize("name", ["q", "h", "net", "execute"])
def test_enter_runs_the_command_that_is_entered_whatever_else_begins_so(seat: Seated, name: str) -> None:
    entered: list[str] = []
    offered = [CommandEntry(one, "") for one in ("queue", "quit", "help", "history", "network", "net", "executes")]
    modes = EditorModes(seat.main_view, lambda: offered, entered.append, lambda _: None)
    modes.choose("vim")

    press(seat.main_view.editor, "escape")
    type_text(seat.main_view.editor, f":{name}\n")

    assert entered == [name]


def test_slash_commands_of_before_are_recalled(seat: Seated) -> None:
    entered: list[str] = []
    modes = EditorModes(seat.main_view, tuple, entered.append, lambda _: None)
    modes.choose("vim")
    for text in ("/net on", "a message"):
        seat.main_view.editor.history.add(text)

    press(seat.main_view.editor, "escape")
    type_text(seat.main_view.editor, ":")
    press(seat.main_view.editor, "up", "enter")

    assert entered == ["net on"]


def test_what_is_entered_behind_a_colon_is_a_command(seat: Seated) -> None:
    entered: list[str] = []
    modes = EditorModes(seat.main_view, tuple, entered.append, lambda _: None)
    modes.choose("vim")

    press(seat.main_view.editor, "escape")
    type_text(seat.main_view.editor, ":net on\n")

    assert entered == ["net on"]
    assert seat.main_view.editor.is_empty
