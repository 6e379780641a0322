"""Copies of sessions: forks of everything, forks at a point, clones."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given

from kaa.session.entries import Label, MessageEntry
from kaa.session.errors import EntryNotFoundError, NotASessionError, SessionReadError
from kaa.session.file.file_store import FileStore, agents_folder
from kaa.session.library.finding import SessionLibrary
from kaa.session.store import session_name
from tests.session.damaged_lines import CLAIMS, TORN_ENDS, Claim, session_of
from tests.support.agent_sessions import LEAD, SCOUT, write_with_agents
from tests.support.agents import run, say
from tests.support.sessions import HEADER, JsonObject, entry, opened, texts, user_entry, write_session

UNKNOWN = entry("context_edit", "u", "a", edits=[1, {"deep": "ä"}])


def library(tmp_path: Path) -> SessionLibrary:
    return SessionLibrary("/home/u/here", tmp_path / "sessions")


def forked(source: SessionLibrary, path: Path, entry_id: str | None = None, *, inclusive: bool = True) -> FileStore:
    store = source.fork_path(path, entry_id, inclusive=inclusive)
    run(store.close())
    return store


def lines_of(path: Path) -> list[JsonObject]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_session(
        tmp_path / "source.jsonl",
        user_entry("a", None, "one"),
        UNKNOWN,
        user_entry("b", "u", "two"),
        user_entry("x", "a", "elsewhere"),
        user_entry("c", "b", "three"),
    )


def test_a_fork_of_everything_has_all_branches_byte_for_byte_under_a_header_of_its_own(
    tmp_path: Path, source: Path
) -> None:
    before = source.read_bytes()

    store = library(tmp_path).fork(source)

    run(store.close())
    header, *entries = store.path.read_bytes().splitlines()
    assert entries == before.splitlines()[1:]
    assert json.loads(header)["cwd"] == "/home/u/here"
    assert json.loads(header)["parentSession"] == str(source)
    assert json.loads(header)["id"] != HEADER["id"]
    assert store.path.parent.parent == tmp_path / "sessions"
    assert source.read_bytes() == before


def test_a_clone_has_only_the_current_branch_and_what_is_not_understood_on_it(tmp_path: Path, source: Path) -> None:
    store = forked(library(tmp_path), source)

    assert [line["id"] for line in lines_of(store.path)[1:]] == ["a", "u", "b", "c"]
    assert store.path.read_bytes().splitlines()[2] == source.read_bytes().splitlines()[2]


def test_a_fork_ends_at_an_entry_or_before_it(tmp_path: Path, source: Path) -> None:
    at = forked(library(tmp_path), source, "x")
    before = forked(library(tmp_path), source, "x", inclusive=False)

    assert [node.id for node in at.tree.path()] == ["a", "x"]
    assert [node.id for node in before.tree.path()] == ["a"]


def test_a_fork_before_the_first_entry_is_a_new_session_that_knows_its_parent(tmp_path: Path, source: Path) -> None:
    store = library(tmp_path).fork_path(source, "a", inclusive=False)

    assert not store.path.exists()
    store.append(MessageEntry(message=say("new")))
    run(store.close())
    assert lines_of(store.path)[0]["parentSession"] == str(source)
    with opened(store.path) as again:
        assert texts(again) == ["new"]


def test_a_copy_can_be_made_while_the_source_is_written(tmp_path: Path, source: Path) -> None:
    with opened(source) as writing:
        writing.append(MessageEntry(message=say("four")))
        copy = forked(library(tmp_path), source)

    with opened(copy.path) as again:
        assert texts(again) == ["one", "two", "three", "four"]


def test_labels_of_what_is_copied_are_kept_wherever_they_were_given(tmp_path: Path, source: Path) -> None:
    with opened(source) as store:
        store.append(Label(target_id="b", label="start"), Label(target_id="x", label="other branch"))
        store.append(Label(target_id="a", label="soon gone"), Label(target_id="b", label="kept"), Label(target_id="a"))

    copy = forked(library(tmp_path), source, "c")

    labels = [(line["targetId"], line.get("label")) for line in lines_of(copy.path) if line["type"] == "label"]
    assert labels == [("b", "kept")]
    with opened(copy.path) as again:
        assert texts(again) == ["one", "two", "three"]
        assert again.tree.path()[-1].type == "label"


def test_labels_on_the_path_are_changed_only_where_they_no_longer_hold(tmp_path: Path, source: Path) -> None:
    with opened(source) as store:
        store.append(Label(target_id="a", label="first"), Label(target_id="b", label="second"))
        (end,) = store.append(MessageEntry(message=say("four")))
        store.append(Label(target_id="a"))

    copy = forked(library(tmp_path), source, end)

    labels = [(line["targetId"], line.get("label")) for line in lines_of(copy.path) if line["type"] == "label"]
    assert labels == [("a", "first"), ("b", "second"), ("a", None)]


def test_the_name_comes_along_if_it_was_given_on_the_way(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", None, "one"),
        entry("session_info", "i", "a", name="my work"),
        user_entry("b", "i", "two"),
    )

    with_name, without = forked(library(tmp_path), path, "b"), forked(library(tmp_path), path, "a")

    with opened(with_name.path) as store:
        assert session_name(store) == "my work"
    with opened(without.path) as store:
        assert session_name(store) is None


def test_what_pi_and_kills_leave_behind_is_mended_on_the_way(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", HEADER, user_entry("a", "gone", "one"))
    with path.open("ab") as file:
        glued = json.dumps(user_entry("b", "torn", "two"), separators=(",", ":"))
        file.write(b'{"type":"message","id":"torn","par' + glued.encode() + b"\n")
        file.write(b'{"type":"mess')

    whole, branch = library(tmp_path).fork(path), forked(library(tmp_path), path)
    run(whole.close())

    for copy in (whole, branch):
        assert sum(line.startswith(b'{"type":"session"') for line in copy.path.read_bytes().splitlines()) == 1
        assert copy.path.read_bytes().endswith(b"}\n")
        with opened(copy.path) as again:
            assert texts(again) == ["one", "two"]


@pytest.mark.parametrize("version", [None, 2])
def test_copies_of_old_formats_are_in_todays(tmp_path: Path, version: int | None) -> None:
    header = {key: value for key, value in HEADER.items() if key != "version"} | (
        {"version": version} if version else {}
    )
    message = {"role": "user", "content": "hi", "timestamp": 1}
    path = tmp_path / "old.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in (header, {"type": "message", "message": message})) + "\n")
    before = path.read_bytes()

    whole, branch = library(tmp_path).fork(path), forked(library(tmp_path), path)
    run(whole.close())

    assert path.read_bytes() == before
    for copy in (whole, branch):
        assert lines_of(copy.path)[0]["version"] == 3
        assert lines_of(copy.path)[0]["parentSession"] == str(path)
        with opened(copy.path) as again:
            assert texts(again) == ["hi"]


def test_what_cannot_be_copied_is_refused_and_leaves_nothing(tmp_path: Path, source: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("just notes")

    with pytest.raises(EntryNotFoundError, match="no entry 'nowhere'"):
        library(tmp_path).fork_path(source, "nowhere")
    with pytest.raises(NotASessionError):
        library(tmp_path).fork(tmp_path / "notes.jsonl")
    with pytest.raises(SessionReadError):
        library(tmp_path).fork(tmp_path / "gone.jsonl")

    assert not list((tmp_path / "sessions").rglob("*.*"))


def test_an_entry_that_pi_wrote_below_a_turn_keeps_it(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", None, "one"),
        user_entry("b", "a", "left"),
        entry("leaf", "l", "a", targetId="a"),
        user_entry("c", "l", "with pi"),
        entry("leaf", "m", "c", targetId="c"),
    )

    copy = forked(library(tmp_path), path)

    assert [line["id"] for line in lines_of(copy.path)[1:]] == ["a", "l", "c"]


@given(CLAIMS, TORN_ENDS)
@example([("user", "b", None), ("leaf", "b", None), ("leaf", "b", "b"), ("glued", "a", "a")], b"")
def test_whatever_is_wrong_with_the_source_a_copy_says_the_same(claims: list[Claim], end: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(session_of(claims, end))

        whole, branch = library(Path(folder)).fork(path), library(Path(folder)).fork_path(path)

        with opened(path) as original:
            assert texts(whole) == texts(branch) == texts(original)
            assert len(whole.tree) == len(original.tree)
        for copy in (whole, branch):
            copy.release()
        assert path.read_bytes() == session_of(claims, end)


def test_agents_that_began_in_what_is_copied_come_along(tmp_path: Path) -> None:
    source = write_with_agents(tmp_path)

    whole, start = library(tmp_path).fork(source), library(tmp_path).fork_path(source, "r")

    run(whole.close())
    run(start.close())
    assert sorted(path.stem for path in agents_folder(whole.path).iterdir()) == [LEAD, SCOUT]
    assert not agents_folder(start.path).exists()
