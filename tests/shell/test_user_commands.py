"""Commands that the user runs himself, in a project in memory and in a real one."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from kaa.core.events import Event, UserCommandEnd, UserCommandStart, UserCommandUpdate
from kaa.core.messages import Json
from kaa.ext.errors import CommandError
from kaa.session.entries import BashExecution, MessageEntry
from kaa.shell.conversation import Conversation
from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.options import ContinueSession, ConversationOptions, HostOptions
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.agents import run
from tests.support.hosts import conversing
from tests.support.model_script import Answer, Call, say
from tests.support.stage import Stage

T = TypeVar("T")
Scene = Callable[[Conversation], Awaitable[T]]


def printing(output: bytes, exit_code: int = 0) -> Callable[[CommandRequest], CommandResult]:
    return lambda _: CommandResult(exit_code, None, output, len(output), output.count(b"\n"))


def told(stage: Stage) -> list[str]:
    """What the model was sent last, but for the system prompt."""
    asked = [request.json for request in stage.server.requests if request.method == "POST"]
    return [str(message["content"]) for message in asked[-1]["messages"][1:]]


def stored(stage: Stage) -> list[Json]:
    (session,) = stage.home.glob("sessions/*/*.jsonl")
    lines = (json.loads(line) for line in session.read_text().splitlines())
    return [line["message"] for line in lines if line["type"] == "message"]


def test_the_model_is_told_with_the_next_request(stage: Stage) -> None:
    stage.commands = printing(b"2 failed\n", exit_code=1)
    stage.server.begin([say("I see")])

    async def scene(conversation: Conversation) -> UserCommandEnd:
        end = await conversation.run_command("make test", in_context=True)
        await conversation.submit("why?")
        return end

    end = stage.play(scene)

    assert (end.output, end.exit_code, end.cancelled, end.truncated) == ("2 failed", 1, False, False)
    assert "make test" in told(stage)[0]
    assert "2 failed" in told(stage)[0]
    assert told(stage)[1:] == ["why?"]


def test_what_stays_out_of_the_context_is_kept_and_not_told(stage: Stage) -> None:
    stage.commands = printing(b"my diary\n")
    stage.server.begin([say("hi"), say("hi again")])

    async def scene(conversation: Conversation) -> None:
        await conversation.run_command("cat diary", in_context=False)
        await conversation.submit("hello")

    stage.play(scene)
    stage.play(lambda c: c.submit("hello again"), ConversationOptions(model="m", session=ContinueSession()))

    assert stored(stage)[0] == {
        "role": "bashExecution",
        "command": "cat diary",
        "output": "my diary",
        "exitCode": 0,
        "cancelled": False,
        "truncated": False,
        "excludeFromContext": True,
        "timestamp": stored(stage)[0]["timestamp"],
    }
    assert not any("diary" in text for text in told(stage))


def test_a_restart_tells_the_model_the_same(stage: Stage) -> None:
    stage.commands = printing(b"green\n")
    stage.server.begin([say("fine"), say("as before")])

    async def scene(conversation: Conversation) -> None:
        await conversation.run_command("make test", in_context=True)
        await conversation.submit("so?")

    stage.play(scene)
    before = told(stage)
    stage.play(lambda c: c.submit("again"), ConversationOptions(model="m", session=ContinueSession()))

    assert told(stage)[: len(before)] == before


def test_events_come_in_order(stage: Stage) -> None:
    stage.commands = printing(b"out\n")
    events: list[Event] = []

    async def scene(conversation: Conversation) -> None:
        conversation.subscribe(events.append)
        await conversation.run_command("echo out", in_context=True)

    stage.play(scene)

    begin, update, end = events
    assert begin == UserCommandStart("echo out", in_context=True)
    assert update == UserCommandUpdate("out\n")
    assert isinstance(end, UserCommandEnd)


def test_nothing_comes_between_a_call_and_its_result(stage: Stage) -> None:
    stage.server.begin([Answer(calls=(Call("bash", '{"command": "slow"}', "c1"),)), say("done")])

    async def scene(conversation: Conversation) -> int:
        async def command(command: CommandRequest) -> CommandResult:
            if command.argv[-1] == "slow":
                await conversation.run_command("mine", in_context=True)
                during.append(len(conversation.transcript()))
            return printing(b"ok\n")(command)

        during: list[int] = []
        stage.commands = command
        before = len(conversation.transcript())
        await conversation.submit("go")
        return during[0] - before

    added = stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert added == 4  # model, level, prompt, reply: the command is not there yet
    assert [message["role"] for message in stored(stage)] == [
        "user",
        "assistant",
        "toolResult",
        "bashExecution",
        "assistant",
    ]
    assert "mine" in told(stage)[-1]


def test_only_one_runs_at_a_time(stage: Stage) -> None:
    begun = asyncio.Event()

    async def forever(_command: CommandRequest) -> CommandResult:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def scene(conversation: Conversation) -> UserCommandEnd:
        first = asyncio.ensure_future(conversation.run_command("sleep 99", in_context=True))
        await begun.wait()
        with pytest.raises(CommandError, match="still running"):
            await conversation.run_command("ls", in_context=True)
        conversation.abort()
        return await first

    stage.commands = forever
    end = stage.play(scene)

    assert end.cancelled
    assert end.exit_code is None
    assert stored(stage)[0]["cancelled"] is True


@pytest.mark.parametrize("command", ["", "   ", "echo \0"])
def test_what_is_no_command_is_refused(stage: Stage, command: str) -> None:
    with pytest.raises(CommandError, match=r"the command (is empty|contains a NUL)"):
        stage.play(lambda c: c.run_command(command, in_context=True))


class TestOnThisMachine:
    """With a real shell. The tools of the conversation are in the sandbox of the machine; these commands are not."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        (tmp_path / "project").mkdir()
        (tmp_path / "beside").mkdir()
        return tmp_path

    def play(self, folder: Path, scene: Scene[T], sandbox: SandboxOptions | None = None) -> T:
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "OPENAI_API_KEY": "sk-secret-of-mine"}

        async def whole() -> T:
            workspace = LocalWorkspace.start(str(folder / "project"), env=environ, sandbox=sandbox)
            host = Host(HostOptions(), Home(folder / "home"), environ, lambda _: None)
            options = ConversationOptions(model="openai/gpt-4.1", api_key="k")
            try:
                async with conversing(host, options, workspace) as conversation:
                    return await scene(conversation)
            finally:
                await workspace.close()

        return run(whole())

    @pytest.mark.parametrize("mode", ["read-only", "full-access"])
    def test_the_user_has_his_own_rights_and_no_key_leaks(self, folder: Path, mode: str) -> None:
        command = f"echo mine > {folder}/beside/file; env"
        sandbox = SandboxOptions(mode="read-only" if mode == "read-only" else "full-access")

        end = self.play(folder, lambda c: c.run_command(command, in_context=True), sandbox)

        assert end.exit_code == 0
        assert (folder / "beside" / "file").read_text() == "mine\n"
        assert "PATH=" in end.output
        assert "sk-secret-of-mine" not in end.output

    def test_of_long_output_the_end_is_kept_and_all_of_it_in_a_file(self, folder: Path) -> None:
        async def scene(conversation: Conversation) -> tuple[UserCommandEnd, Json]:
            end = await conversation.run_command("seq 1 3000", in_context=True)
            return end, conversation.transcript()[-1]

        end, entry = self.play(folder, scene)

        assert end.truncated
        assert end.output.split("\n")[0] == "1001"
        assert end.full_output_path is not None
        assert Path(end.full_output_path).read_text().count("\n") == 3000
        assert isinstance(entry, MessageEntry)
        assert isinstance(entry.message, BashExecution)
        assert entry.message.full_output_path == end.full_output_path

    def test_stopping_keeps_what_was_printed(self, folder: Path) -> None:
        async def scene(conversation: Conversation) -> UserCommandEnd:
            printed = asyncio.Event()

            def on_event(event: Event) -> None:
                if isinstance(event, UserCommandUpdate):
                    printed.set()

            conversation.subscribe(on_event)
            running = asyncio.ensure_future(conversation.run_command("echo begun; sleep 1000", in_context=True))
            await printed.wait()
            conversation.abort()
            return await running

        end = self.play(folder, scene)

        assert end.cancelled
        assert end.output == "begun"

    def test_the_end_of_the_conversation_keeps_what_was_printed(self, folder: Path) -> None:
        async def scene(conversation: Conversation) -> "asyncio.Task[UserCommandEnd]":
            printed = asyncio.Event()
            conversation.subscribe(lambda event: printed.set() if isinstance(event, UserCommandUpdate) else None)
            running = asyncio.create_task(conversation.run_command("echo begun; sleep 1000", in_context=True))
            await printed.wait()
            return running

        _ = self.play(folder, scene)

        (session,) = (folder / "home").glob("sessions/**/*.jsonl")
        assert '"output":"begun"' in session.read_text()
