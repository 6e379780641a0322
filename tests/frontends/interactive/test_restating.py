"""What was taken back, in the editor."""

from pathlib import Path

from kaa.frontends.interactive.restating import Restating
from tests.frontends.interactive.desks import seated


def test_one_message_after_the_other_and_none_when_all_is_as_it_was(tmp_path: Path) -> None:
    with seated(tmp_path) as seat:
        restating = Restating(seat.desk.editor)

        texts = []
        for text in ("the last", "the one before", None):
            restating.put(text)
            texts.append(seat.desk.editor.text)

        assert texts == ["the last", "the one before", ""]


def test_what_was_typed_meanwhile_is_kept(tmp_path: Path) -> None:
    with seated(tmp_path) as seat:
        restating = Restating(seat.desk.editor)
        seat.desk.editor.set_text("a draft")

        restating.put("said before")
        both = seat.desk.editor.text
        seat.desk.editor.set_text(f"{both} and more")
        restating.put(None)

        assert both == "said before\n\na draft"
        assert seat.desk.editor.text == "said before\n\na draft and more"
