"""Background processes: with answers by hand where their order matters, with real processes where those matter."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kaa.workspace import terminal
from kaa.workspace.background import ProcessTable
from kaa.workspace.blocked import Blocked, BlockedError
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import (
    BackgroundOutput,
    BackgroundProcess,
    CommandRequest,
    CommandResult,
    NoSuchProcessError,
    OnOutput,
    TooManyProcessesError,
)
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions
from tests.support.agents import run
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS
from tests.support.processes import Processes

if TYPE_CHECKING:
    from tests.workspace.conftest import RunLocal
else:
    RunLocal = Any

_OUTSIDE = Blocked("outside", "Running commands")


class Manual:
    """Runs commands that print and end when the test says so."""

    def __init__(self) -> None:
        self.outputs: list[OnOutput] = []
        self.endings: list[asyncio.Future[CommandResult]] = []

    async def run(self, _command: CommandRequest, on_output: OnOutput, _terminal: object) -> CommandResult:
        self.outputs.append(on_output)
        self.endings.append(asyncio.get_running_loop().create_future())
        return await self.endings[-1]


async def _started(table: ProcessTable, manual: Manual, **fields: Any) -> BackgroundProcess:
    process = table.start(CommandRequest(["x"], **fields), manual.run)
    await asyncio.sleep(0)
    return process


def test_it_is_listed_while_it_runs_and_after_it_has_ended() -> None:
    async def scenario() -> None:
        table, manual = ProcessTable(), Manual()
        first, second = await _started(table, manual), await _started(table, manual)
        assert [process.state for process in table.list()] == ["running", "running"]

        result = CommandResult(3, None, b"", 0, 0)
        manual.endings[0].set_result(result)
        ended = await table.wait(first.id, HANG_SECONDS)

        assert (first.id, second.id) == (1, 2)
        assert (ended.state, ended.result) == ("ended", result)
        assert [process.state for process in table.list()] == ["ended", "running"]
        assert (await table.stop(second.id)).state == "stopped"

    run(scenario())


def test_output_is_read_from_a_position_on() -> None:
    async def scenario() -> None:
        table, manual = ProcessTable(), Manual()
        await _started(table, manual)

        assert table.output(1) == BackgroundOutput(b"", 0, 0)
        manual.outputs[0](b"one ")
        assert table.output(1) == BackgroundOutput(b"one ", 0, 4)
        manual.outputs[0](b"two")
        assert table.output(1, 4) == BackgroundOutput(b"two", 4, 7)
        assert table.output(1, 7) == BackgroundOutput(b"", 7, 7)
        assert table.output(1, 99) == BackgroundOutput(b"", 7, 7)
        await table.close()

    run(scenario())


def test_of_a_long_output_the_end_is_kept_and_all_of_it_in_a_log(tmp_path: Path) -> None:
    async def scenario() -> None:
        table, manual = ProcessTable(lambda: str(tmp_path)), Manual()
        await _started(table, manual, tail_bytes=4)

        manual.outputs[0](b"0123")
        manual.outputs[0](b"456789")

        assert table.output(1, 2) == BackgroundOutput(b"6789", 6, 10)
        (process,) = table.list()
        assert process.output_bytes == 10
        assert process.log_path is not None
        assert Path(process.log_path).read_bytes() == b"0123456789"
        manual.endings[0].set_result(CommandResult(0, None, b"", 10, 1))
        ended = await table.wait(1, HANG_SECONDS)
        assert ended.result is not None
        assert ended.result.log_path == process.log_path

    run(scenario())


@pytest.mark.parametrize(
    ("error", "message", "blocked"),
    [
        (FileNotFoundError("no such directory"), "no such directory", ()),
        (BlockedError(_OUTSIDE, "/"), _OUTSIDE.text, (_OUTSIDE,)),
    ],
)
def test_one_that_cannot_be_run_says_why(error: OSError, message: str, blocked: tuple[Blocked, ...]) -> None:
    async def scenario() -> None:
        table, manual = ProcessTable(), Manual()
        await _started(table, manual)

        manual.endings[0].set_exception(error)
        failed = await table.wait(1, HANG_SECONDS)

        assert (failed.state, failed.error, failed.blocked) == ("failed", message, blocked)

    run(scenario())


def test_no_more_than_16_run_at_the_same_time() -> None:
    async def scenario() -> None:
        table, manual = ProcessTable(), Manual()
        for _ in range(16):
            await _started(table, manual)

        with pytest.raises(TooManyProcessesError, match="stop one"):
            table.start(CommandRequest(["x"]), manual.run)
        await table.stop(7)
        assert (await _started(table, manual)).id == 17
        await table.close()
        assert {process.state for process in table.list()} == {"stopped"}

    run(scenario())


def test_the_oldest_that_have_ended_are_forgotten_and_those_that_run_are_not() -> None:
    async def scenario() -> None:
        table, manual = ProcessTable(), Manual()
        await _started(table, manual)
        for number in range(1, 60):
            await _started(table, manual)
            manual.endings[number].set_result(CommandResult(0, None, b"", 0, 0))
            await table.wait(number + 1, HANG_SECONDS)

        known = [process.id for process in table.list()]
        assert known[0] == 1
        assert known[1:] == list(range(known[1], 61))
        assert len(known) < 40
        await table.close()

    run(scenario())


@pytest.mark.parametrize("ask", [lambda t: t.wait(1, 0), lambda t: t.stop(1), lambda t: _awaited(t.output(1))])
def test_what_does_not_exist_is_said(ask: Callable[[ProcessTable], Awaitable[object]]) -> None:
    async def scenario() -> None:
        with pytest.raises(NoSuchProcessError, match="no background process 1; there are: none"):
            await ask(ProcessTable())

    run(scenario())


async def _awaited(value: object) -> object:
    return value


@pytest.mark.parametrize("sandbox", [SandboxOptions(mode="full-access"), SandboxOptions()])
@pytest.mark.usefixtures("mounts")
def test_a_process_outlives_the_call_and_other_commands(local: RunLocal, sandbox: SandboxOptions) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        os.mkfifo(os.path.join(workspace.root, "fifo"))
        process = await workspace.run_in_background(CommandRequest(["sh", "-c", "echo up; read x < fifo; echo $x"]))

        assert (await workspace.processes.wait(process.id, 0)).state == "running"
        await workspace.run(CommandRequest(["sh", "-c", "echo down > fifo"]))
        ended = await workspace.processes.wait(process.id, HANG_SECONDS)

        assert ended.result is not None
        assert ended.result.exit_code == 0
        assert workspace.processes.output(process.id).data == b"up\ndown\n"

    local(scenario, sandbox=sandbox)


_ANSWERS = "import sys; print(sys.stdin.isatty(), sys.stdout.isatty(), flush=True); print('hello', input('name? '))"


@pytest.mark.parametrize("sandbox", [SandboxOptions(mode="full-access"), SandboxOptions()])
@pytest.mark.usefixtures("mounts")
def test_input_can_be_written_to_one_with_a_terminal(local: RunLocal, sandbox: SandboxOptions) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        processes = workspace.processes
        command = CommandRequest(["python3", "-c", _ANSWERS], terminal=True)
        process = await workspace.run_in_background(command)
        while not processes.output(process.id).data.endswith(b"name? "):
            size = processes.output(process.id).end
            assert (await processes.wait(process.id, HANG_SECONDS, beyond=size)).state == "running"

        assert await processes.write(process.id, b"Ada\n")
        ended = await processes.wait(process.id, HANG_SECONDS)

        assert ended.result is not None
        assert ended.result.exit_code == 0
        assert processes.output(process.id).data == b"True True\nname? hello Ada\n"
        assert not await processes.write(process.id, b"more\n")

    local(scenario, sandbox=sandbox)


@pytest.mark.parametrize("sandbox", [SandboxOptions(mode="full-access"), SandboxOptions()])
@pytest.mark.usefixtures("mounts")
def test_ctrl_c_interrupts_what_runs_in_a_terminal(local: RunLocal, sandbox: SandboxOptions) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        script = "trap 'echo interrupted; exit 3' INT; echo ready; while :; do sleep 0.01; done"
        process = await workspace.run_in_background(CommandRequest(["bash", "-c", script], terminal=True))
        await workspace.processes.wait(process.id, HANG_SECONDS, beyond=0)

        assert await workspace.processes.write(process.id, b"\x03")
        ended = await workspace.processes.wait(process.id, HANG_SECONDS)

        assert ended.result is not None
        assert ended.result.exit_code == 3

    local(scenario, sandbox=sandbox)


def test_what_reads_no_input_is_not_written_to(local: RunLocal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_SECONDS", 0.05)

    async def scenario(workspace: LocalWorkspace) -> None:
        without = await workspace.run_in_background(CommandRequest(["sleep", "1000"]))
        deaf = await workspace.run_in_background(CommandRequest(["sleep", "1000"], terminal=True))

        assert not await workspace.processes.write(without.id, b"x\n")
        assert not await workspace.processes.write(deaf.id, b"x\n" * 100_000)

    local(scenario)


@pytest.mark.usefixtures("mounts")
def test_what_runs_outside_the_sandbox_takes_no_input(local: RunLocal) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        command = CommandRequest(["cat"], terminal=True)
        inside = await workspace.run_in_background(command)
        assert await workspace.processes.write(inside.id, b"x\n")
        outside = [workspace.unconfined(), workspace.unattended(), workspace.watched()]
        started = [await view.run_in_background(command) for view in outside]

        assert not any([await workspace.processes.write(one.id, b"x\n") for one in started])

    local(scenario, sandbox=SandboxOptions())


@pytest.mark.usefixtures("mounts")
def test_what_may_do_more_than_commands_may_now_takes_no_input(local: RunLocal) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        process = await workspace.run_in_background(CommandRequest(["cat"], terminal=True))
        await workspace.change(SandboxChange(mode="read-only"))
        assert not await workspace.processes.write(process.id, b"x\n")
        with folder_elsewhere() as added:
            await workspace.change(SandboxChange(mode="workspace-write", writable=(str(added),)))
            assert await workspace.processes.write(process.id, b"x\n")

    local(scenario, sandbox=SandboxOptions())


def test_stopping_one_stops_its_whole_tree(local: RunLocal, project: Path, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> list[int]:
        script = "setsid sleep 1000 & echo $! $$ > pids; wait"
        process = await workspace.run_in_background(CommandRequest(["bash", "-c", script]))
        pids = await asyncio.to_thread(processes.pids_in, project / "pids", 2)

        assert all(map(processes.alive, pids))
        assert (await workspace.processes.stop(process.id)).state == "stopped"
        return pids

    for pid in local(scenario):
        assert not processes.alive(pid)


def test_closing_the_workspace_stops_all(local: RunLocal, project: Path, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> list[int]:
        await workspace.run_in_background(CommandRequest(["sh", "-c", "echo $$ > pids; sleep 1000"]))
        return await asyncio.to_thread(processes.pids_in, project / "pids", 1)

    for pid in local(scenario):
        assert not processes.alive(pid)


def test_how_it_ended_is_known(local: RunLocal) -> None:
    async def scenario(workspace: LocalWorkspace) -> tuple[BackgroundProcess, BackgroundProcess]:
        killed = await workspace.run_in_background(CommandRequest(["sh", "-c", "kill -9 $$"]))
        timed = await workspace.run_in_background(CommandRequest(["sleep", "1000"], timeout=0.01))
        return (
            await workspace.processes.wait(killed.id, HANG_SECONDS),
            await workspace.processes.wait(timed.id, HANG_SECONDS),
        )

    killed, timed = local(scenario)

    assert killed.result is not None
    assert killed.result.signal == signal.SIGKILL
    assert timed.result is not None
    assert timed.result.timed_out


def test_with_and_without_sandbox_they_are_in_one_table(local: RunLocal) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.run_in_background(CommandRequest(["sleep", "1000"]))
        await workspace.unconfined().run_in_background(CommandRequest(["sleep", "1000"]))

        assert [process.id for process in workspace.processes.list()] == [1, 2]
        assert workspace.unconfined().processes is workspace.processes

    local(scenario)
