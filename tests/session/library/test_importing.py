"""Session files from elsewhere become sessions of the library, whatever their makers have written into them."""

import os
from pathlib import Path

import pytest

from kaa.session.errors import NotASessionError, SessionReadError, SessionWriteError
from kaa.session.library.importing import Imported, import_session
from tests.support.agent_sessions import LEAD, SCOUT, write_with_agents
from tests.support.sessions import HEADER, JsonObject, opened, texts, user_entry, write_session


class Library:
    """Folders of sessions by directory, and a current directory."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "sessions"
        self.cwd = folder / "project"
        self.cwd.mkdir()

    def take(self, source: Path) -> Imported:
        return import_session(source, lambda cwd: self.root / Path(cwd).name, str(self.cwd))

    @property
    def files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if path.is_file())


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


def elsewhere(tmp_path: Path, *entries: JsonObject, **header: object) -> Path:
    """A session file in a folder that is not the library's."""
    lines = entries or (user_entry("a", None, "hello"),)
    return write_session(tmp_path / "from-elsewhere.jsonl", *lines, header={**HEADER, **header})


def test_it_is_copied_and_the_file_stays_as_it_was(tmp_path: Path, library: Library) -> None:
    source = elsewhere(tmp_path, cwd=str(library.cwd))
    before = source.read_bytes()

    imported = library.take(source)

    assert library.files == [imported.path]
    assert imported.path.name == f"2026-11-20T07-49-44-305Z_{HEADER['id']}.jsonl"
    assert imported.path.read_bytes().splitlines()[1:] == before.splitlines()[1:]
    assert source.read_bytes() == before
    assert (imported.path.stat().st_mode & 0o777, imported.path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_directory_that_is_not_here_is_replaced_by_the_current_one(tmp_path: Path, library: Library) -> None:
    imported = library.take(elsewhere(tmp_path, cwd="/not/on/this/machine"))

    assert imported.header.cwd == str(library.cwd)
    assert imported.path.parent.name == "project"
    assert "/not/on/this/machine is not on this machine" in imported.report
    with opened(imported.path) as store:
        assert store.header.cwd == str(library.cwd)


def test_a_session_about_another_directory_of_this_machine_goes_to_its_sessions(
    tmp_path: Path, library: Library
) -> None:
    (tmp_path / "other").mkdir()

    imported = library.take(elsewhere(tmp_path, cwd=str(tmp_path / "other")))

    assert imported.path.parent.name == "other"
    assert imported.moved_from is None


def test_the_same_session_is_found_again(tmp_path: Path, library: Library) -> None:
    source = elsewhere(tmp_path)
    first = library.take(source)

    second = library.take(source)

    assert second.was_there
    assert (second.path, library.files) == (first.path, [first.path])


def test_one_that_was_continued_since_becomes_another_session(tmp_path: Path, library: Library) -> None:
    first = library.take(elsewhere(tmp_path))
    with opened(first.path) as store:
        assert texts(store) == ["hello"]

    second = library.take(elsewhere(tmp_path, user_entry("a", None, "hello"), user_entry("b", "a", "more")))

    assert second.header.id != first.header.id
    assert len(library.files) == 2
    with opened(second.path) as store:
        assert (store.header.id, texts(store)) == (second.header.id, ["hello", "more"])


def test_an_old_session_is_brought_to_the_format_of_today(tmp_path: Path, library: Library) -> None:
    header = {key: value for key, value in HEADER.items() if key != "version"}
    old = {"type": "message", "message": {"role": "user", "content": "long ago"}}
    source = write_session(tmp_path / "old.jsonl", old, header=header)

    imported = library.take(source)

    assert imported.header.version == 3
    with opened(imported.path) as store:
        assert texts(store) == ["long ago"]


def test_what_is_torn_or_no_entry_stays_behind(tmp_path: Path, library: Library) -> None:
    source = elsewhere(tmp_path)
    source.write_bytes(source.read_bytes() + b'{"type":"message","id":"half-written')

    imported = library.take(source)

    assert b"half-written" not in imported.path.read_bytes()


@pytest.mark.parametrize(
    "header",
    [
        {"id": "../../outside"},
        {"id": "/tmp/outside"},
        {"id": "a/b"},
        {"id": "a\nb"},
        {"id": ""},
        {"id": "x" * 5000},
        {"timestamp": "/tmp/outside"},
        {"timestamp": "2026-11-20/07:49:44.305Z"},
        {"timestamp": "../outside"},
        {"timestamp": ""},
    ],
    ids=repr,
)
def test_no_header_leads_out_of_the_library(tmp_path: Path, library: Library, header: JsonObject) -> None:
    try:
        imported = library.take(elsewhere(tmp_path, **header))
    except NotASessionError:
        assert library.files == []
        return

    assert imported.path.resolve().parent == library.root / "project"
    assert library.files == [imported.path]
    with opened(imported.path) as store:
        assert texts(store) == ["hello"]


def test_what_is_no_session_is_refused_and_leaves_nothing(tmp_path: Path, library: Library) -> None:
    (tmp_path / "notes.txt").write_text("not a session\n")
    os.mkfifo(tmp_path / "pipe")

    for name in ("notes.txt", "pipe", "project"):
        with pytest.raises((NotASessionError, SessionReadError)):
            library.take(tmp_path / name)
    with pytest.raises(SessionReadError, match="missing"):
        library.take(tmp_path / "missing.jsonl")
    assert not library.root.exists()


def test_a_library_that_cannot_be_written_is_named(tmp_path: Path, library: Library) -> None:
    library.root.write_text("a file in its place")

    with pytest.raises(SessionWriteError, match="sessions"):
        library.take(elsewhere(tmp_path))


def test_its_agents_come_along_and_what_is_missing_is_counted(tmp_path: Path, library: Library) -> None:
    source = write_with_agents(tmp_path)
    lost = source.with_name(f"{source.name}.agents") / f"{SCOUT}.jsonl"
    kept = lost.rename(tmp_path / "kept.jsonl")

    imported = library.take(source)

    agent = imported.path.with_name(f"{imported.path.name}.agents") / f"{LEAD}.jsonl"
    with opened(agent) as store:
        assert texts(store)[-1] == "The lead is done."
        assert (store.header.cwd, store.header.parent_session) == (str(library.cwd), str(imported.path))
    assert (agent.stat().st_mode & 0o777, agent.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "the work of an agent is not there" in imported.report

    kept.rename(lost)
    again = library.take(source)

    assert (again.was_there, again.missing_agents) == (True, 0)
    assert agent.with_name(lost.name).exists()
