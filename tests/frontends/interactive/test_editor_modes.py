from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.frontends.interactive.editor_modes import EditorModes
from tests.frontends.interactive.desks import Seated, seated
from tests.support.keyboard import press, type_text


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seated]:
    with seated(tmp_path) as seat:
        yield seat


def test_vi_is_there_when_chosen_and_gone_afterwards(seat: Seated) -> None:
    changes: list[str] = []
    modes = EditorModes(seat.desk, lambda _: None, lambda: changes.append("changed"))
    editor = seat.desk.editor
    assert modes.name == ""

    modes.choose("vim")
    assert modes.name == "INSERT"
    type_text(editor, "some words")
    press(editor, "escape")
    assert modes.name == "NORMAL"
    type_text(editor, "0dw")
    assert editor.text == "words"
    modes.choose("default")
    assert modes.name == ""
    type_text(editor, "0dw")

    assert editor.text.count("0dw") == 1
    assert len(changes) >= 3


def test_choosing_the_same_again_keeps_the_mode(seat: Seated) -> None:
    modes = EditorModes(seat.desk, lambda _: None, lambda: None)
    modes.choose("vim")
    press(seat.desk.editor, "escape")

    modes.choose("vim")

    assert modes.name == "NORMAL"


def test_what_is_entered_behind_a_colon_is_a_command(seat: Seated) -> None:
    entered: list[str] = []
    modes = EditorModes(seat.desk, entered.append, lambda: None)
    modes.choose("vim")

    press(seat.desk.editor, "escape")
    type_text(seat.desk.editor, ":net on\n")

    assert entered == ["net on"]
    assert seat.desk.editor.is_empty
