"""Files of skills, commands and agents are found in their places; what is too many, too large or elsewhere is named."""

from pathlib import Path

import pytest

from kaa.shell.components import PROJECT_PLACES, Found, Place, existing, is_component, user_places
from kaa.shell.components.finding import MAX_FILE_BYTES, MAX_FILES, UserTree, find
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import DirEntry
from tests.support.agents import run


def found(files: dict[str, bytes], *places: Place) -> Found:
    return run(find(MemoryWorkspace(files), places or PROJECT_PLACES, MemoryWorkspace().root))


def own(folder: Path, *, inside: bool = False) -> Found:
    return run(find(UserTree(), [Place(str(folder), "skill", "agents")], str(folder) if inside else None))


def test_skills_are_folders_with_a_file_and_their_scripts_are_not_read() -> None:
    files = {
        ".agents/skills/a/SKILL.md": b"A",
        ".agents/skills/a/more/SKILL.md": b"a part of A",
        ".agents/skills/a/script.py": b"x",
        ".agents/skills/group/b/SKILL.md": b"B",
        ".agents/skills/.hidden/SKILL.md": b"x",
        ".agents/skills/node_modules/x/SKILL.md": b"x",
        ".agents/skills/loose.md": b"x",
        ".pi/skills/loose.md": b"loose",
    }

    names = {file.path: file.name for file in found(files).files}

    assert names == {
        ".agents/skills/a/SKILL.md": "a",
        ".agents/skills/group/b/SKILL.md": "b",
        ".pi/skills/loose.md": "loose",
    }


def test_commands_are_named_by_their_path() -> None:
    files = {
        ".claude/commands/git/commit.md": b"x",
        ".claude/commands/notes.txt": b"x",
        ".gemini/commands/a/b.toml": b"x",
        ".gemini/commands/c.md": b"x",
        ".kaa/prompts/fix.md": b"x",
    }

    assert {(file.name, file.place.agent) for file in found(files).files} == {
        ("git/commit", "claude"),
        ("a/b", "gemini"),
        ("fix", "kaa"),
    }


def test_too_many_and_too_large_files_are_named(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 5):
        (tmp_path / f"s{number:05}").mkdir()
        (tmp_path / f"s{number:05}" / "SKILL.md").write_bytes(b"x" * (MAX_FILE_BYTES + 1 if number == 3 else 1))

    result = own(tmp_path)

    assert len(result.files) == MAX_FILES - 1
    assert f"{MAX_FILES + 5} skills, commands and agents were found" in result.notices[0]
    assert "s00003/SKILL.md: not used, because they are larger" in result.notices[1]


def test_links_out_of_their_folder_are_named_where_strangers_made_them(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a private key")
    skills = tmp_path / "skills"
    (skills / "a").mkdir(parents=True)
    (skills / "a" / "SKILL.md").symlink_to(tmp_path / "secret")
    (skills / "loop").symlink_to(skills)

    assert own(skills, inside=True).files == ()
    assert "a/SKILL.md: not used" in own(skills, inside=True).notices[0]
    assert {file.data for file in own(skills).files} == {b"a private key"}


def test_links_that_lead_round_in_circles_are_followed_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "SKILL.md").write_text("A")
    for number in range(50):
        (tmp_path / f"l{number}").symlink_to(".")
    listed: list[str] = []

    class Counting(UserTree):
        async def list(self, path: str) -> list[DirEntry]:
            listed.append(path)
            return await super().list(path)

    files = run(find(Counting(), [Place(str(tmp_path), "skill", "agents")], str(tmp_path))).files

    assert [file.name for file in files] == ["a"]
    assert len(listed) == 1


def test_a_loop_of_links_hides_nothing_but_itself(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "SKILL.md").write_text("a skill")
    (tmp_path / "loop").symlink_to("pool")
    (tmp_path / "pool").symlink_to("loop")

    for inside in (False, True):
        assert [file.name for file in own(tmp_path, inside=inside).files] == ["one"]


def test_folders_behind_links_out_of_a_project_are_named_and_not_listed(tmp_path: Path) -> None:
    (tmp_path / "home" / "secret").mkdir(parents=True)
    (tmp_path / "home" / "secret" / "SKILL.md").write_text("x")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "theirs").symlink_to(tmp_path / "home")

    there = own(tmp_path / "skills", inside=True)

    assert there.files == ()
    assert [("theirs" in notice, "secret" in notice) for notice in there.notices] == [(True, False)]


def test_a_folder_of_one_agent_may_be_that_of_another(tmp_path: Path) -> None:
    (tmp_path / ".agents" / "skills" / "a").mkdir(parents=True)
    (tmp_path / ".agents" / "skills" / "a" / "SKILL.md").write_text("A")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "skills").symlink_to("../.agents/skills")

    result = run(find(UserTree(), [Place(str(tmp_path / ".claude/skills"), "skill", "claude")], str(tmp_path)))

    assert result.notices == ()
    assert [file.real_path for file in result.files] == [str(tmp_path / ".agents/skills/a/SKILL.md")]


def test_definitions_of_agents_have_the_suffix_and_depth_of_their_agent() -> None:
    files = {
        ".claude/agents/team/review.md": b"x",
        ".codex/agents/review.toml": b"x",
        ".codex/agents/review.md": b"x",
        ".factory/droids/review.md": b"x",
        ".factory/droids/team/review.md": b"x",
        ".kaa/agents/review.md": b"x",
    }

    assert [file.path for file in found(files).files] == [
        ".kaa/agents/review.md",
        ".claude/agents/team/review.md",
        ".codex/agents/review.toml",
        ".factory/droids/review.md",
    ]


def test_folders_that_cannot_be_read_are_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    assert own(tmp_path / "nowhere") == own(tmp_path / "file") == Found()


def test_which_files_are_components() -> None:
    assert is_component(".claude/skills/a/SKILL.md")
    assert not is_component(".claude/settings.json")
    assert not is_component(".claude/skills")


def test_more_folders_have_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "skills").mkdir()
    (tmp_path / "more").mkdir()

    monkeypatch.chdir(tmp_path)
    places = existing(user_places(tmp_path, (), (str(tmp_path / "more"), "more", "!x", str(tmp_path / "nowhere"))))

    assert [place.folder for place in places if str(tmp_path) in place.folder] == [
        str(tmp_path / "skills"),
        str(tmp_path / "more"),
    ]
