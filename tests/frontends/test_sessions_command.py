"""`kaa sessions`, as it is called."""

import json
import os
from pathlib import Path

import pytest

from kaa.frontends import sessions_command
from kaa.session.naming import folder_name
from tests.support.sessions import HEADER, JsonObject, entry, opened, user_entry, write_session


class World:
    """A home with sessions, and a project."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = folder / "home"
        self.pi = folder / "pi"
        self.project = folder / "project"
        self.project.mkdir()
        self._capsys = capsys
        self.err = ""

    def session(self, session_id: str, *entries: JsonObject, cwd: Path | None = None, root: Path | None = None) -> Path:
        where = str(cwd or self.project)
        folder = (root or self.home) / "sessions" / folder_name(where)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"2026-11-20T07-49-44-305Z_{session_id}.jsonl"
        return write_session(path, *entries, header={**HEADER, "id": session_id, "cwd": where})

    def run(self, *arguments: str) -> tuple[int, list[str]]:
        """The exit code and what was printed."""
        code = sessions_command.main(arguments, os.getcwd())
        printed = self._capsys.readouterr()
        self.err = printed.err
        return code, printed.out.splitlines()

    def json(self, *arguments: str) -> list[JsonObject]:
        return [json.loads(line) for line in self.run(*arguments, "--json")[1]]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    world = World(tmp_path, capsys)
    monkeypatch.setenv("KAA_DIR", str(world.home))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(world.pi))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(world.project)
    return world


def test_sessions_of_this_directory_are_listed_and_all_on_request(world: World, tmp_path: Path) -> None:
    world.session("here-1", user_entry("a", None, "fix\nthe parser"))
    world.session("there-1", user_entry("a", None, "elsewhere"), cwd=tmp_path)
    world.session("pis-1", user_entry("a", None, "with pi"), root=world.pi)

    here, everywhere = world.run("list"), world.run("list", "--all")

    assert here[0] == everywhere[0] == 0
    assert [line.split()[0] for line in here[1]] == ["here-1", "pis-1"]
    assert here[1][0].endswith("fix the parser")
    assert here[1][1].endswith("(pi) with pi")
    assert sorted(line.split()[0] for line in everywhere[1]) == ["here-1", "pis-1", "there-1"]


def test_a_list_can_be_narrowed_as_in_the_picker(world: World) -> None:
    world.session("one", user_entry("a", None, "fix the parser"))
    world.session("two", user_entry("a", None, "write docs"))

    assert [line["id"] for line in world.json("list", "prsr")] == ["one"]
    assert world.run("list", "nothing-like-it")[0] == 1
    assert world.err == "kaa: no session fits\n"


def test_no_sessions_are_no_failure(world: World) -> None:
    assert world.run("list") == (0, [])
    assert "--all" in world.err


def test_json_has_one_document_per_line_with_all_that_is_known(world: World) -> None:
    path = world.session("one", user_entry("a", None, "hi"), entry("session_info", "b", "a", name="my work"))

    (told,) = world.json("list")

    assert told == {
        "path": str(path),
        "id": "one",
        "cwd": str(world.project),
        "name": "my work",
        "firstMessage": "hi",
        "createdMs": 1795160984305,
        "modifiedMs": 1795160984342,
        "messageCount": 1,
        "parent": None,
        "size": path.stat().st_size,
        "origin": "kaa",
    }


def test_what_a_terminal_would_obey_is_shown_and_not_sent(world: World) -> None:
    world.session("one", user_entry("a", None, "evil \x1b]0;title\x07 text"))

    printed = [line for command in (("list",), ("search", "evil"), ("show", "one")) for line in world.run(*command)[1]]

    assert printed
    assert not any("\x1b" in line or "\x07" in line for line in printed)


def test_a_search_shows_the_place_and_says_when_there_is_none(world: World) -> None:
    world.session("one", user_entry("a", None, "please look at\nthe read_head function\nof it"))

    code, lines = world.run("search", "read_head")

    assert code == 0
    assert lines[0].startswith("one")
    assert lines[1] == "    the read_head function"
    assert [hit["entryId"] for hit in world.json("search", "read_head")] == ["a"]
    assert world.run("search", "unheard") == (1, [])
    assert world.run("search", "re:(") == (2, [])
    assert "not a regular expression" in world.err
    assert world.run("search", "re:") == (2, [])
    assert "nothing to look for" in world.err


@pytest.mark.parametrize(
    ("model", "cost", "shown", "told"),
    [("paid", 0.5, "$0.5000", 0.5), ("free", 0, "$0.0000", 0), ("who", 0, "?", None)],
)
def test_all_about_a_session_is_shown_with_what_it_used(
    world: World, model: str, cost: float, shown: str, told: float | None
) -> None:
    free = {"id": "free", "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
    lab = {"baseUrl": "http://lab/v1", "api": "openai-completions", "apiKey": "k", "models": [free]}
    world.home.mkdir()
    (world.home / "models.json").write_text(json.dumps({"providers": {"lab": lab}}))
    usage = {"input": 10, "output": 5, "cacheRead": 1, "cacheWrite": 0, "cost": {"total": cost}}
    said = {
        "role": "assistant",
        "content": [],
        "provider": "lab",
        "model": model,
        "usage": usage,
        "timestamp": 1795160984342,
    }
    path = world.session("one", user_entry("a", None, "hi"), entry("message", "b", "a", message=said))

    code, lines = world.run("show", "one")
    (session,) = world.json("show", str(path))

    assert code == 0
    assert any(line.split()[:2] == ["file", str(path)] for line in lines)
    assert any(f"lab/{model}: 1 reply, 11 in, 5 out, {shown}" in line for line in lines)
    assert session["usage"][0]["cost"] == told


def test_a_mistake_in_models_json_hides_no_session(world: World) -> None:
    said = {"role": "assistant", "content": [], "provider": "lab", "model": "m", "usage": {"input": 10, "output": 5}}
    world.session("one", user_entry("a", None, "hi"), entry("message", "b", "a", message=said))
    (world.home / "models.json").write_text("{")

    code, lines = world.run("show", "one")

    assert code == 0
    assert any(line.endswith(" 10 in, 5 out, ?") for line in lines)


def test_damage_is_told_by_line_and_repaired(world: World) -> None:
    path = world.session("one", user_entry("a", None, "hi"))
    with path.open("ab") as file:
        file.write(b"rubbish\n")

    code, lines = world.run("check")
    assert code == 1
    assert lines[1] == "  line 3: error: the line cannot be read; kaa skips it"
    assert [told["isSound"] for told in world.json("check", "one")] == [False]

    code, lines = world.run("repair", "one", "--in-place")
    assert code == 0
    assert lines[-1].endswith(f"{path.name}.damaged")
    assert world.run("check")[0] == 0
    assert world.run("repair", "one") == (0, [f"sound, nothing to repair: {path}"])
    assert world.json("repair", "one") == [{"session": str(path), "original": str(path), "damaged": None, "mended": 0}]


def test_a_session_is_renamed_and_thrown_away(world: World) -> None:
    path = world.session("one", user_entry("a", None, "hi"))

    assert world.run("rename", "one", "my", "work") == (0, [f"{path}: my work"])
    (trashed,) = world.json("trash", "one")

    assert not path.exists()
    assert Path(trashed["trashed"]).exists()
    assert world.run("list") == (0, [])


def test_what_is_in_use_is_neither_renamed_nor_repaired_nor_thrown_away(world: World) -> None:
    path = world.session("one", user_entry("a", "gone", "hi"))
    before = path.read_bytes()

    with opened(path):
        for command in (("rename", "one", "x"), ("repair", "one"), ("trash", "one")):
            assert world.run(*command)[0] == 1
            assert "already open in this process" in world.err

    assert path.read_bytes() == before


def test_what_cannot_be_done_with_one_keeps_nothing_from_the_others(world: World) -> None:
    busy, free = world.session("one", user_entry("a", None, "x")), world.session("two", user_entry("a", None, "x"))

    with opened(busy):
        code, lines = world.run("trash", "one", "two")

    assert (code, lines) == (1, [f"moved into the trash: {free}"])
    assert "already open in this process" in world.err
    assert busy.exists()


def test_nothing_is_done_when_one_of_several_is_not_known(world: World) -> None:
    path = world.session("one", user_entry("a", None, "x"))

    assert world.run("trash", "one", "nowhere") == (2, [])
    assert path.exists()


@pytest.mark.parametrize("command", [("export", "nowhere"), ("import", "nowhere"), ("import", "notes.txt")])
def test_files_for_others_have_the_same_exit_codes(world: World, command: tuple[str, ...]) -> None:
    (world.project / "notes.txt").write_text("no session")

    assert world.run(*command) == (2, [])
    assert world.err.startswith("kaa: ")


@pytest.mark.parametrize("command", [("show",), ("trash",), ("repair",), ("check",), ("rename", "x")])
def test_what_means_no_session_is_a_mistake_of_usage(world: World, command: tuple[str, ...]) -> None:
    (world.project / "notes.txt").write_text("no session")
    name, *rest = command

    for wanted in ("nowhere", "notes.txt"):
        assert world.run(name, wanted, *rest)[0] == 2
        assert world.err.startswith("kaa: ")

    assert (world.project / "notes.txt").read_text() == "no session"


def test_an_unknown_command_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        sessions_command.main(["frobnicate"], os.getcwd())

    assert ended.value.code == 2
    assert "Choose from: list, search, " in capsys.readouterr().err


class TestRestore:
    def test_brings_a_session_back_whole(self, world: World) -> None:
        path = world.session("one", user_entry("a", None, "hello"))
        content = path.read_bytes()
        journal = path.with_name(f"{path.name}.partial")
        journal.write_bytes(b"owed")
        world.run("trash", "one")
        assert not path.exists()

        assert world.run("restore", "one") == (0, [f"restored: {path}"])

        assert (path.read_bytes(), journal.read_bytes()) == (content, b"owed")
        assert world.run("restore") == (0, [])
        assert "no sessions in the trash" in world.err

    def test_lists_what_is_in_the_trash(self, world: World) -> None:
        path = world.session("one", user_entry("a", None, "about parsers"))
        world.session("two", user_entry("a", None, "still here"))
        world.run("trash", "one")

        _, (line,) = world.run("restore")
        (listed,) = world.json("restore")

        assert line.startswith("one")
        assert line.endswith("about parsers")
        assert (listed["id"], listed["origin"]) == ("one", str(path))

    def test_by_name(self, world: World) -> None:
        path = world.session("one", user_entry("a", None, "x"), entry("session_info", "n", "a", name="my work"))
        world.run("trash", "one")

        assert world.json("restore", "my work") == [{"path": str(path)}]

    def test_replaces_nothing(self, world: World) -> None:
        path = world.session("one", user_entry("a", None, "first"))
        world.run("trash", "one")
        world.session("one", user_entry("a", None, "second"))

        assert world.run("restore", "one")[0] != 0

        assert "another file in its place" in world.err
        assert b"second" in path.read_bytes()
        assert len(world.json("restore")) == 1

    def test_says_what_it_cannot_find(self, world: World) -> None:
        world.session("one", user_entry("a", None, "x"))
        world.session("other", user_entry("a", None, "x"))
        world.run("trash", "one", "other")

        assert world.run("restore", "o")[0] != 0
        assert "fits 2 sessions in the trash" in world.err
        assert world.run("restore", "zwei")[0] != 0
        assert "no session in the trash" in world.err

    def test_a_note_that_leads_elsewhere_is_not_followed(self, world: World, tmp_path: Path) -> None:
        path = world.session("one", user_entry("a", None, "x"))
        world.run("trash", "one")
        (note,) = (tmp_path / "data" / "Trash" / "info").iterdir()
        note.write_text(f"[Trash Info]\nPath={tmp_path}/.profile\nDeletionDate=2026-01-01T00:00:00\n")

        assert world.run("restore", "one") == (0, [f"restored: {path}"])
        assert not (tmp_path / ".profile").exists()
