"""Mending session files."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given

from kaa.session.errors import NotASessionError, SessionBusyError, SessionWriteError
from kaa.session.file.decoding import read_head
from kaa.session.upkeep.health import check
from kaa.session.upkeep.repair import repair
from tests.session.damaged_lines import CLAIMS, TORN_ENDS, Claim, compact, session_of
from tests.support.full_disk import files_limited_to
from tests.support.sessions import HEADER, entry, opened, texts, user_entry, write_session


def broken(path: Path) -> Path:
    write_session(path, user_entry("a", "gone", "one"), user_entry("b", "a", "two"))
    with path.open("ab") as file:
        file.write(b"rubbish\n")
        file.write(b'{"type":"message","id":"x","par' + compact(user_entry("b", "lost", "three")) + b"\n")
        file.write(compact(entry("leaf", "l", "b", targetId="b")) + b"\n")
        file.write(b'{"type":"mess')
    return path


def test_a_copy_beside_leaves_the_original_as_it_is(tmp_path: Path) -> None:
    path = broken(tmp_path / "s.jsonl")
    before = path.read_bytes()

    repaired = repair(path)

    assert path.read_bytes() == before
    assert repaired.original == path
    assert check(repaired.session).findings == ()
    with opened(repaired.session) as store, opened(path) as original:
        assert texts(store) == texts(original) == ["one", "two", "three"]
        assert store.header.parent_session == str(path)
        assert store.header.id != original.header.id


def test_in_place_the_original_is_kept_beside(tmp_path: Path) -> None:
    path = broken(tmp_path / "s.jsonl")
    before = path.read_bytes()

    first, second = repair(path, in_place=True), repair(path, in_place=True)

    assert first.session == path
    assert first.original.name == "s.jsonl.bak"
    assert first.original.read_bytes() == before
    assert second.original.name == "s.jsonl.bak1"
    assert second.mended == 0
    assert check(path).findings == ()
    assert json.loads(path.read_bytes().splitlines()[0]) == HEADER
    assert path.stat().st_mode & 0o777 == 0o600


def test_not_a_byte_of_what_cannot_be_read_is_lost(tmp_path: Path) -> None:
    path = broken(tmp_path / "s.jsonl")

    repaired = repair(path, in_place=True)

    assert repaired.damaged is not None
    assert repaired.damaged.read_bytes() == b'rubbish\n{"type":"message","id":"x","par\n{"type":"mess\n'


def test_where_nothing_is_wrong_every_line_stays_byte_for_byte(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", None, "ä"),
        entry("context_edit", "b", "a", number=1.0, big=2**70, nested={"parentId": "other"}),
    )
    before = path.read_bytes()

    repaired = repair(path, in_place=True)

    assert path.read_bytes().splitlines()[1:] == before.splitlines()[1:]
    assert (repaired.mended, repaired.damaged) == (0, None)


def test_only_the_place_of_an_entry_changes_not_what_it_holds(tmp_path: Path) -> None:
    line = (
        '{"type": "custom", "data": {"parentId": "inner", "n": 1.50, "big": 1180591620717411303424},'
        ' "id": "a", "parentId" : "gone"}'
    )
    path = tmp_path / "s.jsonl"
    path.write_text(f"{json.dumps(HEADER)}\n{json.dumps(user_entry('r', None, 'root'))}\n{line}\n")

    repair(path, in_place=True)

    assert path.read_text().splitlines()[2] == line.replace('"parentId" : "gone"', '"parentId":"r"')


def test_a_line_full_of_ids_is_read_only_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [{"type": "toolCall", "id": f"call{number}"} for number in range(1_000)]
    full = {"type": "message", "message": {"role": "assistant", "content": calls}, "id": "a", "parentId": None}
    path = write_session(tmp_path / "s.jsonl", full, user_entry("a", None, "the last of its id"))
    read: list[bytes] = []

    def counted(line: bytes) -> object:
        read.append(line)
        return read_head(line)

    monkeypatch.setattr("kaa.session.upkeep.repair.read_head", counted)

    assert repair(path, in_place=True).mended == 1

    assert len(read) < 100
    repaired = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert repaired[1]["id"] != "a"
    assert repaired[1] == {**full, "id": repaired[1]["id"]}


def test_a_lost_header_is_made_anew_from_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "2026-11-20T07-49-44-305Z_my-id.jsonl"
    path.write_bytes(b"{torn\n" + compact(user_entry("a", None, "hi")) + b"\n")

    repair(path, in_place=True)

    with opened(path) as store:
        assert store.header.id == "my-id"
        assert texts(store) == ["hi"]


def test_old_formats_become_todays(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    header = {key: value for key, value in HEADER.items() if key != "version"}
    path.write_bytes(
        compact(header)
        + b"\nrubbish\n"
        + compact({"type": "message", "message": {"role": "user", "content": "hi"}})
        + b"\n"
    )

    repaired = repair(path, in_place=True)

    assert check(path).findings == ()
    assert check(path).version == 3
    assert repaired.damaged is not None
    with opened(path) as store:
        assert texts(store) == ["hi"]


def test_what_is_in_use_or_no_session_is_left_alone(tmp_path: Path) -> None:
    path = broken(tmp_path / "s.jsonl")
    notes = tmp_path / "notes.jsonl"
    notes.write_text("precious\n")

    with opened(path), pytest.raises(SessionBusyError):
        repair(path)
    with pytest.raises(NotASessionError):
        repair(notes, in_place=True)

    assert notes.read_text() == "precious\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["notes.jsonl", "s.jsonl"]


def test_a_result_that_cannot_be_written_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = broken(tmp_path / "s.jsonl")
    before = path.read_bytes()

    with files_limited_to(50), pytest.raises(SessionWriteError):
        repair(path, in_place=True)

    assert path.read_bytes() == before


@given(CLAIMS, TORN_ENDS)
@example([("user", "a", None), ("user", "b", None), ("leaf", "b", "b")], b"")
def test_whatever_is_wrong_the_repaired_session_is_sound_and_says_the_same(claims: list[Claim], end: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(session_of(claims, end))
        with opened(path) as store:
            before = texts(store)
            count = len(store.tree)

        repaired = repair(path)
        repair(path, in_place=True)

        for result in (repaired.session, path):
            assert check(result).findings == ()
            with opened(result) as store:
                assert texts(store) == before
                assert len(store.tree) == count
