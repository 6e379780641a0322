"""Changing what the sandbox allows while it runs: what follows, what goes on, and what is refused."""

import asyncio
import contextlib
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

import kaa
from kaa.host.programs import commands_can_write
from kaa.workspace.blocked import BlockedError
from kaa.workspace.checkpoints.contract import CheckpointLimits
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from kaa.workspace.sandbox.changes import SandboxChangeError
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS
from tests.support.processes import Processes

Scenario = Callable[[LocalWorkspace], Awaitable[None]]


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        for name in ("home", "project", "added"):
            (folder / name).mkdir()
        yield folder


@contextlib.asynccontextmanager
async def opened(folder: Path, options: SandboxOptions, project: str = "project") -> AsyncIterator[LocalWorkspace]:
    environment = {"PATH": f"{os.environ['PATH']}:{folder / 'home' / 'bin'}", "HOME": str(folder / "home")}
    workspace = LocalWorkspace.start(str(folder / project), env=environment, sandbox=options)
    try:
        if not (await workspace.sandbox.status()).confined:
            pytest.skip("this machine cannot confine anything")
        yield workspace
    finally:
        await workspace.close()


def play(folder: Path, scenario: Scenario, options: SandboxOptions | None = None) -> None:
    async def whole() -> None:
        async with opened(folder, options or SandboxOptions()) as workspace:
            await scenario(workspace)

    asyncio.run(whole())


async def sh(workspace: LocalWorkspace, script: str) -> CommandResult:
    return await workspace.run(CommandRequest(["sh", "-c", script], timeout=HANG_SECONDS))


def test_an_added_directory_can_be_written_from_then_on(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        assert (await sh(workspace, "touch ../added/a")).exit_code != 0

        await workspace.change(SandboxChange(writable=(str(folder / "added"),)))

        assert (await sh(workspace, "touch ../added/a")).exit_code == 0
        await workspace.write(str(folder / "added" / "b"), b"x")
        assert (await sh(workspace, "touch ../c")).exit_code != 0
        assert commands_can_write(str(folder / "added" / "tool"))

    play(folder, scenario)
    assert sorted(os.listdir(folder / "added")) == ["a", "b"]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.usefixtures("mounts")
def test_in_a_subdirectory_of_a_repository_a_commit_says_what_to_add_and_then_works(folder: Path) -> None:
    top = folder / "project"
    (top / "sub").mkdir()
    subprocess.run(["git", "init", "-q", "."], cwd=top, check=True)
    commit = "git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m x"

    async def scenario(workspace: LocalWorkspace) -> None:
        refused = await sh(workspace, commit)
        assert [one.text for one in refused.blocked if one.what.endswith("/index.lock") or "--add-dir" in one.text]
        assert all(
            f"/add-dir {top} permits it for this session; or start kaa there." in one.text for one in refused.blocked
        )

        await workspace.change(SandboxChange(writable=(str(top),)))

        assert (await sh(workspace, commit)).exit_code == 0
        for attempt in ("echo x > ../.git/hooks/pre-commit", "git config core.pager evil"):
            assert (await sh(workspace, attempt)).exit_code != 0

    async def whole() -> None:
        async with opened(folder, SandboxOptions(), "project/sub") as workspace:
            await scenario(workspace)

    asyncio.run(whole())


@pytest.mark.usefixtures("confined")
def test_the_protected_names_of_an_added_directory_are_protected(folder: Path) -> None:
    added = folder / "added"
    (added / ".mcp.json").write_text("the user's")
    (added / "sub").mkdir()

    async def scenario(workspace: LocalWorkspace) -> None:
        before = asyncio.create_task(sh(workspace, "read _ < ../project/go"))
        await workspace.change(SandboxChange(writable=(str(added),)))

        await sh(workspace, "echo evil > ../added/.mcp.json")
        planted = await sh(
            workspace, "mkdir ../added/sub/.vscode; echo evil > ../added/sub/.vscode/x; echo evil > ../added/.envrc"
        )
        assert {one.what for one in planted.blocked} >= {str(added / ".envrc")}
        with pytest.raises(BlockedError):
            await workspace.write(str(added / ".envrc"), b"evil")
        await asyncio.to_thread((folder / "project" / "go").write_text, "\n")
        await before

    os.mkfifo(folder / "project" / "go")
    play(folder, scenario)
    assert (added / ".mcp.json").read_text() == "the user's"
    assert not (added / ".envrc").exists()
    assert not (added / "sub" / ".vscode").exists()


def test_read_only_holds_new_commands_and_files_while_what_runs_keeps_its_rights(folder: Path) -> None:
    project = folder / "project"
    os.mkfifo(project / "go")
    os.mkfifo(project / "began")

    async def scenario(workspace: LocalWorkspace) -> None:
        script = "echo > began; read _ < go; touch late; mkdir .vscode; echo evil > .vscode/tasks.json"
        running = asyncio.create_task(sh(workspace, script))
        await asyncio.to_thread((project / "began").read_text)

        await workspace.change(SandboxChange(mode="read-only"))

        assert (await sh(workspace, "touch new")).exit_code != 0
        with pytest.raises(BlockedError):
            await workspace.write("new", b"x")
        await asyncio.to_thread((project / "go").write_text, "\n")
        result = await running
        assert (project / "late").exists()
        assert [one.kind for one in result.blocked] == ["protected"]  # the guard goes on watching it

        await workspace.change(SandboxChange(mode="workspace-write"))
        assert (await sh(workspace, "touch new")).exit_code == 0

    play(folder, scenario)
    assert not (project / ".vscode" / "tasks.json").exists()


def test_going_back_and_forth_starts_no_more_processes(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await sh(workspace, "true")
        await workspace.change(SandboxChange(mode="read-only"))
        await workspace.change(SandboxChange(mode="workspace-write"))
        before = _children()

        await workspace.change(SandboxChange(mode="read-only"))
        await workspace.change(SandboxChange(mode="workspace-write"))

        assert (await sh(workspace, "touch a")).exit_code == 0
        assert _children() == before

    play(folder, scenario)


def _children() -> set[int]:
    return set(Processes().children(os.getpid()))


def test_a_session_that_began_read_only_can_be_written_and_undone_later(folder: Path) -> None:
    project = folder / "project"
    (project / "a").write_text("before")

    async def scenario(workspace: LocalWorkspace) -> None:
        checkpoints = workspace.checkpoints(str(folder / "kept"), "s", CheckpointLimits(max_megabytes=10))
        await checkpoints.ready(call="1")
        await checkpoints.ended("1")
        await checkpoints.collect()
        await workspace.change(SandboxChange(mode="workspace-write"))

        await checkpoints.ready(call="2")
        await workspace.write("a", b"after")
        await checkpoints.ended("2")
        change_set = await checkpoints.collect()

        assert change_set is not None
        await checkpoints.restore(await checkpoints.preview([change_set.id], []))
        assert (project / "a").read_text() == "before"
        await checkpoints.close()

    play(folder, scenario, SandboxOptions(mode="read-only"))


def test_a_narrowed_workspace_follows_to_read_only_and_back_but_to_nothing_more(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        narrower = workspace.narrowed(writable=["."])
        reader = workspace.narrowed(writable=[])
        await workspace.change(SandboxChange(mode="read-only"))
        assert (await sh(narrower, "touch a")).exit_code != 0

        await workspace.change(SandboxChange(mode="workspace-write", writable=(str(folder / "added"),)))

        assert (await sh(narrower, "touch a")).exit_code == 0
        assert (await sh(narrower, "touch ../added/a")).exit_code != 0
        assert (await sh(reader, "touch b")).exit_code != 0

    play(folder, scenario)


_REFUSED = {
    "/": "contains your home",
    "home": "contains your home",
    ".": "contains your home",
    "home/.kaa": "kaa keeps its own files there",
    "home/.kaa/sessions": "kaa keeps its own files there",
    "home/.cache/kaa/output": "kaa keeps its own files there",
    "home/.ssh": "may hold secrets",
    "home/link": "contains your home",
    os.path.dirname(kaa.__file__): "kaa executes files in it",
    "/proc": "files of the system",
    "/tmp": "files of the system",
    "/bin": "files of the system",
    "/etc": "files of the system",
    "/var": "files of the system",
    "missing": "not a directory",
    "home/repo/.git/objects": "Add the repository, .*/home/repo",
}


def test_what_would_undo_the_sandbox_is_not_added(folder: Path) -> None:
    for name in (".kaa/sessions", ".cache/kaa/output", ".ssh", "repo/.git/objects"):
        (folder / "home" / name).mkdir(parents=True)
    (folder / "home" / ".ssh" / "id").touch()
    (folder / "home" / "link").symlink_to(folder)
    options = SandboxOptions(private=(str(folder / "home" / ".kaa"),))

    async def scenario(workspace: LocalWorkspace) -> None:
        for path, reason in _REFUSED.items():
            with pytest.raises(SandboxChangeError, match=reason):
                await workspace.change(SandboxChange(writable=(str(folder / path),)))
            assert workspace.sandbox.options == options, path
        assert (await sh(workspace, "touch a")).exit_code == 0

    play(folder, scenario, options)


def test_a_shown_path_can_be_read_but_never_kaas_own(folder: Path) -> None:
    (folder / "home" / ".kaa").mkdir()
    secret = folder / "home" / ".netrc"
    secret.write_text("machine x")

    async def scenario(workspace: LocalWorkspace) -> None:
        with pytest.raises(OSError, match="netrc"):
            await workspace.read(str(secret))

        await workspace.change(SandboxChange(shown=(str(secret),)))

        assert (await workspace.read(str(secret))).data == b"machine x"
        for path in (folder / "home", folder / "home" / ".kaa"):
            with pytest.raises(SandboxChangeError):
                await workspace.change(SandboxChange(shown=(str(path),)))

    play(folder, scenario, SandboxOptions(private=(str(folder / "home" / ".kaa"),)))


def test_without_a_sandbox_nothing_changes(folder: Path) -> None:
    async def whole() -> None:
        workspace = LocalWorkspace.start(
            str(folder / "project"), env={"HOME": str(folder / "home")}, sandbox=SandboxOptions(mode="full-access")
        )
        with pytest.raises(SandboxChangeError, match="full-access"):
            await workspace.change(SandboxChange(mode="read-only"))
        await workspace.close()

    asyncio.run(whole())


def test_new_rights_need_the_whole_change(folder: Path) -> None:
    """A directory that cannot be added changes nothing else either."""

    async def scenario(workspace: LocalWorkspace) -> None:
        with pytest.raises(SandboxChangeError):
            await workspace.change(SandboxChange(mode="workspace-write", writable=("/",)))
        assert workspace.sandbox.mode == "read-only"
        assert (await sh(workspace, "touch a")).exit_code != 0

    play(folder, scenario, SandboxOptions(mode="read-only"))


def test_a_link_that_a_command_made_adds_nothing(folder: Path) -> None:
    (folder / "home" / "data").mkdir()
    (folder / "project" / "inner").mkdir()

    async def scenario(workspace: LocalWorkspace) -> None:
        await sh(workspace, "ln -s ../home/data data")
        for change in (SandboxChange(writable=(link,)), SandboxChange(shown=(link,))):
            with pytest.raises(SandboxChangeError, match="a link in a directory that commands can write"):
                await workspace.change(change)
        # What is in the project already could be exchanged for a link before the mount is made.
        await workspace.change(SandboxChange(writable=(str(folder / "project" / "inner"),)))
        assert workspace.sandbox.options.writable == ()

    link = str(folder / "project" / "data")
    play(folder, scenario)


def test_what_the_user_has_in_an_added_directory_cannot_be_changed(folder: Path) -> None:
    home, added = folder / "home", folder / "added"
    (added / "hooks.json").write_text("{}")
    (home / "hooks.json").symlink_to(added / "hooks.json")
    (home / "skills").symlink_to(added / "skills")  # which is not there yet

    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.change(SandboxChange(writable=(str(added),)))

        assert (await sh(workspace, "touch ../added/a")).exit_code == 0
        assert (await sh(workspace, "echo x > ../added/hooks.json")).exit_code != 0

    play(folder, scenario, SandboxOptions(own=(str(home / "hooks.json"), str(home / "skills"))))
    assert (added / "hooks.json").read_text() == "{}"
    assert (added / "a").exists()


def test_a_directory_with_a_link_to_what_the_user_has_is_not_added(folder: Path) -> None:
    home, added = folder / "home", folder / "added"
    (added / "first").mkdir()
    (added / "current").symlink_to("first")
    (home / "skills").symlink_to(added / "current")

    async def scenario(workspace: LocalWorkspace) -> None:
        with pytest.raises(SandboxChangeError, match=r"added/current, leads to .*/home/skills, which kaa obeys"):
            await workspace.change(SandboxChange(writable=(str(added),)))

    play(folder, scenario, SandboxOptions(own=(str(home / "skills"),)))


def test_what_is_exchanged_after_it_was_added_does_not_widen_the_sandbox(folder: Path) -> None:
    added = folder / "added"
    (folder / "other").mkdir()

    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.change(SandboxChange(writable=(str(added),)))
        await sh(workspace, "rm -rf ../added; ln -s other ../added; mv ../added ../gone")
        await workspace.change(SandboxChange(mode="read-only"))
        await workspace.change(SandboxChange(mode="workspace-write"))
        await workspace.change(SandboxChange(git_writable=False))
        assert (await sh(workspace, "touch ../other/a")).exit_code != 0

    play(folder, scenario)
    assert added.is_dir()
    assert not added.is_symlink()


def test_the_model_may_not_propose_what_holds_secrets_or_programs(folder: Path) -> None:
    home = folder / "home"
    for name in (".ssh", ".config/gh", ".tool", ".local/lib/python3.13", ".local/state", "bin", "notes"):
        (home / name).mkdir(parents=True)
    (home / ".ssh" / "id_rsa").write_text("key")
    (home / ".config" / "gh" / "hosts.yml").write_text("token")
    (home / "link").symlink_to(home / ".ssh")

    async def scenario(workspace: LocalWorkspace) -> None:
        def shown(name: str) -> str | None:
            return workspace.sandbox.objection(SandboxChange(shown=(str(home / name),)))

        def written(name: str) -> str | None:
            return workspace.sandbox.objection(SandboxChange(writable=(str(home / name),)))

        for name in (".ssh", ".ssh/id_rsa", ".config", ".config/gh", "link", "", ".cache/kaa"):
            assert shown(name), name
            assert written(name), name
        assert shown(".tool") is None
        assert written("notes") is None
        for name in ("bin", ".local", ".local/lib", ".local/lib/python3.13"):
            assert "PATH" in (written(name) or ""), name
        assert written(".local/state") is None

    play(folder, scenario)
