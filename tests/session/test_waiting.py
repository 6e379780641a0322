"""Messages that wait for the model survive a kill: of extensions in the session, of the person beside it."""

from pathlib import Path

import pytest

from kaa.core.messages import ExtensionNote, ImageContent, TextContent, UserMessage
from kaa.session.context import build_context
from kaa.session.entries import Custom
from kaa.session.errors import SessionWriteError
from kaa.session.file.file_store import FileStore, waiting_path
from kaa.session.store import new_header
from kaa.session.waiting import WaitingMessages, recover_waiting

_REPORT = UserMessage("It has finished.", 1, "extension", ExtensionNote("kaa.builtin.agents", "report"))
_STEERING = UserMessage((TextContent("Use tabs."), ImageContent("aGk=", "image/png")), 2)
_LAST = UserMessage("Then test it.", 3)


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore.create(tmp_path / "s.jsonl", new_header("/p"))


def recovered(store: FileStore) -> tuple[WaitingMessages, list[str]]:
    said: list[str] = []
    return recover_waiting(store, said.append, somebody_looks=True), said


def test_the_model_reads_what_extensions_sent_and_the_person_gets_back_what_they_sent(store: FileStore) -> None:
    WaitingMessages(store.path).keep([_STEERING, _REPORT, _LAST])
    assert waiting_path(store.path).stat().st_mode & 0o777 == 0o600

    waiting, said = recovered(store)

    assert [message.text for message in build_context(store).messages] == ["It has finished."]
    assert said == ["kaa ended before 2 messages were sent: back in the editor"]
    taken = waiting.take_left()
    assert taken == [_STEERING, _LAST]
    assert waiting.take_left() == []
    assert waiting_path(store.path).exists()  # as long as nothing else keeps them
    waiting.let_go(taken)
    assert not waiting_path(store.path).exists()


def test_what_extensions_sent_waits_for_the_next_opening_if_the_session_cannot_be_written(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    WaitingMessages(store.path).keep([_REPORT, _LAST])

    def full(*_: object) -> None:
        raise SessionWriteError(store.path, "no space left on device")

    with monkeypatch.context() as context:
        context.setattr(store, "append", full)
        waiting, said = recovered(store)
    taken = waiting.take_left()
    waiting.let_go(taken)

    assert taken == [_LAST]  # no report gets into the editor
    assert said[0].startswith(f"cannot write the session {store.path}: no space left on device; the next opening adds")
    assert said[1] == "kaa ended before a message was sent: back in the editor"
    again, said = recovered(store)
    assert again.take_left() == []
    assert [message.text for message in build_context(store).messages] == ["It has finished."]
    assert said == []


def test_what_was_taken_back_stays_until_something_else_keeps_it(store: FileStore) -> None:
    store.append(Custom(custom_type="begun"))
    waiting = WaitingMessages(store.path)
    waiting.keep([_STEERING, _LAST])
    waiting.hold([_LAST])
    waiting.keep([])  # nothing waits any more

    killed, _ = recovered(store)
    assert killed.take_left() == [_LAST]
    waiting.let_go([_LAST])

    assert waiting.take_left() == []
    assert not waiting_path(store.path).exists()


def test_what_is_left_at_an_end_comes_back_like_what_a_kill_left(store: FileStore) -> None:
    store.append(Custom(custom_type="begun"))  # a session without an entry has no file
    waiting = WaitingMessages(store.path)
    waiting.keep([_LAST])
    waiting.leave([_REPORT, _STEERING])
    waiting.keep([])  # nothing waits any more

    again, _ = recovered(store)

    assert again.take_left() == [_STEERING]
    assert [message.text for message in build_context(store).messages] == ["It has finished."]


def test_that_they_cannot_be_kept_is_told_once_until_they_can(store: FileStore) -> None:
    store.append(Custom(custom_type="begun"))
    said: list[str] = []
    waiting = WaitingMessages(store.path, (), said.append)
    waiting_path(store.path).mkdir()  # in the way, also of root
    waiting.keep([_STEERING])
    waiting.keep([_STEERING, _LAST])
    waiting_path(store.path).rmdir()
    waiting.keep([_LAST])
    waiting_path(store.path).unlink()
    waiting_path(store.path).mkdir()
    waiting.keep([_LAST])

    assert [one.partition(" (")[0] for one in said] == ["messages that wait cannot be kept"] * 2
    assert said[0].endswith("): they are lost if kaa is killed")


def test_what_nobody_takes_stays_beside_what_waits_later(store: FileStore) -> None:
    WaitingMessages(store.path).keep([_STEERING])

    first, _ = recovered(store)
    first.keep([_LAST])
    first.keep([])
    second, said = recovered(store)

    assert said == ["kaa ended before a message was sent: back in the editor"]
    assert second.take_left() == [_STEERING]
    assert build_context(store).messages == ()


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'[{"role":"user"}]', b"\xff", b"[" * 100_000])
def test_a_file_that_is_none_of_kaa_loses_nothing_else(store: FileStore, content: bytes) -> None:
    waiting_path(store.path).write_bytes(content)

    waiting, said = recovered(store)

    assert waiting.take_left() == []
    aside = waiting_path(store.path).with_name(f"{waiting_path(store.path).name}.unreadable")
    assert aside.read_bytes() == content
    (told,) = said
    assert told.endswith(f"they are in {aside}")


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    WaitingMessages(tmp_path / "missing" / "s.jsonl").keep([_LAST])
