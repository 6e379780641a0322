"""The paths of a project for completion."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kaa.workspace.file_index import FileIndex, FileListing
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import FindResult, Workspace
from tests.support.agents import run

if TYPE_CHECKING:
    from tests.workspace.conftest import RunAny, RunLocal
else:
    RunAny = RunLocal = Any

_FILES = {"src/a.py": b"", "src/deep/er/b.py": b"", "README.md": b"", ".git/config": b"", ".env": b""}


async def gathered(workspace: Workspace) -> FileListing:
    index = FileIndex(workspace)
    listing = await index.refresh()
    await index.close()
    return listing


def test_directories_are_listed_before_what_is_in_them(any_workspace: RunAny) -> None:
    listing = any_workspace(gathered, _FILES)

    assert listing.complete
    assert set(listing.paths) == {
        ".env",
        "README.md",
        "src/",
        "src/a.py",
        "src/deep/",
        "src/deep/er/",
        "src/deep/er/b.py",
    }
    assert [listing.paths.index(path) for path in ("src/", "src/deep/", "src/deep/er/", "src/deep/er/b.py")] == sorted(
        listing.paths.index(path) for path in ("src/", "src/deep/", "src/deep/er/", "src/deep/er/b.py")
    )


def test_what_is_ignored_is_not_listed(local: RunLocal, project: Path) -> None:
    (project / ".gitignore").write_text("build/\n")
    (project / "build").mkdir()
    (project / "build" / "out.o").write_text("")

    listing = local(gathered)

    assert listing.paths == (".gitignore",)


def test_a_limit_is_admitted(local: RunLocal, project: Path) -> None:
    for number in range(5):
        (project / f"{number}.txt").write_text("")

    found = local(lambda workspace: workspace.list_files(3))

    assert found == FindResult(("0.txt", "1.txt", "2.txt"), limit_reached=True)


def test_nothing_is_gathered_twice_while_it_is_fresh() -> None:
    async def scenario() -> None:
        workspace = _Counting()
        index = FileIndex(workspace)

        first, second = await asyncio.gather(index.refresh(), index.refresh())
        third = await index.refresh()

        assert workspace.listings == 1
        assert first is second is third
        assert first.version == 1

    run(scenario())


def test_after_a_change_it_is_gathered_again() -> None:
    async def scenario() -> None:
        workspace = _Counting()
        index = FileIndex(workspace)
        await index.refresh()

        index.invalidate()
        unchanged = await index.refresh()
        await workspace.write("new.txt", b"")
        index.invalidate()
        changed = await index.refresh()

        assert (unchanged.version, changed.version) == (1, 2)
        assert changed.paths == ("new.txt",)

    run(scenario())


def test_what_is_written_while_it_gathers_is_not_missed() -> None:
    async def scenario() -> None:
        workspace = _Counting()
        index = FileIndex(workspace)
        index.prepare()
        index.invalidate()
        await index.refresh()

        await index.refresh()

        assert workspace.listings == 2

    run(scenario())


def test_without_a_project_what_was_known_stays(local: RunLocal, project: Path) -> None:
    (project / "a.txt").write_text("")

    async def scenario(workspace: LocalWorkspace) -> list[tuple[str, ...]]:
        index = FileIndex(workspace)
        before = await index.refresh()
        (project / "a.txt").unlink()
        project.rmdir()
        index.invalidate()
        return [before.paths, (await index.refresh()).paths]

    assert local(scenario) == [("a.txt",), ("a.txt",)]


class TestPaths:
    def complete(self, typed: str) -> tuple[str, ...]:
        files = {**_FILES, "/home/user/notes/x": b"", "/etc/hosts": b"", "/project/../beside/y": b""}
        return run(FileIndex(MemoryWorkspace(files)).complete_path(typed))

    def test_begin_as_typed(self) -> None:
        assert self.complete("./src/") == ("./src/a.py", "./src/deep/")
        assert self.complete("./RE") == ("./README.md",)
        assert self.complete("~/n") == ("~/notes/",)
        assert self.complete("../b") == ("../beside/",)
        assert self.complete("/etc/h") == ("/etc/hosts",)
        assert "/etc/" in self.complete("/")
        assert self.complete("s") == ("src/",)

    def test_hidden_ones_want_a_dot(self) -> None:
        assert "./.env" not in self.complete("./")
        assert self.complete("./.e") == ("./.env",)

    def test_where_nothing_is_nothing_is_found(self) -> None:
        assert self.complete("/nowhere/x") == ()
        assert self.complete("./README.md/x") == ()


class _Counting(MemoryWorkspace):
    """Counts how often all files are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.listings = 0

    async def list_files(self, limit: int = 200_000) -> FindResult:
        self.listings += 1
        await asyncio.sleep(0)
        return await super().list_files(limit)
