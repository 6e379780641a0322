"""Agents in worktrees: what they may do there is what their conversation may do in the project, now and later."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from kaa.ext.agents import AgentError
from kaa.shell.home import Home
from kaa.shell.worktrees.isolation import Isolated, isolated
from kaa.shell.worktrees.working import Worktrees
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.network.allow_list import NetworkState
from kaa.workspace.protocol import CommandRequest
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions
from tests.support.elsewhere import folder_elsewhere

pytestmark = pytest.mark.usefixtures("mounts")


# Says what of the paths the commands of a kaa that starts in a directory can write.
_WRITABLE = (
    "import os, sys; from kaa.shell.home import Home; from kaa.shell.safety import SandboxFlags, sandbox_options\n"
    "from kaa.host.programs import commands_can_write\n"
    "sandbox_options(Home.of(os.environ), SandboxFlags(), sys.argv[1]); print(*map(commands_can_write, sys.argv[2:]))"
)


class World:
    """A repository in a folder that the sandbox shows, with a conversation in one of its directories."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.beside = folder / "beside"
        self.told: list[str] = []
        for directory in (self.project / "part", self.beside, folder / "home"):
            directory.mkdir(parents=True)
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "KAA_DIR": str(folder / "home"),
            "LANG": "C.UTF-8",
            "GIT_CEILING_DIRECTORIES": str(folder),
        }
        self.git("init", "-q")
        for name in ("same", "part/same"):
            (self.project / name).write_text("same\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *arguments], cwd=self.project, env=self.environ, check=True)

    def play(
        self,
        scene: Callable[[LocalWorkspace, Callable[[], AbstractAsyncContextManager[Isolated]]], Awaitable[None]],
        options: SandboxOptions,
        below: str = ".",
    ) -> None:
        """Play a scene with the workspace of a conversation, and what gives an agent of it a worktree."""

        async def whole() -> None:
            root = str(self.project / below)
            conversation = LocalWorkspace.start(root, env=self.environ, sandbox=options)
            try:
                home = Home.of(self.environ)
                await scene(conversation, lambda: isolated("try", conversation, home, self.environ, self.told.append))
            finally:
                await conversation.close()

        asyncio.run(whole())


@pytest.fixture
def world() -> Iterator[World]:
    with folder_elsewhere() as folder:
        yield World(folder)


async def succeeds(workspace: LocalWorkspace, command: str) -> bool:
    return (await workspace.run(CommandRequest(["sh", "-c", command]))).exit_code == 0


async def output(workspace: LocalWorkspace, command: str) -> str:
    return (await workspace.run(CommandRequest(["sh", "-c", command]))).tail.decode(errors="replace")


def test_in_a_part_of_the_repository_it_writes_that_part_of_the_worktree_only(world: World) -> None:
    (world.project / "part" / "empty").mkdir()

    async def scene(conversation: LocalWorkspace, start: Callable[[], AbstractAsyncContextManager[Isolated]]) -> None:
        async with start() as at:
            agent = at.workspace
            above = Path(agent.root).parent.parent
            assert agent.root.endswith("/part/empty")
            assert await succeeds(agent, "echo x > new && cat ../same && git log")
            for place in (above, above / "part", world.project, world.project / ".git", world.project / "part/empty"):
                assert not await succeeds(agent, f"echo x > {place}/canary")
                assert not (place / "canary").exists()
            assert not await succeeds(agent, "git commit -q --allow-empty -m canary")

    world.play(scene, SandboxOptions(), below="part/empty")


def test_a_link_that_a_command_left_there_leads_no_agent_out_of_the_worktree(world: World) -> None:
    async def scene(conversation: LocalWorkspace, start: Callable[[], AbstractAsyncContextManager[Isolated]]) -> None:
        async with start() as at:
            assert await succeeds(at.workspace, "echo x > new")
            root = Path(at.workspace.root)
        (root / "new").unlink()
        (root / "same").unlink()
        root.rmdir()
        root.symlink_to(world.beside)
        with pytest.raises(AgentError, match="is a link or not a directory"):
            async with start():
                pytest.fail("it began")

    world.play(scene, SandboxOptions(), below="part")


@pytest.mark.parametrize("below", [".", "part"])
def test_a_project_that_was_replaced_by_a_link_is_not_copied(world: World, below: str) -> None:
    place = world.project / below

    async def scene(conversation: LocalWorkspace, at: Callable[[], AbstractAsyncContextManager[Isolated]]) -> None:
        (world.beside / "secret").write_text("CANARY")
        place.rename(world.beside / "aside")
        place.symlink_to(world.beside)
        with pytest.raises(AgentError, match="is not the directory any more that kaa was given"):
            async with at() as agent:
                await output(agent.workspace, "cat secret")

    world.play(scene, SandboxOptions(), below)


def test_what_is_hidden_in_the_project_is_hidden_in_the_worktree_and_in_its_states(world: World) -> None:
    (world.project / "secret.txt").write_text("first\n")
    world.git("add", "secret.txt")
    world.git("commit", "-q", "-m", "second")
    (world.project / "secret.txt").write_text("canary\n")
    (world.project / "keys").mkdir()
    (world.project / "keys" / "one.pem").write_text("canary\n")
    hidden = (str(world.project / "secret.txt"), str(world.project / "**/*.pem"))

    async def scene(conversation: LocalWorkspace, start: Callable[[], AbstractAsyncContextManager[Isolated]]) -> None:
        async with start() as at:
            found = await output(
                at.workspace,
                f"cat secret.txt keys/one.pem {world.project}/secret.txt {world.project}/keys/one.pem;"
                " git cat-file --batch-all-objects --batch",
            )
            assert "same" in found
            assert "canary" not in found

    world.play(scene, SandboxOptions(hidden=hidden))


def test_a_worktree_of_the_users_own_stays_when_an_agent_ends_in_it(world: World) -> None:
    async def scene(conversation: LocalWorkspace, at: Callable[[], AbstractAsyncContextManager[Isolated]]) -> None:
        worktrees = Worktrees(str(world.project), Home.of(world.environ), world.environ)
        own = (await worktrees.enter("try")).worktree
        async with at():
            pass
        assert own.exists
        assert worktrees.registry.find("try") == own

    world.play(scene, SandboxOptions())


def test_what_is_in_the_project_is_no_program_of_the_user_there(world: World) -> None:
    async def scene(_: LocalWorkspace, begin: Callable[[], AbstractAsyncContextManager[Isolated]]) -> None:
        async with begin() as own:
            written = subprocess.run(
                [sys.executable, "-c", _WRITABLE, own.workspace.root, world.project / "check.sh", world.beside],
                env=world.environ,
                check=True,
                stdout=subprocess.PIPE,
            ).stdout
        assert written.split() == [b"True", b"False"]

    world.play(scene, SandboxOptions())


@pytest.mark.parametrize("git_writable", [True, False])
def test_it_commits_if_the_conversation_may(world: World, git_writable: bool) -> None:
    async def scene(conversation: LocalWorkspace, start: Callable[[], AbstractAsyncContextManager[Isolated]]) -> None:
        async with start() as at:
            commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m canary"
            assert await succeeds(at.workspace, commit) == git_writable
            assert await succeeds(at.workspace, "echo x > new")
        log = subprocess.run(["git", "log", "--all", "--format=%s"], cwd=world.project, capture_output=True, check=True)
        assert (b"canary" in log.stdout) == git_writable

    world.play(scene, SandboxOptions(git_writable=git_writable))


def test_it_follows_its_conversation_while_it_works(world: World) -> None:
    options = SandboxOptions(network=NetworkState.parse("a.example"), writable=(str(world.beside),), ports="open")

    async def scene(conversation: LocalWorkspace, start: Callable[[], AbstractAsyncContextManager[Isolated]]) -> None:
        async with start() as at:
            agent = at.workspace
            network, theirs = conversation.sandbox.network, agent.sandbox.network
            assert await succeeds(agent, f"echo x > new && echo x > {world.beside}/new")
            assert str(theirs.state) == "a.example"

            theirs.allow("answered.example")
            assert theirs.state == network.state
            network.choose("off")
            assert str(theirs.state) == "off"

            await conversation.change(SandboxChange(mode="read-only", git_writable=False, ports="closed"))
            assert not await succeeds(agent, "echo x > later")
            assert not await succeeds(agent, f"echo x > {world.beside}/later")
            assert (agent.sandbox.options.git_writable, agent.sandbox.options.ports) == (False, "closed")

            await conversation.change(SandboxChange(mode="workspace-write"))
            assert await succeeds(agent, "echo x > later")

    world.play(scene, options)


@pytest.mark.parametrize("command", ["git init -q app && echo x > app/work", "mkdir data && echo x > data/result"])
def test_a_worktree_with_work_that_git_does_not_add_stays_and_the_user_is_told(world: World, command: str) -> None:
    (world.project / ".gitignore").write_text("data\n")

    async def scene(conversation: LocalWorkspace, start: Callable[[], AbstractAsyncContextManager[Isolated]]) -> None:
        async with start() as at:
            assert await succeeds(at.workspace, command)
        assert (at.worktree, len(at.unmerged)) == ("try", 1)

    world.play(scene, SandboxOptions())

    [told] = world.told
    assert "the worktree try has files that git ignores or cannot add: " in told
