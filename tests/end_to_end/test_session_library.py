"""Many sessions, with the real program: begun under ids of one's own, copied, found, repaired, thrown away."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.model_server import Answer, ModelServer

pytestmark = pytest.mark.usefixtures("full_access")


def test_sessions_are_begun_continued_and_copied_by_id(kaa: Kaa) -> None:
    with ModelServer([Answer(text=(text,)) for text in ("1", "2", "3")]) as server:
        kaa.use(server, "openai-completions")
        kaa.run("--session-id", "nightly", "--name", "my work", "-p", "one")
        kaa.run("--session-id", "nightly", "-p", "two")
        copied = kaa.run("--fork", "nightly", "-p", "three")

    said = [text for _, text in conversation(server.requests[-1])]
    assert said == ["one", "1", "two", "2", "three"]
    assert copied.code == 0
    sessions = {session["id"]: session for session in _objects(kaa, "list")}
    source = sessions.pop("nightly")
    (copy,) = sessions.values()
    assert copy["parent"] == source["path"]
    assert source["name"] == copy["name"] == "my work"
    assert (source["messageCount"], copy["messageCount"]) == (4, 6)


def test_a_session_is_found_by_what_was_said_and_ends_in_the_trash(kaa: Kaa, tmp_path: Path) -> None:
    kaa.setenv(XDG_DATA_HOME=str(tmp_path / "data"))
    with ModelServer([Answer(text=("I like read_head",))]) as server:
        kaa.use(server, "openai-completions")
        kaa.run("-p", "look at the parser")

    (hit,) = _objects(kaa, "search", "ead_hea")
    path = Path(hit["session"]["path"])
    with path.open("ab") as file:
        file.write(b"rubbish\n")
    checked = kaa.run("sessions", "check")
    repaired = kaa.run("sessions", "repair", "--in-place", hit["session"]["id"])
    trashed = kaa.run("sessions", "trash", hit["session"]["id"])

    assert hit["match"] == "ead_hea"
    assert (checked.code, repaired.code, trashed.code) == (1, 0, 0)
    assert "error: the line cannot be read" in checked.out
    assert not path.exists()
    assert (tmp_path / "data/Trash/files" / path.name).exists()
    assert kaa.run("sessions", "search", "read_head").code == 1


def test_what_follows_an_import_goes_to_the_imported_session(kaa: Kaa) -> None:
    with ModelServer([Answer(text=("1",)), Answer(text=("2",))]) as server:
        kaa.use(server, "openai-completions")
        kaa.run("-p", "one")
        kaa.run("-c", "-p", "/export run.jsonl --no-tools")
        alone = kaa.run("--session-id", "other", "-p", "/import run.jsonl")
        done = kaa.run("--session-id", "third", "-p", "/import run.jsonl", "two")

    assert (alone.code, alone.err) == (0, "")
    assert (done.code, done.out.splitlines()[-1]) == (0, "2")
    assert len(server.requests) == 2
    said = server.requests[-1].body.decode()
    assert said.index("one") < said.index("two")


def test_choosing_needs_a_terminal(kaa: Kaa) -> None:
    refused = kaa.run("-r", "-p", "hello")

    assert refused.code == 2
    assert "kaa sessions list" in refused.err


def _objects(kaa: Kaa, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kaa.run("sessions", *arguments, "--json").out.splitlines()]
