"""Drafts: who may take one over, and what happens to those that cannot be read or written."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from kaa.core.messages import ImageContent, user_message
from kaa.frontends.interactive.attachments import Attachments
from kaa.frontends.interactive.drafts import Draft, DraftKeeper, recover_draft
from kaa.frontends.interactive.early_text import EarlyText, left_text
from kaa.session.entries import MessageEntry
from kaa.session.file.file_store import draft_images_path, draft_path
from kaa.session.store import MemoryStore
from kaa.session.transcript import Transcript
from tests.frontends.interactive.offscreen import Seated, seated


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return tmp_path / "2026-02-02_new.jsonl"


def _keeper(seat: Seated, attachments: Attachments | None = None) -> DraftKeeper:
    return DraftKeeper(seat.main_view, attachments or Attachments(), EarlyText(seat.main_view.folder))


def _left(session: Path, content: bytes) -> Path:
    path = draft_path(session)
    path.write_bytes(content)
    return path


def _typed(text: str, **more: int) -> bytes:
    return json.dumps({"text": text, **more}).encode()


def test_a_draft_is_taken_over_whatever_process_has_the_number_of_its_own(session: Path) -> None:
    left = _left(session.with_name("2026-01-01_old.jsonl"), _typed("mine", pid=os.getpid()))

    assert recover_draft(session).text == "mine"
    assert not left.exists()


def test_the_draft_of_a_living_editor_is_not_taken_over(session: Path) -> None:
    with seated(session.parent) as seat:
        keeper = _keeper(seat)
        keeper.begin(session.with_name("2026-01-01_other.jsonl"), Draft())
        for text in ("one", "one two"):
            seat.main_view.editor.set_text(text)
            keeper.keep()

            assert recover_draft(session).text == ""


def test_what_cannot_be_read_is_put_aside_and_not_replaced(session: Path) -> None:
    contents = [b"{torn", _typed("x" * 5_000_000)]

    for content in contents:
        _left(session, content)
        assert recover_draft(session).text == ""

    asides = sorted(session.parent.glob("*.unreadable*"))
    assert [path.read_bytes() for path in asides] == contents
    assert not draft_path(session).exists()


def test_a_pipe_in_the_place_of_a_draft_stops_nobody(session: Path) -> None:
    path = draft_path(session)
    os.mkfifo(path)
    os.mkfifo(path.with_name(f"{path.name}.new"))

    assert recover_draft(session).text == ""
    with seated(session.parent) as seat:
        keeper = _keeper(seat)
        keeper.begin(session, Draft())
        seat.main_view.editor.set_text("typed")
        keeper.keep()

    assert json.loads(path.read_bytes()) == {"text": "typed"}


def test_a_text_that_is_too_long_leaves_the_last_that_was_not(session: Path) -> None:
    with seated(session.parent) as seat:
        keeper = _keeper(seat)
        keeper.begin(session, Draft())
        seat.main_view.editor.set_text("short")
        keeper.keep()
        seat.main_view.editor.set_text("x" * 5_000_000)
        keeper.keep()

    assert recover_draft(session).text == "short"


def test_a_folder_that_cannot_be_changed_ends_nothing(tmp_path: Path) -> None:
    with seated(tmp_path) as seat:
        keeper = _keeper(seat)
        keeper.begin(tmp_path / "gone" / "s.jsonl", Draft())
        (tmp_path / "gone").write_text("no folder")  # unlinking in it fails even for root

        keeper.begin(tmp_path / "s.jsonl", Draft())


def test_pictures_come_back_with_the_text_that_shows_where_they_are(session: Path) -> None:
    first, second = ImageContent("Zmlyc3Q=", "image/png"), ImageContent("c2Vjb25k", "image/png")
    with seated(session.parent) as seat:
        attachments = Attachments()
        keeper = _keeper(seat, attachments)
        keeper.begin(session, Draft())
        markers = [
            attachments.add(first),
            attachments.add(ImageContent("Z29uZQ==", "image/png")),
            attachments.add(second),
        ]
        seat.main_view.editor.set_text(f"like {markers[0]} and {markers[2]}")
        keeper.keep()
    assert draft_images_path(session).stat().st_mode & 0o777 == 0o600

    with seated(session.parent) as seat:
        attachments = Attachments()
        attachments.add(ImageContent("b3RoZXI=", "image/png"))
        keeper = _keeper(seat, attachments)
        keeper.begin(session, recover_draft(session))
        text = seat.main_view.editor.text
        message = attachments.message(text)
        seat.main_view.editor.set_text("")
        keeper.keep()

    assert text == "like [image #2] and [image #3]"
    assert message.content == user_message(text, (first, second)).content
    assert not draft_images_path(session).exists()


def test_pictures_go_with_the_draft_of_a_session_without_a_message(session: Path) -> None:
    image = ImageContent("Zmlyc3Q=", "image/png")
    left = _left(session.with_name("2026-01-01_old.jsonl"), _typed("[image #1]"))
    draft_images_path(left.with_suffix("")).write_bytes(
        b'{"1":{"type":"image","data":"Zmlyc3Q=","mimeType":"image/png"}}'
    )

    assert recover_draft(session) == Draft("[image #1]", {1: image})
    assert not draft_images_path(left.with_suffix("")).exists()


def test_whoever_waits_for_the_draft_is_told_when_it_is_on_the_disk(session: Path) -> None:
    told: list[str] = []
    with seated(session.parent) as seat:
        keeper = _keeper(seat)
        keeper.begin(session, Draft())
        seat.main_view.editor.set_text("x" * 5_000_000)
        keeper.keep_then(lambda: told.append(draft_path(session).read_text()))
        assert told == []
        seat.main_view.editor.set_text("short")
        keeper.keep()

    assert told == ['{"text":"short"}']


def test_that_a_draft_cannot_be_written_is_said_and_leaves_nothing_behind(session: Path) -> None:
    with seated(session.parent) as seat:
        keeper = _keeper(seat)
        keeper.begin(session, Draft())
        draft_path(session).mkdir()
        seat.main_view.editor.set_text("typed")
        keeper.keep()

        assert seat.main_view.status.text.startswith("what you type cannot be saved before it is sent: ")
    assert [path.name for path in session.parent.glob("*.new")] == []


def test_what_is_entered_before_a_session_is_open_is_kept_until_the_session_has_it(tmp_path: Path) -> None:
    with seated(tmp_path) as seat:
        keeper = _keeper(seat)
        seat.main_view.editor.set_text("typed behind")
        keeper.entered(["sent early"])
        (kept,) = (tmp_path / "starting").iterdir()
        assert kept.stat().st_mode & 0o777 == 0o600
        assert left_text(tmp_path) is None  # its process lives
        assert json.loads(kept.read_bytes())["text"] == "sent early\n\ntyped behind"

        keeper.begin(tmp_path / "s.jsonl", Draft())
        keeper.entered([])
        keeper.keep()

    assert list((tmp_path / "starting").iterdir()) == []
    assert recover_draft(tmp_path / "s.jsonl").text == "typed behind"


def test_what_is_entered_early_and_too_long_does_not_stop_the_draft(session: Path) -> None:
    with seated(session.parent) as seat:
        keeper = _keeper(seat)
        keeper.begin(session, Draft())
        seat.main_view.editor.set_text("typed behind")
        keeper.entered(["x" * 5_000_000])
        assert "the limit is 4 MiB" in seat.main_view.status.text

    assert recover_draft(session).text == "typed behind"


def test_what_was_sent_is_kept_with_its_images_until_something_else_does(session: Path) -> None:
    with seated(session.parent) as seat:
        attachments = Attachments()
        keeper = _keeper(seat, attachments)
        keeper.begin(session, Draft())
        image = ImageContent("AAAA", "image/png")
        sent = f"look at {attachments.add(image)}"
        first, second = keeper.hold(sent), keeper.hold("and this")
        attachments.message(sent)
        seat.main_view.editor.set_text("typed behind")
        keeper.keep()
        draft = recover_draft(session)
        assert (draft.text, draft.images) == (f"{sent}\n\nand this\n\ntyped behind", {1: image})
        first()
        first()
        draft = recover_draft(session)
        assert (draft.text, draft.images) == ("and this\n\ntyped behind", {})
        second()

    assert recover_draft(session) == Draft("typed behind")


def test_what_a_session_has_of_a_draft_does_not_come_back(session: Path) -> None:
    store = MemoryStore("/project")
    store.append(MessageEntry(message=msgspec.structs.replace(user_message("one"), timestamp=1)))  # long before
    with seated(session.parent) as seat:
        keeper = _keeper(seat)
        keeper.begin(session, Draft())
        for text in ("one", "two", "three"):
            _ = keeper.hold(text)
        seat.main_view.editor.set_text("two")
        keeper.keep()
    for text in ("two", "three\n\n<file>"):  # recorded in the moment of the kill
        store.append(MessageEntry(message=user_message(text)))

    draft = recover_draft(session).without_recorded(Transcript(store))

    assert draft == Draft("one\n\ntwo")


def test_each_recorded_message_takes_one_out_of_a_draft(session: Path) -> None:
    store = MemoryStore("/project")
    store.append(MessageEntry(message=user_message("one")))
    with seated(session.parent) as seat:
        keeper = _keeper(seat)
        keeper.begin(session, Draft())
        for text in ("fix it", "fix", "y", "y"):
            _ = keeper.hold(text)
        keeper.keep()
    for text in ("fix it", "y"):
        store.append(MessageEntry(message=user_message(text)))

    assert recover_draft(session).without_recorded(Transcript(store)) == Draft("fix\n\ny")


def test_a_draft_of_a_session_that_is_open_again_stays(session: Path) -> None:
    with seated(session.parent) as seat:
        keeper = _keeper(seat)
        keeper.begin(session, Draft())
        seat.main_view.editor.set_text("x" * (4 * 1024 * 1024 + 1))
        keeper.begin(session.with_name("2026-02-03_other.jsonl"), Draft())
        keeper.begin(session, Draft())
        seat.main_view.editor.set_text("small")
        keeper.keep()

    assert recover_draft(session) == Draft("small")


def test_a_draft_goes_with_its_editor_to_another_session_and_is_on_the_disk_all_the_time(session: Path) -> None:
    other = session.with_name("2026-02-03_other.jsonl")
    with seated(session.parent) as seat:
        keeper = _keeper(seat)
        keeper.begin(session, Draft())
        seat.main_view.editor.set_text("typed")
        keeper.keep()
        os.mkfifo(draft_path(other))
        draft_path(other).with_name(f"{draft_path(other).name}.new").mkdir()  # nothing can be written there
        keeper.begin(other, Draft())
        assert recover_draft(session).text == "typed"
        draft_path(other).with_name(f"{draft_path(other).name}.new").rmdir()
        keeper.keep()

    assert not draft_path(session).exists()
    assert recover_draft(other).text == "typed"


def test_what_kills_left_of_early_texts_is_removed_and_what_is_removed_meanwhile_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "starting"
    folder.mkdir()
    for name in ("1-a.json", "1-b.new", "1-c.new"):
        (folder / name).write_text(json.dumps({"directory": str(tmp_path), "text": "mine"}))
    os.utime(folder / "1-b.new", (0, 0))
    monkeypatch.chdir(tmp_path)

    left = left_text(tmp_path)

    assert left is not None
    assert left.text == "mine"
    assert sorted(path.name for path in folder.iterdir()) == ["1-a.json", "1-c.new"]


def test_what_was_entered_before_a_kill_comes_back_in_its_directory_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "starting"
    folder.mkdir()
    (folder / "1-a.json").write_text(json.dumps({"directory": str(tmp_path), "text": "mine\x1b[2J"}))
    (folder / "1-b.json").write_text(json.dumps({"directory": "/elsewhere", "text": "not here"}))
    (folder / "1-c.json").write_text("{torn")
    os.mkfifo(folder / "1-d.json")
    monkeypatch.chdir(tmp_path)

    left = left_text(tmp_path)
    assert left is not None
    assert left_text(tmp_path) is None  # another kaa has it
    with seated(tmp_path) as seat:
        _keeper(seat).begin(tmp_path / "s.jsonl", Draft(), left)
        text = seat.main_view.editor.text

    assert text.startswith("mine")
    assert "\x1b" not in text
    assert recover_draft(tmp_path / "s.jsonl").text == text
    assert sorted(path.name for path in folder.iterdir()) == ["1-b.json", "1-c.json", "1-d.json"]


def test_that_images_are_too_large_for_a_draft_is_said_and_what_else_keeps_them_goes_on(session: Path) -> None:
    told: list[str] = []
    with seated(session.parent) as seat:
        attachments = Attachments()
        keeper = _keeper(seat, attachments)
        keeper.begin(session, Draft())
        large = ImageContent("A" * 33 * 1024 * 1024, "image/png")
        marker, other = attachments.add(large), attachments.add(large)
        seat.main_view.editor.set_text(f"{marker} {other}")
        keeper.keep_then(lambda: told.append("kept"))
        assert seat.main_view.status.text.startswith("the images of this text are too large to be saved")
        assert told == []
        seat.main_view.editor.set_text(marker)
        keeper.keep()

    assert told == ["kept"]
    assert recover_draft(session) == Draft(marker, {1: large})
