"""What was taken back, in the editor."""

import tempfile
from pathlib import Path

import pytest

from kaa.frontends.interactive.rewind_draft import RewindDraft
from kaa.tui.events import Key
from tests.frontends.interactive.offscreen import seated


def test_one_message_after_the_other_and_none_when_all_is_as_it_was(tmp_path: Path) -> None:
    with seated(tmp_path) as seat:
        restating = RewindDraft(seat.main_view.editor)

        texts = []
        for text in ("the last", "the one before", None):
            restating.put(text)
            texts.append(seat.main_view.editor.text)

        assert texts == ["the last", "the one before", ""]


def test_what_was_typed_meanwhile_is_kept(tmp_path: Path) -> None:
    with seated(tmp_path) as seat:
        restating = RewindDraft(seat.main_view.editor)
        seat.main_view.editor.set_text("a draft")

        restating.put("said before")
        both = seat.main_view.editor.text
        seat.main_view.editor.set_text(f"{both} and more")
        restating.put(None)

        assert both == "said before\n\na draft"
        assert seat.main_view.editor.text == "said before\n\na draft and more"


def _typed(text: str, typed: str) -> tuple[str, str]:
    """What stands in the editor after typing behind a message that was put there, and after undoing all of that."""
    with tempfile.TemporaryDirectory() as folder, seated(Path(folder)) as seat:
        editor = seat.main_view.editor
        restating = RewindDraft(editor)
        editor.on_change = restating.edited
        restating.put(text)
        for character in typed:
            editor.key(Key(character, text=character))
        after = editor.text
        while editor.text != text and editor.buffer.undo():
            pass
        return after, editor.text


def test_a_slash_begins_a_command_in_place_of_the_message() -> None:
    assert _typed("said before", "/redo") == ("/redo", "said before")


@pytest.mark.parametrize("typed", ["!", " and/or", ".", "\n/"])
def test_anything_else_is_typed_behind_the_message(typed: str) -> None:
    assert _typed("said before", typed)[0] == f"said before{typed}"


def test_a_slash_behind_a_draft_stays_there(tmp_path: Path) -> None:
    with seated(tmp_path) as seat:
        editor = seat.main_view.editor
        restating = RewindDraft(editor)
        editor.on_change = restating.edited
        editor.set_text("src")
        restating.put("said before")

        editor.insert("/")

        assert editor.text == "said before\n\nsrc/"
