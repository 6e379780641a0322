"""What the model is told of background processes, by bash and by the process tool."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kaa.builtin.tools import running
from kaa.core.messages import Json
from kaa.core.tool import ToolError
from kaa.ext.context import WorkspacePermit
from kaa.workspace import background
from kaa.workspace.background import ProcessTable
from kaa.workspace.blocked import Blocked, BlockedError
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult, OnOutput
from tests.support.agents import run
from tests.support.toolbox import RecordedRun, Toolbox, text_of


class Scene(MemoryWorkspace):
    """A workspace whose commands print and end when the test says so."""

    def __init__(self, processes: ProcessTable | None = None) -> None:
        super().__init__()
        self._processes = processes or self._processes
        self.printers: list[OnOutput] = []
        self.commands: list[CommandRequest] = []
        self._endings: list[asyncio.Future[CommandResult]] = []
        self.tools = Toolbox(self)

    async def run(self, command: CommandRequest, on_output: OnOutput | None = None) -> CommandResult:
        assert on_output is not None
        self.commands.append(command)
        self.printers.append(on_output)
        self._endings.append(asyncio.get_running_loop().create_future())
        return await self._endings[-1]

    async def start(self, command: str = "serve", output: bytes = b"up\n") -> str:
        """Start a command in the background that prints right away; what the model is told."""
        count = len(self.printers)
        call = asyncio.create_task(self.tools.text("bash", command=command, background=True))
        while len(self.printers) == count:
            await asyncio.sleep(0)
        if output:
            self.printers[-1](output)
        return await call

    async def end(self, number: int, error: Exception | None = None, **fields: Any) -> None:
        """Let a command end."""
        if error is not None:
            self._endings[number - 1].set_exception(error)
        else:
            result = {"exit_code": 0, "signal": None, "tail": b"", "output_bytes": 0, "output_lines": 0, **fields}
            self._endings[number - 1].set_result(CommandResult(**result))
        await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_BACKGROUND_GRACE_SECONDS", 0.02)


@pytest.fixture(autouse=True)
def standing_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, processes run for 0 s."""
    monkeypatch.setattr(background, "time", SimpleNamespace(monotonic=lambda: 0.0))


def play(scenario: Callable[[Scene], Awaitable[None]]) -> None:
    async def scene() -> None:
        workspace = Scene()
        await scenario(workspace)
        await workspace.close()

    run(scene())


def test_bash_answers_with_the_number_and_what_was_printed_so_far() -> None:
    async def scenario(scene: Scene) -> None:
        assert await scene.start() == "up\n[Process 1: running for 0 s]"
        assert scene.commands[0].timeout is None
        assert await scene.start(output=b"") == "(no output)\n[Process 2: running for 0 s]"

    play(scenario)


def test_output_gives_what_is_new() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start()

        scene.printers[0](b"\x1b[31mone\x1b[0m\n")
        assert await scene.tools.text("process", action="output", id=1) == "one\n[Process 1: running for 0 s]"
        assert await scene.tools.text("process", action="output", id="1") == (
            "(nothing new)\n[Process 1: running for 0 s]"
        )
        await scene.end(1, exit_code=3)
        assert (
            await scene.tools.text("process", action="output", id=1) == "(nothing new)\n[Process 1: exited with code 3]"
        )

    play(scenario)


def test_wait_ends_with_new_output_or_with_the_process() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start()

        waiting = asyncio.create_task(scene.tools.text("process", action="wait", id=1))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        scene.printers[0](b"one\n")
        assert await waiting == "one\n[Process 1: running for 0 s]"

        waiting = asyncio.create_task(scene.tools.text("process", action="wait", id=1))
        await scene.end(1, exit_code=3)
        assert await waiting == "(nothing new)\n[Process 1: exited with code 3]"
        assert "running" in await scene.start()
        assert await scene.tools.text("process", action="wait", id=2, seconds=0.01) == (
            "(nothing new)\n[Process 2: running for 0 s]"
        )

    play(scenario)


def test_a_line_that_the_terminal_would_cut_is_not_written() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start()
        for line in ("x" * 4_095, f"a\n{'é' * 2_048}\nb"):
            assert "at most 4,094 bytes" in await scene.tools.failure("bash", command=line, process=1)

    play(scenario)


def test_input_goes_only_to_a_process_that_takes_some() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start()
        refused = await scene.tools.failure("bash", command="exit", process=1)
        assert refused.startswith("Process 1 (running for 0 s) takes no input: it has no terminal")  # in memory
        assert "no background process 7" in await scene.tools.failure("bash", command="exit", process=7)

    play(scenario)


def test_a_character_that_is_not_complete_yet_is_shown_when_it_is() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start()

        scene.printers[0]("é".encode()[:1])
        assert "(nothing new)" in await scene.tools.text("process", action="output", id=1)
        scene.printers[0]("é".encode()[1:])
        assert (await scene.tools.text("process", action="output", id=1)).startswith("é\n")

    play(scenario)


def test_too_much_output_is_cut_at_its_beginning() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start()

        scene.printers[0](b"".join(b"%d\n" % number for number in range(100_000)))
        text = await scene.tools.text("process", action="output", id=1)

        assert text.startswith("[The beginning is left out.]\n")
        assert text.endswith("99999\n[Process 1: running for 0 s]")
        assert len(text) < 60_000

    play(scenario)


def test_one_that_ends_at_once_is_reported_like_any_command() -> None:
    async def scenario(scene: Scene) -> None:
        call = asyncio.create_task(scene.tools.call("bash", command="false", background=True))
        while not scene.printers:
            await asyncio.sleep(0)
        await scene.end(1, exit_code=1, tail=b"port taken\n", output_bytes=11, output_lines=1)

        result = await call
        assert result.is_error
        assert text_of(result) == "port taken\n\nCommand exited with code 1"

    play(scenario)


@pytest.mark.parametrize("tool", ["bash", "process"])
def test_the_model_learns_once_that_one_has_ended(tool: str) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start("npm run dev")
        await scene.start()
        await scene.end(1, exit_code=None, signal=9)
        ending = "[Process 1: was ended by signal 9 (SIGKILL)] npm run dev"

        async def ask() -> str:
            if tool == "process":
                return await scene.tools.text("process", action="output", id=2)
            call = asyncio.create_task(scene.tools.text("bash", command="true"))
            await asyncio.sleep(0.01)
            await scene.end(len(scene.commands))
            return await call

        assert (await ask()).endswith(ending)
        assert ending not in await ask()

    play(scenario)


def test_what_was_blocked_is_said_when_it_has_ended() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start()
        await scene.end(1, exit_code=1, blocked=(Blocked("network", "a.example"),))

        text = await scene.tools.text("process", action="output", id=1)
        assert "[Process 1: exited with code 1]\n[sandbox] Network access to a.example is blocked." in text

    play(scenario)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("process", {"action": "output", "id": 1}), ("process", {"action": "list"}), ("bash", {"command": "true"})],
)
def test_what_was_blocked_is_in_the_details_of_the_call_that_tells_of_the_end(
    tool: str, arguments: dict[str, Json]
) -> None:
    async def scenario(scene: Scene) -> None:
        async def details() -> Json:
            call = asyncio.create_task(scene.tools.call(tool, **arguments))
            await asyncio.sleep(0.01)
            if tool == "bash":
                await scene.end(len(scene.commands))
            return (await call).details

        await scene.start()
        await scene.end(1, exit_code=1, blocked=(Blocked("network", "a.example"),))

        assert (await details())["blockedEarlier"] == [{"kind": "network", "what": "a.example"}]
        assert "blockedEarlier" not in await details()

    play(scenario)


def test_of_another_process_the_line_that_names_it_comes_before_what_blocked_it() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start("first")
        await scene.start("second")
        await scene.end(1, exit_code=1, blocked=(Blocked("git"),))

        text = await scene.tools.text("process", action="output", id=2)
        assert "[Process 1: exited with code 1] first\n[sandbox] Writing to .git is blocked" in text

    play(scenario)


def test_stop_ends_it_and_shows_its_last_words() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start()
        scene.printers[0](b"bye\n")

        assert await scene.tools.text("process", action="stop", id=1) == "bye\n[Process 1: was stopped]"
        assert await scene.tools.text("process", action="list") == "1  serve  (was stopped)"

    play(scenario)


def test_list_shows_all_in_one_line_each() -> None:
    async def scenario(scene: Scene) -> None:
        assert await scene.tools.text("process", action="list") == "No background processes."
        await scene.start("first\nsecond line")
        await scene.start("x" * 100)

        assert await scene.tools.text("process", action="list") == (
            f"1  first …  (running for 0 s)\n2  {'x' * 60} …  (running for 0 s)"
        )

    play(scenario)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"action": "output"}, "id is missing: action output needs the number of a process."),
        ({"action": "stop", "id": 7}, "There is no background process 7; there are: none."),
    ],
)
def test_mistakes_are_explained(arguments: dict[str, Json], message: str) -> None:
    async def scenario(scene: Scene) -> None:
        assert await scene.tools.failure("process", **arguments) == message

    play(scenario)


def test_one_that_cannot_be_run_fails_and_says_what_blocked_it() -> None:
    async def scenario(scene: Scene) -> None:
        call = asyncio.create_task(scene.tools.call("bash", command="x", background=True))
        while not scene.printers:
            await asyncio.sleep(0)
        await scene.end(1, BlockedError(Blocked("outside", "Running commands"), "/project"))

        with pytest.raises(ToolError, match="could not be run") as failure:
            await call
        assert failure.value.details == {"blocked": [{"kind": "outside", "what": "Running commands"}]}

    play(scenario)


def test_too_many_are_refused() -> None:
    async def scenario(scene: Scene) -> None:
        for _ in range(16):
            await scene.start()

        assert "stop one of them first" in await scene.tools.failure("bash", command="x", background=True)

    play(scenario)


def test_a_call_that_is_cancelled_leaves_nothing_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_BACKGROUND_GRACE_SECONDS", 60)

    async def scenario(scene: Scene) -> None:
        call = asyncio.create_task(scene.tools.call("bash", command="x", background=True))
        while not scene.printers:
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        assert [process.state for process in scene.processes.list()] == ["stopped"]

    play(scenario)


@pytest.mark.parametrize("background", [True, False])
def test_with_a_permit_the_command_runs_where_it_allows(background: bool) -> None:
    async def scenario(scene: Scene) -> None:
        outside = Scene(scene.processes)
        permitted = RecordedRun(WorkspacePermit(outside))
        call = asyncio.create_task(scene.tools.call("bash", permitted, command="x", background=background))
        while not outside.commands:
            await asyncio.sleep(0)
        await outside.end(1)

        assert not (await call).is_error
        assert scene.commands == []

    play(scenario)
