"""pi's formats v1 and v2: read as they are, continued in a new file of today's format."""

import json
from pathlib import Path

from kaa.session.context import build_context
from kaa.session.entries import MessageEntry
from kaa.session.file.file_store import FileStore
from tests.support.agents import run, say
from tests.support.sessions import JsonObject, opened, texts, user_entry, write_session

_V1_HEADER: JsonObject = {
    "type": "session",
    "id": "0b1c",
    "timestamp": "2025-11-20T07:49:44.305Z",
    "cwd": "/home/u/p",
    "provider": "p",
    "modelId": "m",
    "thinkingLevel": "off",
}
_TIME = {"timestamp": "2025-11-20T07:49:45.000Z"}


def v1_message(text: str) -> JsonObject:
    return {"type": "message", **_TIME, "message": {"role": "user", "content": text, "timestamp": 5}}


def v1_session(path: Path) -> Path:
    return write_session(
        path,
        v1_message("one"),
        v1_message("two"),
        # The header has index 0, so 2 is "two".
        {"type": "compaction", **_TIME, "summary": "SHORT", "firstKeptEntryIndex": 2, "tokensBefore": 9},
        v1_message("three"),
        header=_V1_HEADER,
    )


def test_a_v1_session_is_read_without_ids(tmp_path: Path) -> None:
    path = v1_session(tmp_path / "old.jsonl")

    with opened(path) as store:
        summary, *rest = texts(store)

    assert "SHORT" in summary
    assert rest == ["two", "three"]


def test_an_old_file_is_never_changed(tmp_path: Path) -> None:
    path = v1_session(tmp_path / "old.jsonl")
    before, modified = path.read_bytes(), path.stat().st_mtime_ns

    with opened(path) as store:
        store.append(MessageEntry(message=say("four")))

    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, modified)


def test_looking_at_an_old_session_writes_nothing(tmp_path: Path) -> None:
    with opened(v1_session(tmp_path / "old.jsonl")) as store:
        build_context(store)

    assert [file.name for file in tmp_path.iterdir()] == ["old.jsonl"]


def test_an_old_session_is_continued_in_a_new_file_that_names_it(tmp_path: Path) -> None:
    path = v1_session(tmp_path / "old.jsonl")
    store = FileStore.open(path)

    store.append(MessageEntry(message=say("four")))
    run(store.close())

    header, *entries = [json.loads(line) for line in store.path.read_text().splitlines()]
    assert store.path.parent == tmp_path
    assert (header["version"], header["parentSession"], header["cwd"]) == (3, str(path), "/home/u/p")
    assert header["id"] != "0b1c"
    assert [line["parentId"] for line in entries] == [None, *(line["id"] for line in entries[:-1])]
    assert entries[2]["firstKeptEntryId"] == entries[1]["id"]
    assert "firstKeptEntryIndex" not in entries[2]
    with opened(store.path) as again:
        assert texts(again)[1:] == ["two", "three", "four"]


def test_damaged_lines_of_an_old_session_are_carried_over(tmp_path: Path) -> None:
    path = v1_session(tmp_path / "old.jsonl")
    path.write_bytes(path.read_bytes() + b'garbage\n{"type":"message","torn')
    store = FileStore.open(path)

    store.append(MessageEntry(message=say("four")))
    run(store.close())

    lines = store.path.read_bytes().splitlines()
    assert lines[5:7] == [b"garbage", b'{"type":"message","torn']
    with opened(store.path) as again:
        assert texts(again)[1:] == ["two", "three", "four"]


def test_v2_calls_messages_of_extensions_hook_messages(tmp_path: Path) -> None:
    hook = {"type": "message", "id": "b", "parentId": "a", **_TIME}
    message = {"role": "hookMessage", "customType": "x", "content": "NOTE", "display": True, "timestamp": 5}
    path = write_session(
        tmp_path / "old.jsonl",
        user_entry("a", None, "one"),
        {**hook, "message": message},
        header={**_V1_HEADER, "version": 2},
    )

    store = FileStore.open(path)
    assert texts(store) == ["one", "NOTE"]
    store.append(MessageEntry(message=say("two")))
    run(store.close())

    written = [json.loads(line) for line in store.path.read_text().splitlines()]
    assert [line["id"] for line in written[1:3]] == ["a", "b"]
    assert written[2]["message"]["role"] == "custom"


def test_a_newer_version_than_ours_is_read_and_continued_in_place(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"), header={**_V1_HEADER, "version": 4})

    with opened(path) as store:
        store.append(MessageEntry(message=say("two")))

    with opened(path) as store:
        assert store.path == path
        assert texts(store) == ["one", "two"]
