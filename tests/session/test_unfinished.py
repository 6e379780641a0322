"""Notes of unfinished work lie beside a session, which may be where commands write: no link of theirs is followed."""

import json
import os
from pathlib import Path

import pytest

from kaa.session.entries import CustomMessage
from kaa.session.errors import SessionWriteError
from kaa.session.file.file_store import FileStore, agents_folder
from kaa.session.file.journal import ToolBegun
from kaa.session.store import new_header
from kaa.session.unfinished import closed_in_order, forget_work, note_work, unfinished_work


@pytest.fixture
def session(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "user").mkdir()
    path = tmp_path / "project" / "s.jsonl"
    path.write_text("{}\n")
    return path


def _noted(session: Path) -> list[str]:
    return [about for work in unfinished_work(session) for about in work.works.values()]


def test_work_is_noted_read_and_forgotten(session: Path) -> None:
    note_work(session, "/p", "jobs", "make test runs")
    note_work(session, "/p", "agents", "an agent works", "It was stopped.")
    closed_in_order(session, is_told=True)

    [work] = unfinished_work(session)
    assert work.works == {"jobs": "make test runs", "agents": "an agent works"}
    assert (work.for_model, work.in_order, work.is_told) == ({"agents": "It was stopped."}, True, True)
    assert [path.name for path in (session.parent / ".unfinished").iterdir()] == ["s.jsonl.json"]
    forget_work(session)
    assert not (session.parent / ".unfinished").exists()


def test_a_note_is_not_written_through_a_link_of_its_name(session: Path) -> None:
    theirs = session.parent.parent / "user" / "rc"
    theirs.write_text("# the user's")
    note_work(session, "/p", "jobs", "one")
    for name in ("s.jsonl.json", f"s.jsonl.{os.getpid()}.part"):
        place = session.parent / ".unfinished" / name
        place.unlink(missing_ok=True)
        place.symlink_to(theirs)

    note_work(session, "/p", "jobs", "two")

    assert theirs.read_text() == "# the user's"
    assert _noted(session) == ["two"]


def test_the_folder_of_notes_is_none_if_it_is_a_link(session: Path) -> None:
    theirs = session.parent.parent / "user"
    note = {"cwd": "/p", "session": "s.jsonl", "pid": os.getpid(), "works": {"jobs": "kept"}}
    (theirs / "s.jsonl.json").write_text(json.dumps(note))
    (session.parent / ".unfinished").symlink_to(theirs)

    note_work(session, "/p", "jobs", "make test runs")
    closed_in_order(session, is_told=True)

    assert _noted(session) == []
    assert json.loads((theirs / "s.jsonl.json").read_text()) == note
    forget_work(session)
    assert [path.name for path in theirs.iterdir()] == ["s.jsonl.json"]


def test_a_note_that_is_a_link_is_not_read(session: Path) -> None:
    note_work(session, "/p", "jobs", "one")
    place = session.parent / ".unfinished" / "s.jsonl.json"
    place.rename(session.parent / "elsewhere")
    place.symlink_to(session.parent / "elsewhere")

    assert _noted(session) == []


def test_the_session_of_an_agent_is_not_made_behind_a_link(session: Path) -> None:
    theirs = session.parent.parent / "user"
    agents_folder(session).symlink_to(theirs)
    store = FileStore.create(agents_folder(session) / "explore-1.jsonl", new_header("/p", None))

    with pytest.raises(SessionWriteError):
        store.append(CustomMessage(custom_type="x", content="x", display=True))

    assert list(theirs.iterdir()) == []


def test_a_folder_of_agents_that_becomes_a_link_gets_no_journal(session: Path) -> None:
    theirs = session.parent.parent / "user"
    store = FileStore.create(agents_folder(session) / "explore-1.jsonl", new_header("/p", None))
    store.append(CustomMessage(custom_type="x", content="x", display=True))
    agents_folder(session).rename(session.parent / "moved")
    agents_folder(session).symlink_to(theirs)

    with pytest.raises(SessionWriteError):
        store.journal.begin_tool(ToolBegun("1", "call-1", "bash"))

    assert list(theirs.iterdir()) == []
