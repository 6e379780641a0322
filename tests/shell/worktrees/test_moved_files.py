"""What kaa itself copies into a new worktree: files that the project has had on disk for a moment, and nothing else."""

import asyncio
import os
from pathlib import Path

import pytest

from kaa.shell.worktrees.moved_files import put_back


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    project, directory = tmp_path / "project", tmp_path / "worktree"
    for folder in (project, directory):
        folder.mkdir()
    return project, directory


async def copied(project: Path, directory: Path, *paths: str) -> tuple[str, ...]:
    return await put_back(paths, str(project), str(directory), frozenset())


def test_files_of_the_project_are_copied_with_their_permission_to_execute(folders: tuple[Path, Path]) -> None:
    project, directory = folders
    (project / ".claude").mkdir()
    (project / ".claude" / "run.sh").write_text("true")
    (project / ".claude" / "run.sh").chmod(0o755)
    (directory / ".claude.kaa-blocked").mkdir()

    assert asyncio.run(copied(project, directory, ".claude/run.sh")) == ()

    assert os.access(directory / ".claude" / "run.sh", os.X_OK)
    assert [path.name for path in directory.iterdir()] == [".claude"]


def test_links_to_something_in_the_project_are_copied_as_links(folders: tuple[Path, Path]) -> None:
    project, directory = folders
    (project / ".husky").mkdir()
    (project / ".husky" / "pre-commit").symlink_to("../scripts/check")
    (project / ".claude").symlink_to("ai")
    (directory / ".husky.kaa-blocked").mkdir()
    (directory / ".claude.kaa-blocked").symlink_to("ai")

    assert asyncio.run(copied(project, directory, ".husky/pre-commit", ".claude")) == ()

    assert (directory / ".husky" / "pre-commit").readlink() == Path("../scripts/check")
    assert (directory / ".claude").readlink() == Path("ai")
    assert {path.name for path in directory.iterdir()} == {".husky", ".claude"}


@pytest.mark.parametrize("target", ["/etc/hostname", "../canary", "a/../../canary", ".git/x", ".GIT"])
def test_links_that_lead_elsewhere_are_named(folders: tuple[Path, Path], target: str) -> None:
    project, directory = folders
    (project / ".envrc").symlink_to(target)

    [told] = asyncio.run(copied(project, directory, ".envrc"))

    assert told == ".envrc (it is a link to something that is not in the project)"
    assert list(directory.iterdir()) == []


def test_what_is_no_file_of_the_project_is_named(folders: tuple[Path, Path]) -> None:
    paths = ("missing", "folder/../file", ".git/hooks/x", "link", "linked/canary", "folder")
    project, directory = folders
    (project.parent / "canary").write_text("canary")
    (project / "folder").mkdir()
    (project / "file").write_text("canary")
    (project / "link").symlink_to("../canary")
    (project / "linked").symlink_to("..")
    (project / ".git" / "hooks").mkdir(parents=True)
    (project / ".git" / "hooks" / "x").write_text("canary")

    told = asyncio.run(copied(project, directory, *paths))

    assert [one.rpartition(" (")[0] for one in told] == list(paths)
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("moved", [".envrc", ".vscode"])
def test_what_the_guard_moves_away_and_a_command_brings_back_is_not_copied(
    folders: tuple[Path, Path], moved: str
) -> None:
    project, directory = folders
    path = {".envrc": ".envrc", ".vscode": ".vscode/tasks.json"}[moved]
    (project / path).parent.mkdir(exist_ok=True)
    (project / path).write_text("planted")

    async def scene() -> tuple[str, ...]:
        copying = asyncio.create_task(copied(project, directory, path))
        await asyncio.sleep(0)
        (project / moved).rename(project / "kept")
        (project / "kept").rename(project / moved)
        return await copying

    assert asyncio.run(scene()) == (f"{path} (it changed while the worktree was created)",)
    assert list(directory.iterdir()) == []


def test_what_the_guard_moves_away_when_it_is_asked_is_not_copied(folders: tuple[Path, Path]) -> None:
    project, directory = folders
    (project / ".envrc").write_text("canary")
    (project / ".mcp.json").write_text("{}")

    async def inspect() -> None:
        (project / ".envrc").rename(project / ".envrc.kaa-blocked")

    paths = (".envrc", ".mcp.json")
    [told] = asyncio.run(put_back(paths, str(project), str(directory), frozenset(), inspect))

    assert told.startswith(".envrc (")
    assert [path.name for path in directory.iterdir()] == [".mcp.json"]
