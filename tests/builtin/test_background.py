"""The slash commands for background processes."""

import asyncio
from types import SimpleNamespace
from typing import cast

from kaa.builtin.background import extend
from kaa.ext.api import CommandContext, Reply
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.agents import run
from tests.support.patience import HANG_SECONDS
from tests.support.registries import LoadedRegistry


async def _never(_command: CommandRequest) -> CommandResult:
    await asyncio.Event().wait()
    raise AssertionError


async def _ended(_command: CommandRequest) -> CommandResult:
    return CommandResult(2, None, b"\x1b[1mone\x1b[0m\ntwo\n", 8, 2)


async def _reply(workspace: MemoryWorkspace, line: str) -> str:
    registry = LoadedRegistry(workspace=workspace)
    registry.load("background", extend, built_in=True)
    name, _, arguments = line.partition(" ")
    action = await registry.commands[name].handler(
        arguments, cast("CommandContext", SimpleNamespace(workspace=workspace))
    )
    assert isinstance(action, Reply)
    return action.text


def test_without_any_they_say_so() -> None:
    for line in ("bg", "bg 1", "bg-cancel", "bg-cancel 1"):
        assert run(_reply(MemoryWorkspace(), line)) == "Nothing runs in the background."


def test_bg_lists_them_and_shows_the_output_of_one() -> None:
    async def scenario() -> None:
        workspace = MemoryWorkspace(commands=_ended)
        await workspace.run_in_background(CommandRequest(["npm", "run", "a b"]))
        await workspace.processes.wait(1, HANG_SECONDS)

        assert await _reply(workspace, "bg") == "1  npm run 'a b'  (exited with code 2)"
        assert await _reply(workspace, "bg 1") == "1  npm run 'a b'  (exited with code 2)\none\ntwo"
        assert await _reply(workspace, "bg 2") == "Give the number of a process: 1."

    run(scenario())


def test_bg_cancel_stops_one() -> None:
    async def scenario() -> None:
        workspace = MemoryWorkspace(commands=_never)
        await workspace.run_in_background(CommandRequest(["bash", "-c", "serve"]))

        assert await _reply(workspace, "bg-cancel") == "Give the number of a process: 1."
        assert await _reply(workspace, "bg-cancel 1") == "Stopped process 1: serve"
        assert await _reply(workspace, "bg-cancel 1") == "Process 1 does not run any more: it was stopped."
        assert await _reply(workspace, "bg 1") == "1  serve  (was stopped)\n(no output)"

    run(scenario())
