"""The session file: created late and private, appended to safely, never mistaken for another file."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from kaa.core.messages import TextContent, ToolResultMessage
from kaa.session.context import SessionContext
from kaa.session.entries import Leaf, MessageEntry, SessionInfo
from kaa.session.errors import NotASessionError, SessionBusyError, SessionReadError, SessionWriteError
from kaa.session.file.file_store import FileStore
from kaa.session.library.finding import SessionLibrary
from kaa.session.recorder import SessionRecorder
from kaa.session.store import MemoryStore, SessionStore, new_header, read_entry
from tests.support.agents import run, say
from tests.support.full_disk import files_limited_to
from tests.support.sessions import HEADER, opened, prompt, record_all, reply, streamed, texts, user_entry, write_session


def begin(path: Path) -> FileStore:
    return FileStore.create(path, new_header("/home/u/p"))


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_session_has_no_file_before_the_first_prompt(tmp_path: Path) -> None:
    store = SessionLibrary("/home/u/p", tmp_path / "sessions").create()
    recorder = SessionRecorder(store, SessionContext())

    recorder.model_change("fake", "m")
    recorder.thinking_level_change("high")
    run(recorder.close())

    assert not (tmp_path / "sessions").exists()


def test_the_first_prompt_writes_header_model_thinking_level_and_message(tmp_path: Path) -> None:
    store = SessionLibrary("/home/u/p", tmp_path).create()
    recorder = SessionRecorder(store, SessionContext())
    recorder.model_change("fake", "m")
    recorder.thinking_level_change("medium")

    record_all(recorder, prompt("hi"))

    header, model, level, message = lines_of(store.path)
    assert list(header) == ["type", "version", "id", "timestamp", "cwd"]
    assert (header["type"], header["version"], header["cwd"]) == ("session", 3, "/home/u/p")
    assert store.path.parent.name == "--home-u-p--"
    assert store.path.name == f"{str(header['timestamp']).replace(':', '-').replace('.', '-')}_{header['id']}.jsonl"
    assert (model["type"], model["parentId"], model["modelId"]) == ("model_change", None, "m")
    assert (level["type"], level["parentId"], level["thinkingLevel"]) == (
        "thinking_level_change",
        model["id"],
        "medium",
    )
    assert (message["type"], message["parentId"]) == ("message", level["id"])
    assert list(message) == ["type", "id", "parentId", "timestamp", "message"]
    run(recorder.close())


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_folders_and_files_belong_to_the_user_alone(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = begin(tmp_path / "agent" / "sessions" / "s.jsonl")
        recorder = SessionRecorder(store, SessionContext())
        record_all(recorder, [*prompt("hi"), *streamed("he")])

        modes = {
            path.relative_to(tmp_path).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")
        }
    finally:
        os.umask(before)
    run(recorder.close())

    assert modes == {
        "agent": 0o700,
        "agent/sessions": 0o700,
        "agent/sessions/s.jsonl": 0o600,
        "agent/sessions/s.jsonl.partial": 0o600,
    }


def test_an_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(0o755)
    shared.chmod(0o755)

    store = begin(shared / "s.jsonl")
    store.append(MessageEntry(message=say("hi")))

    assert stat.S_IMODE(shared.stat().st_mode) == 0o755
    run(store.close())


def test_entries_are_children_of_one_another_and_can_be_read_back(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    store = begin(path)
    first, second = store.append(MessageEntry(message=say("one")), MessageEntry(message=reply("two")))
    (third,) = store.append(MessageEntry(message=say("thr€e \U0001f40d")))
    run(store.close())

    with opened(path) as again:
        assert [node.id for node in again.tree.path()] == [first, second, third]
        assert texts(again) == ["one", "two", "thr€e \U0001f40d"]


def test_appending_does_not_touch_what_is_there(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))
    before = path.read_bytes()

    with opened(path) as store:
        store.append(MessageEntry(message=say("two")))

    assert path.read_bytes().startswith(before)


def test_opening_and_closing_changes_nothing(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))
    path.write_bytes(path.read_bytes() + b'{"type":"message","id":"b","par')
    before, modified = path.read_bytes(), path.stat().st_mtime_ns

    with opened(path) as store:
        assert texts(store) == ["one"]

    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, modified)
    assert [file.name for file in tmp_path.iterdir()] == ["s.jsonl"]


def test_torn_last_line_keeps_the_history_and_stays_in_the_file(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))
    torn = b'{"type":"message","id":"b","parentId":"a","mess'
    path.write_bytes(path.read_bytes() + torn)

    with opened(path) as store:
        store.append(MessageEntry(message=say("two")))
    with opened(path) as store:
        assert texts(store) == ["one", "two"]

    assert torn in path.read_bytes().split(b"\n")


def test_a_whole_last_line_without_line_feed_is_an_entry(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"), user_entry("b", "a", "two"))
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))

    with opened(path) as store:
        store.append(MessageEntry(message=say("three")))
    with opened(path) as store:
        assert texts(store) == ["one", "two", "three"]


def test_an_entry_that_pi_glued_to_a_torn_one_is_found(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))
    torn = b'{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":[{"type":"text","text":"lo'
    glued = [user_entry("c", "b", "two"), user_entry("d", "c", "three")]
    path.write_bytes(
        path.read_bytes() + torn + b"\n".join(json.dumps(line, separators=(",", ":")).encode() for line in glued)
    )

    with opened(path) as store:
        assert texts(store) == ["one", "two", "three"]


def test_a_long_line_that_cannot_be_read_is_passed_over_without_reading_it_again_and_again(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))
    beginnings = b'{"type":"message","x":' * 300
    torn = b'{"type":"message","id":"b","message":' + beginnings + b"[" + b"1," * 4_000_000 + b"\n"
    path.write_bytes(path.read_bytes() + torn + json.dumps(user_entry("c", "b", "two")).encode() + b"\n")

    with opened(path) as store:
        assert texts(store) == ["one", "two"]


def test_a_parent_that_is_missing_is_bridged_to_the_entry_before(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", None, "one"),
        user_entry("b", "lost", "two"),
        user_entry("c", "c", "three"),
        user_entry("d", "e", "four"),
        user_entry("e", "d", "five"),
    )

    with opened(path) as store:
        assert texts(store) == ["one", "two", "three", "four", "five"]


def test_a_second_root_begins_a_conversation_of_its_own(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"), user_entry("b", None, "two"))

    with opened(path) as store:
        assert texts(store) == ["two"]


def test_lines_that_are_no_entries_are_passed_over_and_kept(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))
    garbage = [
        b"",
        b"5",
        b"[1]",
        b"null",
        b"\x00\x00\x00",
        b"\xff\xfe",
        b"{}",
        b'{"type":7}',
        b'\xff{"type":"x","id":"\xff"}',
        b"[" * 5000,
        b'{"a":' * 5000,
    ]
    with path.open("ab") as file:
        file.write(b"".join(line + b"\r\n" for line in garbage))
        file.write(json.dumps(HEADER).encode() + b"\n")
        file.write(json.dumps(user_entry("b", "a", "two")).encode() + b"\n")
    before = path.read_bytes()

    with opened(path) as store:
        assert texts(store) == ["one", "two"]
        store.append(MessageEntry(message=say("three")))

    assert path.read_bytes().startswith(before)


def test_unknown_types_are_nodes_and_are_kept_byte_for_byte(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", None, "one"),
        {"type": "context_edit", "id": "x", "parentId": "a", "strange": [1, {"deep": None}]},
        user_entry("b", "x", "two"),
    )
    line = path.read_bytes().splitlines()[2]

    with opened(path) as store:
        node = store.tree.get("x")
        assert node is not None
        assert store.line(node) == line
        assert read_entry(store, node) is None
        assert texts(store) == ["one", "two"]


def test_a_very_long_line_is_read_whole(tmp_path: Path) -> None:
    long = "ä\n" * 100_000
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, long), user_entry("b", "a", "short"))

    with opened(path) as store:
        assert texts(store) == [long, "short"]


def test_text_that_utf8_cannot_carry_does_not_cost_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    store = begin(path)

    store.append(MessageEntry(message=say("before \ud83d after")))
    run(store.close())

    with opened(path) as again:
        assert texts(again) == ["before ? after"]


def test_details_that_are_no_json_do_not_cost_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    store = begin(path)
    message = ToolResultMessage(
        "c", "t", (TextContent("ok"),), is_error=False, details={"path": path, "n": float("nan")}
    )

    store.append(MessageEntry(message=message))
    run(store.close())

    with opened(path) as again:
        assert texts(again) == ["ok"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"# Notes\n\nbuy milk",
        b'{"type":"message","id":"a","parentId":null}\n',
        b'{"type":"session","version":3}\n',
        b'{"type":"session","version":3,"id":7}\n',
        b'[{"type":"session","id":"x"}]\n',
        b"\x00" * 100,
        b"not json\n" + json.dumps(HEADER).encode(),
    ],
)
def test_a_file_that_is_no_session_is_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_bytes(content)
    os.utime(path, ns=(10**18, 10**18))

    with pytest.raises(NotASessionError, match=r"notes\.jsonl is not a session"):
        FileStore.open(path)

    assert path.read_bytes() == content
    assert path.stat().st_mtime_ns == 10**18
    assert [file.name for file in tmp_path.iterdir()] == ["notes.jsonl"]


def test_a_pipe_is_no_session(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")

    with pytest.raises(NotASessionError, match="not a regular file"):
        FileStore.open(tmp_path / "pipe.jsonl")


@pytest.mark.parametrize("name", ["absent.jsonl", "folder", "file/below.jsonl"])
def test_what_is_not_there_cannot_be_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()

    with pytest.raises(SessionReadError, match="cannot read the session"):
        FileStore.open(tmp_path / name)


def test_a_header_with_a_byte_order_mark_and_unknown_fields_is_read(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl", user_entry("a", None, "one"), header={**HEADER, "provider": "x", "cwd": 5}
    )
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    with opened(path) as store:
        assert store.header.id == HEADER["id"]
        assert texts(store) == ["one"]


def test_a_second_writer_is_told_who_holds_the_session(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))

    with opened(path), pytest.raises(SessionBusyError) as refused:
        FileStore.open(path)

    assert refused.value.pid in (os.getpid(), None)
    holder = "in use by another process" if refused.value.pid is None else "already open in this process"
    assert f"the session {path} is {holder}: " in str(refused.value)


def test_the_advice_about_a_session_in_use_has_its_id(tmp_path: Path) -> None:
    said = str(SessionBusyError(tmp_path / "2026-01-01T00-00-00-000Z_abc-1.jsonl", 7))

    assert said.startswith(
        "the session abc-1 is in use by process 7: attach to it unless it runs print or rpc mode (kaa agents attach 7),"
    )
    assert "kaa --fork abc-1" in said
    assert "/new" in said


def test_a_closed_session_is_free_again(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))

    with opened(path):
        pass

    with opened(path) as store:
        assert texts(store) == ["one"]


def test_a_new_session_is_locked_from_its_first_entry_on(tmp_path: Path) -> None:
    store = begin(tmp_path / "s.jsonl")
    store.append(MessageEntry(message=say("hi")))

    with pytest.raises(SessionBusyError):
        FileStore.open(tmp_path / "s.jsonl")

    run(store.close())


def test_a_new_session_never_overwrites_a_file(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("mine")
    store = begin(path)

    with pytest.raises(SessionWriteError, match=r"s\.jsonl"):
        store.append(MessageEntry(message=say("hi")))

    assert path.read_text() == "mine"


def test_a_full_disk_leaves_whole_lines_only(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    store = begin(path)
    store.append(MessageEntry(message=say("one")))
    before = path.read_bytes()

    with files_limited_to(len(before) + 100), pytest.raises(SessionWriteError):
        store.append(MessageEntry(message=say("x" * 1000)))

    assert path.read_bytes() == before
    store.append(MessageEntry(message=say("two")))
    assert texts(store) == ["one", "two"]
    run(store.close())


def test_a_full_disk_at_the_first_prompt_leaves_no_file(tmp_path: Path) -> None:
    store = begin(tmp_path / "s.jsonl")

    with files_limited_to(50), pytest.raises(SessionWriteError):
        store.append(MessageEntry(message=say("hello")))

    assert list(tmp_path.iterdir()) == []
    store.append(MessageEntry(message=say("hello")))
    assert texts(store) == ["hello"]
    run(store.close())


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EROFS, "--session-dir"),
        (errno.EACCES, "permission denied"),
        (errno.EIO, "--no-session"),
    ],
)
def test_a_write_error_names_the_file_and_says_what_to_do(code: int, advice: str) -> None:
    error = SessionWriteError.because(Path("/x/s.jsonl"), OSError(code, os.strerror(code)))

    assert "/x/s.jsonl" in str(error)
    assert advice in str(error)


def test_a_folder_that_cannot_be_made_is_a_write_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = begin(tmp_path / "file" / "s.jsonl")

    with pytest.raises(SessionWriteError, match="cannot write the session"):
        store.append(MessageEntry(message=say("hi")))


def test_a_session_deleted_while_in_use_is_reported(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))

    with opened(path) as store:
        path.unlink()
        with pytest.raises(SessionWriteError, match="deleted"):
            store.append(MessageEntry(message=say("two")))


def test_a_session_shortened_while_in_use_is_reported_and_left_alone(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))

    with opened(path) as store:
        store.append(MessageEntry(message=say("two")))
        os.truncate(path, 10)
        with pytest.raises(SessionWriteError, match="shortened"):
            store.append(MessageEntry(message=say("three")))

    assert path.stat().st_size == 10


def test_a_closed_session_takes_no_more_entries(tmp_path: Path) -> None:
    store = begin(tmp_path / "s.jsonl")
    store.append(MessageEntry(message=say("hi")))
    run(store.close())
    run(store.close())

    with pytest.raises(SessionWriteError, match="closed"):
        store.append(MessageEntry(message=say("more")))


def test_closing_waits_for_the_flush_that_was_requested(tmp_path: Path) -> None:
    store = begin(tmp_path / "s.jsonl")
    for number in range(20):
        store.append(MessageEntry(message=say(str(number))))
        store.request_sync()

    run(store.close())

    with opened(tmp_path / "s.jsonl") as again:
        assert len(again.tree) == 20


def test_the_conversation_goes_on_from_a_chosen_entry(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    store = begin(path)
    first, _ = store.append(MessageEntry(message=say("one")), MessageEntry(message=reply("two")))

    store.append(Leaf(target_id=first), MessageEntry(message=reply("other two")))
    run(store.close())

    with opened(path) as again:
        assert texts(again) == ["one", "other two"]


def test_a_leaf_entry_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    store = begin(path)
    first, _ = store.append(MessageEntry(message=say("one")), MessageEntry(message=reply("two")))
    store.append(Leaf(target_id=first))
    run(store.close())

    with opened(path) as again:
        assert texts(again) == ["one"]
        again.append(Leaf(target_id=None))
        assert texts(again) == []


def test_a_leaf_entry_that_points_nowhere_changes_nothing(tmp_path: Path) -> None:
    leaf = {"type": "leaf", "id": "l", "parentId": "a", "targetId": "lost"}
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"), leaf)

    with opened(path) as store:
        assert texts(store) == ["one"]


@pytest.mark.parametrize("kind", ["kept", "unkept"])
def test_whoever_observes_the_tree_can_read_the_line(tmp_path: Path, kind: str) -> None:
    store = begin(tmp_path / "s.jsonl") if kind == "kept" else MemoryStore("/home/u/p")
    lines = list[bytes]()
    store.tree.observe(lambda node: lines.append(store.line(node)))

    store.append(SessionInfo(name="one"), SessionInfo(name="two"))

    assert [json.loads(line)["name"] for line in lines] == ["one", "two"]
    run(store.close())


def test_a_session_in_memory_behaves_like_one_in_a_file(tmp_path: Path) -> None:
    def converse(store: SessionStore) -> list[str]:
        (first,) = store.append(MessageEntry(message=say("one")))
        store.append(MessageEntry(message=reply("two")))
        store.append(MessageEntry(parent_id=first, message=reply("other two")))
        store.request_sync()
        return texts(store)

    kept, unkept = begin(tmp_path / "s.jsonl"), MemoryStore("/home/u/p")

    assert converse(unkept) == converse(kept) == ["one", "other two"]
    assert unkept.path is None
    assert unkept.header.cwd == "/home/u/p"
    run(kept.close())
    run(unkept.close())
