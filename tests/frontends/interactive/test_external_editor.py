"""Writing a message in another program."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.ext.questions import Answer, Editing, Entered
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.external_editor import edit_externally
from kaa.frontends.interactive.questions import QuestionDialogs
from tests.frontends.interactive.offscreen import Seated, seated


@pytest.fixture
def seat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seated]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with seated(tmp_path) as seat:
        seat.main_view.editor.set_text("draft")
        yield seat


def editor(folder: Path, script: str) -> dict[str, str]:
    """An environment with an editor that does this to the file `$1`."""
    program = folder / "editor"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"VISUAL": str(program)}


def left_behind(folder: Path) -> list[Path]:
    return list(folder.glob("kaa-*"))


@pytest.mark.parametrize("script", ['echo more >> "$1"', 'echo draftmore > "$1.new"; mv "$1.new" "$1"'])
def test_the_text_is_what_the_editor_leaves(seat: Seated, tmp_path: Path, script: str) -> None:
    edit_externally(seat.main_view, editor(tmp_path, script))

    assert seat.main_view.editor.text == "draftmore"
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    ("script", "said"),
    [("echo worse > $1; exit 3", "ended with exit code 3"), ('rm "$1"', "deleted the file")],
)
def test_an_editor_that_fails_leaves_the_text_as_it_was(seat: Seated, tmp_path: Path, script: str, said: str) -> None:
    edit_externally(seat.main_view, editor(tmp_path, script))

    assert seat.main_view.editor.text == "draft"
    assert said in seat.main_view.status.text
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(("script", "answers"), [('echo more >> "$1"', [Entered("planmore")]), ("exit 1", [])])
def test_a_text_that_the_person_wants_to_edit_is_edited_there(
    seat: Seated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, answers: list[Answer]
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, script)["VISUAL"])
    seat.main_view.editor.set_text("")
    given: list[Answer] = []

    question = Editing("Edit the plan", text="plan", own_editor=True)
    QuestionDialogs(seat.main_view, Attention(seat.main_view, seat.terminal)).ask(question, given.append)

    assert given == answers
    assert ("Edit the plan" in seat.dock) == (not answers)


def test_a_text_that_no_file_can_hold_stays_as_it_was(
    seat: Seated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))

    edit_externally(seat.main_view, editor(tmp_path, "true"))

    assert seat.main_view.editor.text == "draft"
    assert "cannot write the text" in seat.main_view.status.text
