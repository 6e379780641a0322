"""What a permit for one path gives: that path, where it was approved to lead, and nothing else."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest

from kaa.workspace.blocked import Blocked, BlockedError
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.permitted import PermittedWorkspace, Target, real_path
from kaa.workspace.protocol import Absent, CommandRequest, ContentChangedError, FileInfo, SearchQuery, Workspace
from tests.workspace.conftest import RunLocal

T = TypeVar("T")


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """A directory beside the project."""
    directory = tmp_path / "away"
    directory.mkdir()
    return directory


def blocked(doing: Awaitable[object]) -> Blocked:
    """What stops this."""

    async def stopped() -> Blocked:
        with pytest.raises(BlockedError) as error:
            await doing
        return error.value.blocked

    return asyncio.run(stopped())


class TestRealPath:
    def leads(self, local: RunLocal, path: str) -> str | None:
        async def look(workspace: LocalWorkspace) -> str | None:
            return await real_path(workspace, path)

        return local(look)

    def test_links_on_the_way_and_at_the_end_are_followed(self, local: RunLocal, project: Path, away: Path) -> None:
        (away / "b").touch()
        (project / "link").symlink_to(away)
        (project / "a").symlink_to("link/b")

        assert self.leads(local, "a") == str(away / "b")
        assert self.leads(local, "link") == str(away)
        assert self.leads(local, "~/away/b") == str(away / "b")

    def test_what_does_not_exist_yet_is_below_the_nearest_directory_that_does(
        self, local: RunLocal, project: Path, away: Path
    ) -> None:
        (project / "link").symlink_to(away)
        (project / "dangling").symlink_to(away / "later")

        assert self.leads(local, "new") == str(project / "new")
        assert self.leads(local, "link/x/y/z") == str(away / "x/y/z")
        assert self.leads(local, "dangling") == str(away / "later")
        assert self.leads(local, "dangling/x") == str(away / "later/x")

    def test_a_link_behind_what_does_not_exist_is_followed_as_it_will_be(
        self, local: RunLocal, project: Path, away: Path
    ) -> None:
        (project / "link").symlink_to(away)

        assert self.leads(local, "missing/../link/x") == str(away / "x")
        assert self.leads(local, "link/missing/../../project/link/x") == str(away / "x")

    def test_a_circle_leads_somewhere(self, local: RunLocal, project: Path) -> None:
        (project / "a").symlink_to("b")
        (project / "b").symlink_to("a")

        assert (self.leads(local, "a") or "").startswith(str(project))

    def test_what_may_not_be_seen_is_where_its_directory_leads(
        self, local: RunLocal, project: Path, away: Path
    ) -> None:
        (away / "key").touch()
        (project / "link").symlink_to(away)

        async def look(workspace: LocalWorkspace) -> str | None:
            return await real_path(_Blindfolded(workspace), "link/key/x")

        assert local(look) == str(away / "key/x")


class _Blindfolded:
    """Sees no keys."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def stat(self, path: str) -> FileInfo | None:
        if "key" in path:
            raise PermissionError(path)
        return await self._workspace.stat(path)


class TestWhatWasApproved:
    def test_is_read_written_and_listed_where_it_leads(self, local: RunLocal, project: Path, away: Path) -> None:
        (away / "a").write_text("one\ntwo\n")
        (project / "a").symlink_to(away / "a")
        (project / "d").symlink_to(away)

        async def use(workspace: LocalWorkspace) -> None:
            file = PermittedWorkspace(workspace, Target("a", str(away / "a"), writes=True))
            directory = PermittedWorkspace(workspace, Target("d", str(away)))

            assert (await file.read("a")).data == b"one\ntwo\n"
            assert (await file.read_lines("a", 2, 1, 100)).data == b"two\n"
            assert await file.read_existing(["a"], 3) == {"a": b"one"}
            assert [entry.name for entry in await directory.list("d")] == ["a"]
            assert (await directory.search(SearchQuery("two", path="d"))).matches == 1
            assert (await directory.find("a", "d")).paths == ("a",)
            info = await file.write("a", b"three")
            assert (info.path, (await file.stat("a"))) == (str(away / "a"), info)

        local(use)

        assert (away / "a").read_text() == "three"
        assert (project / "a").is_symlink()

    def test_may_be_new(self, local: RunLocal, away: Path) -> None:
        async def write(workspace: LocalWorkspace) -> None:
            permitted = PermittedWorkspace(workspace, Target("../away/x/y", str(away / "x/y"), writes=True))
            assert await permitted.stat("../away/x/y") is None
            await permitted.write("../away/x/y", b"new", Absent())
            with pytest.raises(ContentChangedError):
                await permitted.write("../away/x/y", b"newer", Absent())

        local(write)

        assert (away / "x/y").read_text() == "new"


_USES: dict[str, Callable[[Workspace, str], Awaitable[object]]] = {
    "read": lambda workspace, path: workspace.read(path),
    "read lines": lambda workspace, path: workspace.read_lines(path, 1, 1, 100),
    "read existing": lambda workspace, path: workspace.read_existing([path], 1),
    "write": lambda workspace, path: workspace.write(path, b"evil"),
    "list": lambda workspace, path: workspace.list(path),
    "search": lambda workspace, path: workspace.search(SearchQuery("x", path=path)),
    "find": lambda workspace, path: workspace.find("x", path),
}


class TestAnExchangedLink:
    @pytest.mark.parametrize("use", _USES.values(), ids=_USES)
    def test_leads_nowhere_but_says_where_it_wanted_to(
        self, use: Callable[[Workspace, str], Awaitable[object]], local: RunLocal, project: Path, away: Path
    ) -> None:
        (away / "notes").write_text("notes")
        (away / "bashrc").write_text("mine")
        (project / "a").symlink_to(away / "bashrc")  # by now

        async def try_it(workspace: LocalWorkspace) -> Blocked:
            permitted = PermittedWorkspace(workspace, Target("a", str(away / "notes"), writes=True))
            with pytest.raises(BlockedError) as error:
                await use(permitted, "a")
            return error.value.blocked

        assert local(try_it) == Blocked("write", str(away / "bashrc"))
        assert ((away / "notes").read_text(), (away / "bashrc").read_text()) == ("notes", "mine")

    def test_in_the_place_of_a_directory_above_leads_nowhere_either(
        self, local: RunLocal, project: Path, away: Path
    ) -> None:
        (project / "d").symlink_to(away)

        async def try_it(workspace: LocalWorkspace) -> Blocked:
            permitted = PermittedWorkspace(workspace, Target("d/new", str(project / "d/new"), writes=True))
            with pytest.raises(BlockedError) as error:
                await permitted.write("d/new", b"evil")
            return error.value.blocked

        assert local(try_it) == Blocked("write", str(away / "new"))
        assert not (away / "new").exists()

    def test_is_no_way_to_read_either(self, local: RunLocal, project: Path, away: Path) -> None:
        (away / "key").touch()
        (project / "a").symlink_to(away / "key")

        async def try_it(workspace: LocalWorkspace) -> Blocked:
            with pytest.raises(BlockedError) as error:
                await PermittedWorkspace(workspace, Target("a", str(project / "a"))).read("a")
            return error.value.blocked

        assert local(try_it) == Blocked("read", str(away / "key"))


class TestAnythingElse:
    @pytest.mark.parametrize("path", ["/etc/other", "/etc", "hosts", "/etc/../etc/hosts", "."])
    @pytest.mark.parametrize("use", _USES.values(), ids=_USES)
    def test_is_blocked_whatever_it_is_called(
        self, use: Callable[[Workspace, str], Awaitable[object]], path: str
    ) -> None:
        files = {"/etc/hosts": b"", "/etc/other": b"", "hosts": b""}
        permitted = PermittedWorkspace(MemoryWorkspace(files), Target("/etc/hosts", "/etc/hosts", writes=True))

        found = blocked(use(permitted, path))

        assert found.kind == "outside"
        assert path in found.text
        assert "only /etc/hosts is allowed" in found.text

    def test_does_not_exist_to_those_who_look_what_a_path_may_mean(self) -> None:
        permitted = PermittedWorkspace(MemoryWorkspace({"@a": b"", "a": b""}), Target("a", "/project/a"))

        assert asyncio.run(permitted.stat("@a")) is None
        assert asyncio.run(permitted.stat("a")) is not None

    def test_is_not_written_by_those_who_may_read(self) -> None:
        memory = MemoryWorkspace({"a": b"old"})

        found = blocked(PermittedWorkspace(memory, Target("a", "/project/a")).write("a", b"new"))

        assert found.kind == "outside"
        assert memory.files == {"/project/a": b"old"}

    def test_is_not_run(self) -> None:
        permitted = PermittedWorkspace(MemoryWorkspace({"a": b""}), Target("a", "/project/a", writes=True))

        assert blocked(permitted.run(CommandRequest(["id"]))).kind == "outside"
        assert blocked(permitted.run_in_background(CommandRequest(["id"]))).kind == "outside"
        assert permitted.processes.list() == ()


# Exchanges two names as fast as it can: a directory, and a link to another one.
_EXCHANGER = """
import ctypes, sys
libc = ctypes.CDLL(None)
one, other = (name.encode() for name in sys.argv[1:])
print(flush=True)
while True:
    libc.renameat2(-100, one, -100, other, 2)
"""


@contextmanager
def exchanging(one: Path, other: Path) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", _EXCHANGER, one, other], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()


class TestADirectoryExchangedAllTheTime:
    """For a link, by a process that goes on while approved paths below it are used."""

    @pytest.fixture
    def link(self, project: Path, away: Path) -> Path:
        (project / "d/e").mkdir(parents=True)
        (away / "e").mkdir()
        (project / "link").symlink_to(away)
        return project / "link"

    def race(self, local: RunLocal, link: Path, use: Callable[[PermittedWorkspace, str], Awaitable[T]]) -> list[T]:
        """What the uses gave that were not stopped; each was approved for a path in the directory."""

        async def uses(workspace: LocalWorkspace) -> list[T]:
            given: list[T] = []
            for number in range(3000):
                name = f"d/e/{number % 10}"
                target = Target(name, str(link.parent / name), writes=True)
                with suppress(OSError):
                    given.append(await use(PermittedWorkspace(workspace.unconfined(), target), name))
                if number >= 200 and given:
                    break
            return given

        with exchanging(link.parent / "d", link):
            return local(uses)

    def test_leads_no_write_elsewhere(self, local: RunLocal, link: Path, away: Path) -> None:
        written = self.race(local, link, lambda permitted, name: permitted.write(name, b"approved"))

        assert written
        assert list((away / "e").iterdir()) == []

    def test_leads_no_read_elsewhere(self, local: RunLocal, project: Path, link: Path, away: Path) -> None:
        for number in range(10):
            (project / f"d/e/{number}").write_text("ours\n")
            (away / f"e/{number}").write_text("hidden\n")

        async def read(permitted: PermittedWorkspace, name: str) -> tuple[bytes, ...]:
            lines = await permitted.read_lines(name, 1, 1, 100)
            existing = await permitted.read_existing([name], 100)
            return (await permitted.read(name)).data, lines.data, *existing.values()

        found = self.race(local, link, read)

        assert {content for contents in found for content in contents} == {b"ours\n"}

    def test_leads_no_search_elsewhere(self, local: RunLocal, project: Path, link: Path, away: Path) -> None:
        for number in range(10):
            (project / f"d/e/{number}").mkdir()
            (project / f"d/e/{number}/ours").write_text("x\n")
            (away / f"e/{number}").mkdir()
            (away / f"e/{number}/hidden").write_text("x\n")

        async def look(permitted: PermittedWorkspace, name: str) -> set[str]:
            listed = [entry.name for entry in await permitted.list(name)]
            return {*listed, *(await permitted.find("*", name)).paths}

        assert set().union(*self.race(local, link, look)) == {"ours"}
