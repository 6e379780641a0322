"""While git runs outside the sandbox, nothing in a sandbox runs: neither what runs already, nor what begins."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

from kaa.hands.policy import Tier
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS

Scenario = Callable[[LocalWorkspace], Awaitable[None]]
Play = Callable[[Scenario], None]

_COUNTING = "trap '' HUP; while :; do echo x >> {}; done"


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        yield folder


@pytest.fixture(params=["full", "landlock"])
def play(folder: Path, request: pytest.FixtureRequest) -> Play:
    tier: Tier = request.param

    async def whole(scenario: Scenario) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        with mock.patch("kaa.workspace.sandbox.sandbox.tiers_to_try", return_value=(tier, "none")):
            workspace = LocalWorkspace.start(str(folder / "project"), env=environment, sandbox=SandboxOptions())
            try:
                if not (await workspace.sandbox.status()).confined:
                    pytest.skip(f"this machine has no tier {tier}")
                await scenario(workspace)
            finally:
                await workspace.close()

    return lambda scenario: asyncio.run(whole(scenario))


def _sh(script: str, timeout: float | None = None) -> CommandRequest:
    return CommandRequest(["sh", "-c", script], timeout=timeout)


async def _outside(workspace: LocalWorkspace, script: str) -> CommandResult:
    return await workspace.watched(alone=lambda: None).run(_sh(script, timeout=HANG_SECONDS))


async def _appears(path: Path) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not path.exists():
            await asyncio.sleep(0.01)


def test_what_pauses_the_others_has_a_limit_of_its_own(play: Play) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        ended = await workspace.watched(alone=lambda: None).run(_sh("sleep 1000", timeout=0.2))
        assert ended.timed_out

    play(scenario)


def test_nothing_pauses_the_others_for_as_long_as_it_likes(play: Play) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        with pytest.raises(PermissionError, match="only in the foreground"):
            await workspace.watched(alone=lambda: None).run_in_background(_sh("true"))

    play(scenario)


async def _grows(path: Path) -> None:
    await _appears(path)
    async with asyncio.timeout(HANG_SECONDS):
        size = path.stat().st_size
        while path.stat().st_size == size:
            await asyncio.sleep(0.01)


def test_what_runs_stands_still_with_all_that_it_has_started_and_goes_on_afterwards(play: Play, folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        project = folder / "project"
        both = f"setsid sh -c '{_COUNTING.format('child')}' & {_COUNTING.format('parent')}"
        await workspace.run_in_background(_sh(both))
        for name in ("parent", "child"):
            await _grows(project / name)

        looking = "cat parent child | wc -c; sleep 0.3; cat parent child | wc -c"
        before, after = (await _outside(workspace, looking)).tail.split()

        assert before == after
        for name in ("parent", "child"):
            await _grows(project / name)

    play(scenario)


@pytest.mark.parametrize("play", ["full"], indirect=True)  # elsewhere, it is not certain that all are found
def test_what_forks_all_the_time_stands_still(play: Play, folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.run_in_background(_sh("f() { echo x >> count; f & }; f; sleep 1000"))
        await _grows(folder / "project" / "count")

        before, after = (await _outside(workspace, "wc -c <count; sleep 0.3; wc -c <count")).tail.split()

        assert before == after
        await _grows(folder / "project" / "count")

    play(scenario)


def test_a_command_that_begins_meanwhile_waits(play: Play, folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        go = folder / "project" / "go"
        outside = asyncio.create_task(
            _outside(workspace, "touch began; until test -e go; do sleep 0.01; done; test ! -e in")
        )
        await _appears(folder / "project" / "began")

        inside = asyncio.create_task(workspace.run(_sh("touch in; echo done", timeout=HANG_SECONDS)))
        files = await workspace.list_files()  # kaa's own searches do not wait
        go.touch()

        assert "began" in files.paths
        assert (await outside).exit_code == 0
        assert (await inside).tail == b"done\n"

    play(scenario)


def test_the_time_does_not_count(play: Play, folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        inside = asyncio.create_task(
            workspace.run(_sh("touch began; until test -e go; do sleep 0.01; done; echo done", timeout=4))
        )
        await _appears(folder / "project" / "began")

        await _outside(workspace, "sleep 5; touch go")

        assert (await inside).tail == b"done\n"

    play(scenario)


def test_what_is_to_end_meanwhile_runs_nothing_any_more(play: Play, folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        project = folder / "project"
        trap = "trap 'touch trapped; exit' TERM; touch ready; while :; do sleep 0.01; done"
        process = await workspace.run_in_background(_sh(trap))
        await _appears(project / "ready")
        outside = asyncio.create_task(_outside(workspace, "touch began; until test -e go; do sleep 0.01; done"))
        await _appears(project / "began")

        await workspace.processes.stop(process.id)
        (project / "go").touch()

        assert (await outside).exit_code == 0
        assert not (project / "trapped").exists()

    play(scenario)


def test_what_was_stopped_before_stays_so(play: Play, folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        project = folder / "project"
        counting = _COUNTING.format("count")
        is_stopped = 'until grep -q "^State:.T" /proc/$!/status; do sleep 0.01; done'
        stopping = (
            f"sh -c '{counting}' & kill -STOP $!; {is_stopped}; touch count stopped; {_COUNTING.format('parent')}"
        )
        await workspace.run_in_background(_sh(stopping))
        await _appears(project / "stopped")
        before = (project / "count").stat().st_size

        await _outside(workspace, "true")

        await _grows(project / "parent")
        assert (project / "count").stat().st_size == before

    play(scenario)


def test_a_workspace_that_closes_meanwhile_does_not_wait(play: Play, folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.run_in_background(_sh("touch ready; sleep 1000"))
        await _appears(folder / "project" / "ready")
        outside = asyncio.create_task(_outside(workspace, "touch began; sleep 1000"))
        await _appears(folder / "project" / "began")
        inside = asyncio.create_task(workspace.run(_sh("true")))
        await asyncio.sleep(0)

        async with asyncio.timeout(HANG_SECONDS):
            await workspace.close()
            await asyncio.wait({outside, inside})

    play(scenario)


def test_what_a_command_changed_before_all_stood_still_is_looked_at_once_more(play: Play, folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        count = folder / "project" / "count"
        await workspace.run_in_background(_sh(_COUNTING.format("count")))
        await _grows(count)

        with pytest.raises(PermissionError, match="it has changed"):
            await workspace.watched(alone=lambda: "it has changed").run(_sh("touch ran"))

        assert not (folder / "project" / "ran").exists()
        await _grows(count)

    play(scenario)


def test_git_connects_to_no_repository_on_this_machine_nor_do_its_submodules(play: Play, folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.run(_sh("git init -q . && git remote add origin $TMPDIR/evil.git"))
        tries = "git ls-remote origin; git ls-remote file:///nowhere; git ls-remote ext::true"
        result = await _outside(workspace, tries)
        assert result.tail.count(b"not allowed") == 3

    play(scenario)


def test_git_connects_to_hosts_with_what_the_user_has_for_them(play: Play, folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        tries = "git ls-remote codecommit::x; GIT_ALLOW_PROTOCOL= git ls-remote codecommit::x"
        result = await _outside(workspace, tries)
        assert result.tail.count(b"not allowed") == 1

        own = {"GIT_ALLOW_PROTOCOL": "codecommit:file"}
        command = CommandRequest(["sh", "-c", f"git ls-remote file:///nowhere; {tries}"], env=own, timeout=HANG_SECONDS)
        result = await workspace.watched(alone=lambda: None).run(command)
        assert result.tail.count(b"not allowed") == 2
        assert b"'file' not allowed" in result.tail

    play(scenario)


def test_a_shell_that_starts_programs_all_the_time_stands_still_each_time(play: Play, folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        count = folder / "project" / "count"
        starting = "while :; do /bin/true; echo x >> count; done"  # sh waits for each in the system call vfork
        for _ in range(3):
            await workspace.run_in_background(_sh(starting))
        await _grows(count)
        for _ in range(20):
            await _outside(workspace, "true")
        await _grows(count)

    play(scenario)
