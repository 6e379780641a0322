"""Finding sessions."""

import json
import os
from pathlib import Path

import pytest

from kaa.session.entries import MessageEntry
from kaa.session.errors import SessionBusyError, SessionError, SessionNotFoundError
from kaa.session.file.file_store import FileStore
from kaa.session.library.finding import SessionLibrary, pi_sessions
from kaa.session.naming import folder_name
from tests.support.agent_sessions import begun, told, write_agent
from tests.support.agents import run, say
from tests.support.full_disk import files_limited_to
from tests.support.sessions import HEADER, user_entry, write_session


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def stored(folder: Path, session_id: str, cwd: str, age: int = 0) -> Path:
    """A session in `folder`, last written `age` seconds before some fixed time."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"2026-11-20T07-49-44-305Z_{session_id}.jsonl"
    write_session(path, user_entry("a", None, "hi"), header={**HEADER, "id": session_id, "cwd": cwd})
    os.utime(path, (1_795_160_000 - age, 1_795_160_000 - age))
    return path


def test_where_there_are_no_sessions_none_is_found(root: Path) -> None:
    library = SessionLibrary("/home/u/p", root)

    assert library.most_recent() is None
    assert library.with_id("0") is None
    with pytest.raises(SessionNotFoundError, match="no session"):
        library.resolve("0")


def test_a_session_that_was_just_made_is_the_most_recent(root: Path) -> None:
    library = SessionLibrary("/home/u/p", root)
    store = library.create()
    store.append(MessageEntry(message=say("hi")))
    run(store.close())

    assert library.most_recent() == store.path
    assert library.resolve(store.header.id[:18]) == store.path


def test_the_most_recent_session_is_the_one_written_last(root: Path) -> None:
    folder = root / folder_name("/home/u/p")
    stored(folder, "old", "/home/u/p", age=100)
    newest = stored(folder, "new", "/home/u/p", age=1)
    stored(folder, "middle", "/home/u/p", age=50)

    assert SessionLibrary("/home/u/p", root).most_recent() == newest


def test_what_is_no_session_is_passed_over(root: Path) -> None:
    folder = root / folder_name("/home/u/p")
    session = stored(folder, "real", "/home/u/p", age=100)
    (folder / "x_notes.jsonl").write_text("not a session")
    (folder / "x_empty.jsonl").touch()
    (folder / "x_folder.jsonl").mkdir()
    (folder / "x_link.jsonl").symlink_to("nowhere")
    os.mkfifo(folder / "x_pipe.jsonl")
    (folder / "x.jsonl.partial").write_text("{}")

    assert SessionLibrary("/home/u/p", root).most_recent() == session


def test_projects_whose_folders_have_the_same_name_do_not_see_each_others_sessions(root: Path) -> None:
    assert folder_name("/a-b") == folder_name("/a/b")
    stored(root / folder_name("/a-b"), "theirs", "/a/b", age=1)
    ours = stored(root / folder_name("/a-b"), "ours", "/a-b", age=100)

    assert SessionLibrary("/a-b", root).most_recent() == ours


def test_a_directory_reached_by_a_link_is_the_same_project(root: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "link").symlink_to("project")
    path = stored(root / folder_name(str(tmp_path / "project")), "x", str(tmp_path / "link"))

    assert SessionLibrary(str(tmp_path / "project"), root).most_recent() == path


def test_a_directory_that_no_system_knows_is_another_project(root: Path) -> None:
    folder = root / folder_name("/home/u/p")
    stored(folder, "strange", "/home/u\0/p")
    ours = stored(folder, "ours", "/home/u/p", age=10)

    assert SessionLibrary("/home/u/p", root).most_recent() == ours


def test_old_sessions_that_do_not_know_their_directory_belong_to_their_folder(root: Path) -> None:
    path = stored(root / folder_name("/home/u/p"), "x", "")

    assert SessionLibrary("/home/u/p", root).most_recent() == path


def test_a_folder_of_its_own_holds_all_projects_without_mixing_them(root: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    stored(shared, "other", "/other", age=1)
    stored(shared, "unknown", "", age=2)
    ours = stored(shared, "ours", "/home/u/p", age=100)
    library = SessionLibrary("/home/u/p", root, session_dir=shared)

    store = library.create()

    assert library.most_recent() == ours
    assert store.path.parent == shared


def test_an_id_prefix_finds_the_session_of_this_project_first(root: Path) -> None:
    ours = stored(root / folder_name("/home/u/p"), "01a1-ours", "/home/u/p")
    theirs = stored(root / folder_name("/other"), "01a1-theirs", "/other")
    library = SessionLibrary("/home/u/p", root)

    assert library.resolve("01a1") == ours
    assert library.resolve("01A1-THEIRS") == theirs


def test_a_whole_id_is_not_ambiguous_because_others_begin_with_it(root: Path) -> None:
    nightly = stored(root / folder_name("/p"), "nightly", "/p")
    stored(root / folder_name("/p"), "nightly-42", "/p")

    assert SessionLibrary("/p", root).resolve("nightly") == nightly


def test_an_ambiguous_prefix_lists_the_candidates(root: Path) -> None:
    folder = root / folder_name("/home/u/p")
    candidates = (stored(folder, "01a1", "/home/u/p"), stored(folder, "01a2", "/home/u/p"))

    with pytest.raises(SessionNotFoundError, match="fits 2 sessions") as refused:
        SessionLibrary("/home/u/p", root).resolve("01a")

    assert refused.value.candidates == candidates


def test_the_end_of_an_id_that_kaa_shows_of_conversations_at_work_finds_its_session(root: Path) -> None:
    ours = stored(root / folder_name("/p"), "01a1f7ee-caf1-191af9f2", "/p")
    stored(root / folder_name("/p"), "01a1f7ee-caf1-292bf9f2", "/p")

    assert SessionLibrary("/p", root).resolve("191AF9F2") == ours
    with pytest.raises(SessionNotFoundError):
        SessionLibrary("/p", root).resolve("af9f2")


def test_a_path_is_taken_as_it_is(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stored(tmp_path, "x", "/elsewhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    library = SessionLibrary("/home/u/p", root)

    assert library.resolve(str(path)) == path
    assert library.resolve(path.name) == path
    assert library.resolve(f"~/{path.name}") == path


def test_a_file_that_has_the_beginning_of_an_id_as_its_name_is_not_taken_for_the_session(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = stored(root / folder_name("/home/u/p"), "01a1", "/home/u/p")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "01a1").write_bytes(ours.read_bytes())

    assert SessionLibrary("/home/u/p", root).resolve("01a1") == ours
    assert SessionLibrary("/home/u/p", root).resolve("./01a1") == tmp_path / "01a1"


@pytest.mark.parametrize("wanted", ["", "gone.jsonl", "./gone", "x" * 5000, "~no-such-user/x", "a\0b"])
def test_what_names_no_session_is_reported(root: Path, wanted: str) -> None:
    stored(root / folder_name("/home/u/p"), "01a1", "/home/u/p")

    with pytest.raises(SessionNotFoundError):
        SessionLibrary("/home/u/p", root).resolve(wanted)


def test_a_session_found_can_be_opened(root: Path) -> None:
    path = stored(root / folder_name("/home/u/p"), "01a1", "/home/u/p")

    store = FileStore.open(SessionLibrary("/home/u/p", root).resolve("01a"))

    assert store.header.id == "01a1"
    assert store.path == path
    run(store.close())


def test_a_session_can_have_an_id_of_the_users_and_is_found_by_it(root: Path) -> None:
    library = SessionLibrary("/home/u/p", root)
    store = library.create("nightly.build-7")
    store.append(MessageEntry(message=say("hi")))
    run(store.close())
    stored(root / folder_name("/home/u/p"), "nightly.build-77", "/home/u/p")

    assert store.header.id == "nightly.build-7"
    assert store.path.name.endswith("Z_nightly.build-7.jsonl")
    assert library.with_id("nightly.build-7") == store.path
    assert library.with_id("nightly") is None
    assert SessionLibrary("/other", root).with_id("nightly.build-7") is None


def test_a_session_of_one_id_is_begun_once_at_a_time(root: Path) -> None:
    library = SessionLibrary("/home/u/p", root)
    first = library.open_or_create("nightly")

    with pytest.raises(SessionBusyError, match="already open"):
        library.open_or_create("nightly")
    run(SessionLibrary("/other", root).open_or_create("nightly").close())
    first.append(MessageEntry(message=say("hi")))
    with pytest.raises(SessionBusyError):
        library.open_or_create("nightly")
    run(first.close())
    again = library.open_or_create("nightly")

    assert again.path == first.path
    assert len(again.tree) == 1
    assert [path.name for path in first.path.parent.iterdir()] == [first.path.name]
    run(again.close())


def test_an_id_is_free_again_when_nothing_was_said_or_its_process_was_killed(root: Path) -> None:
    library = SessionLibrary("/home/u/p", root)
    run(library.open_or_create("nightly").close())
    folder = root / folder_name("/home/u/p")
    unused = library.open_or_create("nightly")
    [claim] = folder.iterdir()
    run(unused.close())
    claim.touch()  # what a kill leaves

    store = library.open_or_create("nightly")
    store.append(MessageEntry(message=say("hi")))
    run(store.close())

    assert list(folder.iterdir()) == [store.path]


def test_sessions_of_other_programs_are_found_by_id_last_and_are_never_the_most_recent(
    root: Path, tmp_path: Path
) -> None:
    pis = pi_sessions({"PI_CODING_AGENT_DIR": str(tmp_path / "pi")})
    theirs = stored(pis / folder_name("/home/u/p"), "01a1-pi", "/home/u/p", age=1)
    library = SessionLibrary("/home/u/p", root, others=(pis,))

    assert library.resolve("01a1") == theirs
    assert library.most_recent() is None
    ours = stored(root / folder_name("/other"), "01a1-ours", "/other")
    assert library.resolve("01a1") == ours
    assert library.resolve("01a1-p") == theirs


def test_a_copy_whose_agents_cannot_be_copied_does_not_stay(root: Path) -> None:
    source = stored(root / folder_name("/home/u/p"), "source", "/home/u/p")
    write_agent(source, "scout-aaaaaa", told("k", "Look." * 200))
    with source.open("a") as file:
        file.write(json.dumps(begun("b", "a", "scout-aaaaaa", "", "Look.")) + "\n")

    with files_limited_to(source.stat().st_size + 400), pytest.raises(SessionError):
        SessionLibrary("/home/u/p", root).fork(source)

    assert SessionLibrary("/home/u/p", root).most_recent() == source
