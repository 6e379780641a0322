"""Sessions are read for an export whatever became of them, and nothing is changed."""

import os
from pathlib import Path

import pytest

from kaa.session.errors import NotASessionError, SessionReadError
from kaa.session.export.selection import ExportSelection, pick
from kaa.session.export.source import SnapshotFile
from tests.support.sessions import HEADER, JsonObject, opened, user_entry, write_session

OLD_HEADER: JsonObject = {key: value for key, value in HEADER.items() if key != "version"}

ALL_OF_A_BRANCH = ExportSelection()


def ids(path: Path, selection: ExportSelection = ALL_OF_A_BRANCH) -> list[str]:
    with SnapshotFile.open(path) as source:
        return [entry.node.id for entry in pick(source, selection)]


def test_a_session_in_use_is_read(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "hi"))

    with opened(path):
        assert ids(path) == ["a"]


def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "hi"))
    path.write_bytes(path.read_bytes() + b'{"type":"message","id":"torn')
    before = path.read_bytes(), os.listdir(tmp_path)

    assert ids(path) == ["a"]

    assert (path.read_bytes(), os.listdir(tmp_path)) == before


def test_what_was_written_after_a_moment_is_left_out(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "hi"))
    size = path.stat().st_size
    write_session(path, user_entry("a", None, "hi"), user_entry("b", "a", "there"))

    with SnapshotFile.open(path, size) as source:
        assert [node.id for node in source.tree.path()] == ["a"]


def test_an_old_session_reads_like_one_of_today(tmp_path: Path) -> None:
    entries = [{"type": "message", "message": {"role": "user", "content": text}} for text in ("one", "two")]
    path = write_session(tmp_path / "s.jsonl", *entries, header=OLD_HEADER)

    with SnapshotFile.open(path) as source:
        picked = list(pick(source, ExportSelection()))

    assert [entry.fields["parentId"] for entry in picked] == [None, picked[0].node.id]


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text("not a session\n")

    with pytest.raises(NotASessionError):
        ids(path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    with pytest.raises(NotASessionError):
        ids(path)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(SessionReadError):
        ids(tmp_path / "none.jsonl")


def test_only_the_current_branch_is_picked_unless_all_are_wanted(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl", user_entry("a", None, "hi"), user_entry("b", "a", "left"), user_entry("c", "a", "now")
    )

    assert ids(path) == ["a", "c"]
    assert ids(path, ExportSelection(all_branches=True)) == ["a", "b", "c"]
