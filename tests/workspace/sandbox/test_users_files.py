"""What the user does in their own shell and editor while only commands in the background run."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest
from kaa.workspace.sandbox.options import SandboxChange
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS
from tests.workspace.sandbox.test_sandbox import git, play, sh


@pytest.fixture
def folder(tier: str) -> Iterator[Path]:
    """A home with a project; only tier `full` can tell the user's changes from those of commands."""
    if tier != "full":
        pytest.skip(f"tier {tier} does not note the calls of commands")
    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        yield folder


async def start(workspace: LocalWorkspace, folder: Path, script: str = "exec sleep 1000") -> None:
    """Run a command in the background until the guard knows that it writes nothing."""
    ready = folder / "project" / "ready"
    await workspace.run_in_background(CommandRequest(["sh", "-c", f"touch ready; {script}"], timeout=None))
    async with asyncio.timeout(HANG_SECONDS):
        while not ready.exists():
            await asyncio.sleep(0.01)
        ready.unlink()
        for number in range(1_000_000):
            canary = folder / "project" / f".mise.{number}.toml"
            canary.touch()
            if await stays(workspace, canary):
                return
            await asyncio.sleep(0.05)


async def stays(workspace: LocalWorkspace, path: Path, content: str = "") -> bool:
    """Whether a file is still there, as it was, when the guard has dealt with it."""
    await workspace.sandbox.inspect()
    return path.is_file() and path.read_text() == content


def save(path: Path, content: str) -> None:
    """Write a file as editors do, by way of another one."""
    aside = path.with_name(f"{path.name}~")
    aside.write_text(content)
    aside.rename(path)


def test_new_names_stay_and_are_closed_to_commands(folder: Path) -> None:
    project = folder / "project"
    settings, nested = project / ".vscode" / "settings.json", project / "sub" / ".idea" / "a" / "b.xml"
    write = (
        "until test -e go; do sleep 0.05; done; echo evil > .vscode/settings.json; echo evil > .vscode/new; touch done"
    )

    async def scenario(workspace: LocalWorkspace) -> None:
        await start(workspace, folder, write)

        for path in (settings, nested):
            path.parent.mkdir(parents=True)
            path.write_text("mine")
            assert await stays(workspace, path, "mine")
        save(project / ".envrc", "mine")
        assert await stays(workspace, project / ".envrc", "mine")
        (project / "go").touch()
        while not (project / "done").exists():
            await asyncio.sleep(0.01)

        assert await stays(workspace, settings, "mine")
        assert os.listdir(settings.parent) == ["settings.json"]

    play(folder, scenario)
    assert not [path for path in project.glob("**/*.kaa-blocked*") if not path.name.startswith(".mise.")]


def test_a_mounted_file_that_is_replaced_stays_replaced(folder: Path) -> None:
    project = folder / "project"
    (project / ".envrc").write_text("before")
    git(folder, "init", "-q")

    async def scenario(workspace: LocalWorkspace) -> None:
        await start(workspace, folder)

        for content in ("one", "two"):
            save(project / ".envrc", content)
            assert await stays(workspace, project / ".envrc", content)
        for number in range(3):
            git(folder, "config", f"n{number}.k", "v")
            await workspace.sandbox.inspect()
        assert (await sh(workspace, "echo evil > .envrc")).exit_code != 0

    play(folder, scenario)
    assert (project / ".envrc").read_text() == "two"
    config = (project / ".git" / "config").read_text()
    assert [number for number in range(3) if f"[n{number}]" in config] == [0, 1, 2]


def test_what_git_checks_out_stays(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    git(folder, "checkout", "-q", "-b", "tools")
    names = [".husky/pre-commit", ".devcontainer/devcontainer.json", *(f".idea/{number}" for number in range(50))]
    for name in names:
        (folder / "project" / name).parent.mkdir(exist_ok=True)
        (folder / "project" / name).write_text("committed")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "x")
    git(folder, "checkout", "-q", "main")

    async def scenario(workspace: LocalWorkspace) -> None:
        await start(workspace, folder)

        git(folder, "checkout", "-q", "tools")

        assert [name for name in names if not await stays(workspace, folder / "project" / name, "committed")] == []

    play(folder, scenario)


@pytest.mark.parametrize(
    "script",
    [
        "echo evil > .envrc",
        "mkdir -p sub; echo evil > sub/x; mv sub/x .envrc",
        'python3 -c \'import os; os.symlink("evil", ".envrc")\'',
        "echo evil > x; ln x .envrc",
    ],
)
def test_what_a_command_in_the_background_makes_is_moved_away(folder: Path, script: str) -> None:
    project = folder / "project"

    async def scenario(workspace: LocalWorkspace) -> None:
        await start(workspace, folder, f"until test -e go; do sleep 0.05; done; {script}; touch done; exec sleep 1000")
        (project / "go").touch()
        while not (project / "done").exists():
            await asyncio.sleep(0.01)
        await workspace.sandbox.inspect()

        assert not os.path.lexists(project / ".envrc")

    play(folder, scenario)


def test_a_file_that_a_command_holds_open_is_moved_away_whoever_gives_it_the_name(folder: Path) -> None:
    project = folder / "project"

    async def scenario(workspace: LocalWorkspace) -> None:
        await start(workspace, folder, "exec 3> harmless; exec sleep 1000")

        (project / "harmless").rename(project / ".envrc")

        assert not await stays(workspace, project / ".envrc")

    play(folder, scenario)


def test_beside_another_activity_nothing_is_taken_for_the_users(folder: Path) -> None:
    project = folder / "project"

    async def scenario(workspace: LocalWorkspace) -> None:
        await start(workspace, folder)
        running = asyncio.create_task(sh(workspace, "touch running; until test -e over; do sleep 0.05; done"))
        while not (project / "running").exists():
            await asyncio.sleep(0.01)

        save(project / ".envrc", "")
        was_kept = await stays(workspace, project / ".envrc")
        (project / "over").touch()
        await running

        assert not was_kept

    play(folder, scenario)


def test_after_the_sandbox_has_changed_what_ran_before_is_no_evidence(folder: Path) -> None:
    project = folder / "project"
    (folder / "more").mkdir()

    async def scenario(workspace: LocalWorkspace) -> None:
        await start(workspace, folder)
        await workspace.change(SandboxChange(writable=(str(folder / "more"),)))

        save(project / ".envrc", "")

        assert not await stays(workspace, project / ".envrc")

    play(folder, scenario)


def test_what_the_user_runs_outside_waits_until_it_is_recognized(folder: Path) -> None:
    git(folder, "init", "-q")
    project = folder / "project"

    async def scenario(workspace: LocalWorkspace) -> None:
        await start(workspace, folder)
        outside = workspace.unconfined()

        for number in range(3):
            assert (await sh(workspace, "touch x")).exit_code == 0  # the guard has just been told of another activity
            assert (
                await sh(outside, f"git config n{number}.k v; mkdir .z{number}; echo > .envrc.local")
            ).exit_code == 0
            await workspace.sandbox.inspect()

    play(folder, scenario)
    config = (project / ".git" / "config").read_text()
    assert [number for number in range(3) if f"[n{number}]" in config] == [0, 1, 2]
    assert (project / ".envrc.local").exists()


@pytest.mark.parametrize("change", [SandboxChange(mode="read-only"), None])
def test_while_a_command_can_write_nothing_what_appears_stays(folder: Path, change: SandboxChange | None) -> None:
    settings = folder / "project" / ".vscode" / "settings.json"

    async def scenario(workspace: LocalWorkspace) -> None:
        await sh(workspace, "true")  # a guard watches the project from here on
        if change is not None:
            await workspace.change(change)
        begun = asyncio.Event()
        command = CommandRequest(["sh", "-c", "echo; until test -e go; do sleep 0.05; done"], timeout=HANG_SECONDS)
        waiting = asyncio.create_task(workspace.run(command, lambda _output: begun.set()))
        await begun.wait()
        settings.parent.mkdir()
        settings.write_text("mine")
        stayed = await stays(workspace, settings, "mine")
        (folder / "project" / "go").touch()
        found = (await waiting).blocked

        assert (stayed, bool(found)) == (change is not None, change is None)

    play(folder, scenario)


def test_a_command_that_begins_while_more_becomes_possible_is_guarded(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.change(SandboxChange(mode="read-only"))
        await sh(workspace, "true")
        plant = "mkdir .vscode && echo planted > .vscode/tasks.json; sleep 0.2"

        changing = asyncio.create_task(workspace.change(SandboxChange(mode="workspace-write")))
        await asyncio.sleep(0)
        await sh(workspace, plant)
        await changing

        assert not (folder / "project" / ".vscode" / "tasks.json").exists()

    play(folder, scenario)
