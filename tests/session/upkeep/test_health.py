"""What is told of a session file that is not as it should be."""

import json
from pathlib import Path

import pytest

from kaa.session.errors import NotASessionError, SessionReadError
from kaa.session.file.file_store import journal_path
from kaa.session.upkeep.health import FindingSeverity, check
from kaa.session.upkeep.survey import survey
from tests.support.sessions import HEADER, JsonObject, entry, opened, user_entry, write_session


def told(path: Path) -> list[tuple[int, FindingSeverity, str]]:
    return [(finding.line, finding.severity, finding.problem) for finding in check(path).findings]


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def test_a_session_in_order_is_sound(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"), user_entry("b", "a", "two"))

    health = check(path)

    assert health.findings == ()
    assert health.is_sound
    assert (health.id, health.version, health.entries, health.in_use) == (HEADER["id"], 3, 2, False)


def test_a_torn_end_and_one_without_line_feed_are_told_apart(tmp_path: Path) -> None:
    torn = write_session(tmp_path / "torn.jsonl", user_entry("a", None, "one"))
    open_ended = write_session(tmp_path / "open.jsonl", user_entry("a", None, "one"))
    add(torn, b'{"type":"message","id":"b"')
    add(open_ended, compact(user_entry("b", "a", "two")))

    assert told(torn) == [(3, "error", "torn")]
    assert told(open_ended) == [(3, "warning", "unterminated")]


def test_blank_lines_are_counted_and_not_kept(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))
    add(path, b"\n" * 1_000 + b"rubbish\n\n" + compact(user_entry("b", "a", "two")))

    assert told(path) == [(1003, "error", "unreadable"), (1005, "warning", "unterminated")]
    assert [line.number for line in survey(path).lines] == [1, 2, 1003, 1005]


def test_lines_that_cannot_be_read_and_entries_behind_torn_ones_are_told_by_line(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))
    add(path, b"rubbish\n\n" + b'{"type":"message","id":"x","par' + compact(user_entry("b", "a", "two")) + b"\n")

    assert told(path) == [(3, "error", "unreadable"), (5, "error", "glued")]


def test_parents_that_are_missing_or_come_later_and_ids_twice_are_told(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", "a", "its own parent"),
        user_entry("b", "c", "below a later one"),
        user_entry("c", "gone", "below nothing"),
        user_entry("b", "c", "again"),
    )

    assert told(path) == [
        (2, "warning", "cycle"),
        (3, "warning", "cycle"),
        (4, "warning", "dangling_parent"),
        (5, "warning", "duplicate_id"),
    ]


def test_calls_without_result_are_told_but_harmless(tmp_path: Path) -> None:
    calls: list[JsonObject] = [
        {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {}} for call_id in ("c1", "c2")
    ]
    path = write_session(
        tmp_path / "s.jsonl",
        entry("message", "a", None, message={"role": "assistant", "content": calls, "timestamp": 1}),
        entry("message", "b", "a", message={"role": "toolResult", "toolCallId": "c1", "content": [], "timestamp": 2}),
    )

    assert told(path) == [(2, "note", "call_without_result")]
    assert "'c2'" in check(path).findings[0].text
    assert check(path).is_sound


def test_a_summary_that_keeps_what_is_on_another_branch_is_told(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", None, "one"),
        user_entry("b", "a", "left"),
        entry("compaction", "c", "a", summary="so far", firstKeptEntryId="b", tokensBefore=9),
        entry("compaction", "d", "c", summary="so far", firstKeptEntryId="a", tokensBefore=9),
    )

    assert told(path) == [(4, "warning", "compaction")]


def test_what_is_newer_older_unknown_or_twice_is_no_damage(tmp_path: Path) -> None:
    newer = write_session(tmp_path / "n.jsonl", entry("context_edit", "a", None), header={**HEADER, "version": 9})
    older = write_session(tmp_path / "o.jsonl", user_entry("a", None, "hi"), header={**HEADER, "version": 2})
    twice = write_session(tmp_path / "t.jsonl", HEADER, user_entry("a", None, "hi"))

    assert told(newer) == [(1, "note", "version"), (2, "note", "unknown")]
    assert told(older) == [(1, "note", "version")]
    assert told(twice) == [(2, "note", "header_again")]


def test_a_lost_header_is_an_error_while_something_was_said(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"{torn header\n" + compact(user_entry("a", None, "hi")) + b"\n")

    assert told(path) == [(1, "error", "no_header"), (1, "error", "unreadable")]


def test_who_has_it_open_and_what_was_interrupted_is_told(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"))
    with opened(path):
        held = check(path)
    journal_path(path).write_text("{}")

    assert held.in_use
    assert [finding.problem for finding in held.findings] == ["in_use"]
    assert told(path) == [(0, "note", "journal")]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"notes\n", b'{"type": "package", "id": "x"}\n', b"\0" * 100])
def test_what_is_no_session_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.jsonl").write_bytes(content)

    with pytest.raises(NotASessionError):
        check(tmp_path / "s.jsonl")


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SessionReadError):
        check(tmp_path / "gone.jsonl")


def test_checking_changes_nothing(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", "gone", "one"))
    add(path, b"torn")
    before = path.read_bytes(), path.stat().st_mtime_ns

    check(path)

    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [file.name for file in tmp_path.iterdir()] == ["s.jsonl"]
