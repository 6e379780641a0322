"""Worktrees of the user's that commands do not see: git must not forget them, whatever starts it."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS

Scenario = Callable[[LocalWorkspace], Awaitable[None]]

_PRUNES = {
    "script": "sh prune.sh",
    "python": "python3 -c \"import subprocess; subprocess.run(['git', 'worktree', 'prune'])\"",
    "gc": "git -c gc.worktreePruneExpire=now gc -q",
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A home with a repository in it, not below /tmp."""
    with folder_elsewhere() as folder:
        project = folder / "project"
        project.mkdir()
        (project / "file").write_text("first\n")
        (project / "prune.sh").write_text("git worktree prune\n")
        git(project, "init", "-q")
        git(project, "add", ".")
        git(project, "commit", "-q", "-m", "first")
        yield folder


@pytest.fixture
def temporary() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(dir="/tmp"))
    yield path
    shutil.rmtree(path)


def git(where: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    person = ("-c", "user.name=a", "-c", "user.email=b@c")
    return subprocess.run(
        ["git", *person, *arguments], cwd=where, check=True, env=environment, capture_output=True, text=True
    ).stdout


def add_worktree(folder: Path, path: Path) -> None:
    """A worktree with a staged change, for long unused."""
    git(folder / "project", "worktree", "add", "-q", str(path), "-b", path.name)
    (path / "file").write_text("staged\n")
    git(path, "add", "file")
    for kept in (folder / "project" / ".git" / "worktrees").glob("*/*"):
        os.utime(kept, (0, 0))


def state(folder: Path, *trees: Path) -> list[str]:
    entries = (folder / "project" / ".git" / "worktrees").rglob("*")
    kept = sorted(str(path.relative_to(folder)) for path in entries if path.suffix != ".lock")
    return [*kept, git(folder / "project", "worktree", "list"), *(git(tree, "status", "--short") for tree in trees)]


def play(folder: Path, scenario: Scenario, options: SandboxOptions | None = None) -> None:
    async def whole() -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        workspace = LocalWorkspace.start(str(folder / "project"), env=environment, sandbox=options)
        try:
            if (await workspace.sandbox.status()).tier != "full":
                pytest.skip("needs tier full")
            await scenario(workspace)
        finally:
            await workspace.close()

    asyncio.run(whole())


async def sh(workspace: LocalWorkspace, script: str) -> CommandResult:
    return await workspace.run(CommandRequest(["sh", "-c", script], timeout=HANG_SECONDS))


@pytest.mark.parametrize("script", _PRUNES.values(), ids=_PRUNES)
def test_a_hidden_worktree_stays_whole(folder: Path, temporary: Path, script: str) -> None:
    trees = folder / ".trees" / "x", folder / "clients" / "y", temporary / "z"
    for tree in trees:
        add_worktree(folder, tree)
    before = state(folder, *trees)

    async def scenario(workspace: LocalWorkspace) -> None:
        await sh(workspace, script)
        for tree in trees:
            assert b"staged" not in (await sh(workspace, f"cat {tree}/file {tree}/.git/*")).tail

    play(folder, scenario, SandboxOptions(hidden=(str(folder / "clients"),)))

    assert state(folder, *trees) == before


def test_one_that_came_after_the_start_stays_whole(folder: Path) -> None:
    tree = folder / ".local" / "share" / "kaa" / "worktrees" / "x"
    (folder / ".local" / "share" / "fonts").mkdir(parents=True)
    before: list[list[str]] = []

    async def scenario(workspace: LocalWorkspace) -> None:
        add_worktree(folder, tree)  # the view was built for the status
        before.append(state(folder, tree))
        assert b"x" in (await sh(workspace, "sh prune.sh; ls .git/worktrees")).tail

    play(folder, scenario)

    assert [state(folder, tree)] == before


def test_a_hidden_worktree_is_not_removed(folder: Path) -> None:
    tree = folder / ".trees" / "x"
    add_worktree(folder, tree)
    before = state(folder, tree)

    async def scenario(workspace: LocalWorkspace) -> None:
        done = await sh(workspace, f"git worktree remove -f -f {tree}")
        assert done.exit_code != 0
        assert b"cannot remove working tree" in done.tail

    play(folder, scenario)

    assert state(folder, tree) == before


def test_a_worktree_that_is_gone_is_not_kept(folder: Path) -> None:
    """A command gets as far as the first file that a mount holds; the user's git removes the rest."""
    tree = folder / ".trees" / "x"
    add_worktree(folder, tree)
    shutil.rmtree(tree)

    async def scenario(workspace: LocalWorkspace) -> None:
        await sh(workspace, "sh prune.sh")

    play(folder, scenario)

    kept = folder / "project" / ".git" / "worktrees" / "x"
    assert not (kept / "HEAD").exists() or not (kept / "gitdir").exists()
    git(folder / "project", "worktree", "prune")
    assert not kept.exists()


def test_one_that_commands_see_but_cannot_write_keeps_what_it_needs(folder: Path) -> None:
    """git removes what it can of the repository's part, in the order of the directory."""
    tree = folder / "elsewhere"
    add_worktree(folder, tree)
    git(tree, "commit", "-q", "-m", "staged")
    (folder / "project" / "remove.sh").write_text(f"git worktree remove -f {tree}\n")
    before = git(tree, "status", "--short", "--branch")

    async def scenario(workspace: LocalWorkspace) -> None:
        assert (await sh(workspace, "sh remove.sh")).exit_code != 0
        await sh(workspace, f"git -C {tree} status; rm -f .git/worktrees/elsewhere/*")
        assert (await sh(workspace, f"git -C {tree} log --format=%s")).tail == b"staged\nfirst\n"

    play(folder, scenario)

    assert git(tree, "status", "--short", "--branch") == before
