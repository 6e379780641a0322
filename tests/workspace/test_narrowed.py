"""A workspace with fewer rights over the same project: kept by the kernel for commands, and by the tools for files."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kaa.workspace.blocked import BlockedError
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.network.allow_list import NetworkState
from kaa.workspace.protocol import CommandRequest, WiderError, Workspace
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions
from tests.support.elsewhere import folder_elsewhere


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        for name in ("project/inner", "beside"):
            (folder / name).mkdir(parents=True)
        (folder / "project" / "a.txt").write_text("a")
        yield folder


@asynccontextmanager
async def opened(folder: Path, options: SandboxOptions | None = None) -> AsyncIterator[LocalWorkspace]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    options = options or SandboxOptions(
        writable=(str(folder / "beside"), str(folder / "project" / "inner")),
        network=NetworkState.parse("*.example.com"),
    )
    workspace = LocalWorkspace.start(str(folder / "project"), env=environment, sandbox=options)
    try:
        if not (await workspace.sandbox.status()).confined and options.mode != "full-access":
            pytest.skip("this machine cannot confine anything")
        yield workspace
    finally:
        await workspace.close()


def play(
    folder: Path, scene: Callable[[LocalWorkspace], Awaitable[None]], options: SandboxOptions | None = None
) -> None:
    async def whole() -> None:
        async with opened(folder, options) as workspace:
            await scene(workspace)

    asyncio.run(whole())


async def writes(workspace: Workspace, path: Path) -> tuple[bool, bool]:
    """Whether a command can write below a directory, and whether the tool for files can."""
    command = await workspace.run(CommandRequest(["sh", "-c", f"echo x > {path}/by-command"]))
    try:
        await workspace.write(f"{path}/by-tool", b"x")
    except BlockedError:
        return command.exit_code == 0, False
    return command.exit_code == 0, True


def test_read_only_keeps_commands_and_tools_from_writing_what_the_outer_one_writes(folder: Path) -> None:
    async def scene(outer: LocalWorkspace) -> None:
        narrow = outer.narrowed(writable=())
        for name in ("project", "beside"):
            assert await writes(narrow, folder / name) == (False, False)
            assert await writes(outer, folder / name) == (True, True)
        assert (await narrow.read("a.txt")).data == b"a"
        assert (await narrow.run(CommandRequest(["cat", "a.txt"]))).tail == b"a"

    play(folder, scene)


@pytest.mark.parametrize(("chosen", "other"), [("beside", "project"), ("project", "beside")])
def test_writes_only_the_directories_that_were_chosen(folder: Path, chosen: str, other: str) -> None:
    async def scene(outer: LocalWorkspace) -> None:
        narrow = outer.narrowed(writable=[str(folder / chosen)])
        assert await writes(narrow, folder / chosen) == (True, True)
        assert await writes(narrow, folder / other) == (False, False)

    play(folder, scene)


def test_can_be_narrowed_again_and_never_widened(folder: Path) -> None:
    async def scene(outer: LocalWorkspace) -> None:
        narrow = outer.narrowed(writable=[str(folder / "beside")], hosts=["api.example.com"])
        assert await writes(narrow.narrowed(writable=()), folder / "beside") == (False, False)
        with pytest.raises(WiderError, match=f"{folder}/project cannot be chosen as writable.*{folder}/beside"):
            narrow.narrowed(writable=["."])
        with pytest.raises(WiderError, match=r"www\.example\.com cannot be reached.*api\.example\.com"):
            narrow.narrowed(hosts=["www.example.com"])
        with pytest.raises(PermissionError):
            narrow.unconfined()

    play(folder, scene)


def test_directories_that_the_outer_one_does_not_write_as_a_whole_are_refused(folder: Path) -> None:
    """`inner` lies in the project: a command of the outer one could put a link in its place."""

    async def scene(outer: LocalWorkspace) -> None:
        for path in ("/", "/etc", "..", "inner", "missing"):
            with pytest.raises(WiderError, match="cannot be chosen as writable"):
                outer.narrowed(writable=[path])

    play(folder, scene)


def test_hosts_that_the_outer_one_does_not_reach_are_refused(folder: Path) -> None:
    async def scene(outer: LocalWorkspace) -> None:
        for host in ("on", "example.com", "*.com.example", "a.example.com:22", "not a host"):
            with pytest.raises(WiderError, match="cannot narrow the workspace"):
                outer.narrowed(hosts=[host])

    play(folder, scene)


def test_reaches_no_host_any_more_that_the_outer_one_does_not_reach_any_more(folder: Path) -> None:
    async def scene(outer: LocalWorkspace) -> None:
        narrow = outer.narrowed(hosts=["a.example.com", "*.b.example.com"])
        assert str(narrow.sandbox.network.state) == "a.example.com,*.b.example.com"
        outer.sandbox.network.set_state(NetworkState())
        with pytest.raises(WiderError):
            narrow.narrowed(hosts=["a.example.com"])

    play(folder, scene)


def test_of_a_workspace_without_a_sandbox_is_confined(folder: Path) -> None:
    async def scene(outer: LocalWorkspace) -> None:
        narrow = outer.narrowed(writable=[str(folder / "beside")])
        if not (await narrow.sandbox.status()).confined:
            pytest.skip("this machine cannot confine anything")
        assert await writes(narrow, folder / "beside") == (True, True)
        assert await writes(narrow, folder / "project") == (False, False)

    play(folder, scene, SandboxOptions(mode="full-access"))


@pytest.mark.parametrize("hosts", [(), ("a.example.com",)])
def test_of_a_workspace_without_a_sandbox_is_confined_by_a_choice_of_hosts_alone(
    folder: Path, hosts: tuple[str, ...]
) -> None:
    async def scene(outer: LocalWorkspace) -> None:
        if not (await outer.narrowed(writable=()).sandbox.status()).confined:
            pytest.skip("this machine cannot confine anything")
        narrow = outer.narrowed(hosts=hosts)
        status = await narrow.sandbox.status()
        assert status.confined
        assert status.network == (",".join(hosts) or "off")
        assert await writes(narrow, folder / "project") == (True, True)
        assert await writes(narrow, folder / "beside") == (False, False)

    play(folder, scene, SandboxOptions(mode="full-access"))


def test_of_a_workspace_without_a_sandbox_cannot_write_all_of_the_system(folder: Path) -> None:
    async def scene(outer: LocalWorkspace) -> None:
        with pytest.raises(WiderError, match="all of / cannot be writable"):
            outer.narrowed(writable=["/"])

    play(folder, scene, SandboxOptions(mode="full-access"))


@pytest.mark.parametrize(("chosen", "shared"), [((), False), (("../beside",), False), ((".",), True)])
def test_writes_the_caches_of_the_project_only_with_the_project(
    folder: Path, chosen: tuple[str, ...], shared: bool
) -> None:
    async def scene(outer: LocalWorkspace) -> None:
        narrow = outer.narrowed(writable=chosen)
        planting = 'mkdir -p "$GOCACHE" && echo x > "$GOCACHE/planted" && echo x > "$XDG_CACHE_HOME/planted"'
        assert (await narrow.run(CommandRequest(["sh", "-c", planting]))).exit_code == 0
        found = await outer.run(CommandRequest(["sh", "-c", 'cat "$GOCACHE/planted" "$XDG_CACHE_HOME/planted"']))
        assert (found.exit_code == 0) is shared
        caches = folder / ".cache" / "kaa" / "caches"
        assert any(path.name == "planted" for path in caches.rglob("*")) is shared
        (outers,) = caches.iterdir()
        direct = await narrow.run(CommandRequest(["touch", f"{outers}/direct"]))
        assert (direct.exit_code == 0) is shared

    play(folder, scene)


def test_background_processes_are_its_own_and_end_with_it(folder: Path) -> None:
    async def scene(outer: LocalWorkspace) -> None:
        narrow = outer.narrowed(writable=())
        await narrow.run_in_background(CommandRequest(["sleep", "1000"]))
        assert outer.processes.list() == ()
        await narrow.close()
        assert [process.state for process in narrow.processes.list()] == ["stopped"]
        assert (await outer.run(CommandRequest(["true"]))).exit_code == 0

    play(folder, scene)


def test_in_memory_the_same_rules_hold_for_files() -> None:
    async def scenario() -> None:
        outer = MemoryWorkspace({"a.txt": b"a"})
        narrow = outer.narrowed(writable=())
        with pytest.raises(BlockedError):
            await narrow.write("a.txt", b"b")
        await outer.write("a.txt", b"c")
        assert (await narrow.read("a.txt")).data == b"c"
        await outer.narrowed(writable=["."]).write("b.txt", b"b")
        assert outer.files["/project/b.txt"] == b"b"
        for chosen in ({"writable": ["."]}, {"hosts": ["example.com"]}):
            with pytest.raises(WiderError, match="cannot narrow the workspace"):
                narrow.narrowed(**chosen)

    asyncio.run(scenario())


def test_hooks_of_the_user_have_the_users_rights_also_for_a_narrowed_workspace(folder: Path) -> None:
    async def scene(workspace: LocalWorkspace) -> None:
        narrower = workspace.narrowed(writable=()).narrowed()

        with pytest.raises(PermissionError, match="no outside"):
            narrower.unattended()
        done = await narrower.of_user().run(CommandRequest(["sh", "-c", f"echo x > {folder}/by-a-hook"]))

        assert done.exit_code == 0
        assert narrower.of_user() is workspace.unattended()

    play(folder, scene)


def test_only_programs_of_a_plugin_write_what_it_keeps_and_they_follow_the_sandbox(folder: Path) -> None:
    kept = folder / "kaa" / "plugin-data" / "tools"
    kept.mkdir(parents=True)
    options = SandboxOptions(private=(str(folder / "kaa"),))
    write = CommandRequest(["sh", "-c", f"echo x > {kept}/x && cat {kept}/x; echo y > of-project"])

    async def scene(workspace: LocalWorkspace) -> None:
        await workspace.run(write)
        assert not (kept / "x").exists()

        keeping = workspace.with_kept(str(kept))
        assert (await keeping.run(write)).tail == b"x\n"
        assert workspace.with_kept(str(kept)) is keeping

        await workspace.change(SandboxChange(mode="read-only"))
        (kept / "x").unlink()
        (folder / "project" / "of-project").unlink()
        await keeping.run(write)
        assert not (kept / "x").exists()
        assert not (folder / "project" / "of-project").exists()

    play(folder, scene, options)
