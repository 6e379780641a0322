"""Background jobs that end by themselves: whom that is told."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.core.messages import UserMessage
from kaa.shell.conversation import Conversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.model_server import ModelServer, call, say
from tests.support.stage import Stage

OPTIONS = ConversationOptions(model="m", approvals="auto")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer([]) as server:
        yield server


@pytest.fixture
def stage(server: ModelServer, tmp_path: Path) -> Stage:
    return Stage(server, tmp_path / "home")


class Command:
    """A command that runs until it is told to end."""

    def __init__(self) -> None:
        self._end: asyncio.Future[int] | None = None

    async def run(self, _request: CommandRequest) -> CommandResult:
        self._end = asyncio.get_running_loop().create_future()
        return CommandResult(await self._end, None, b"", 0, 0)

    def end(self, exit_code: int) -> None:
        assert self._end is not None
        self._end.set_result(exit_code)


async def until_ended(conversation: Conversation, process_id: int = 1) -> None:
    await conversation.workspace.processes.wait(process_id, 60)
    await asyncio.sleep(0)  # for who watches


def last_words(conversation: Conversation) -> str:
    message = conversation.messages[-1]
    return message.text if isinstance(message, UserMessage) else ""


@pytest.mark.parametrize(("exit_code", "verb"), [(1, "failed"), (0, "ended")])
def test_an_end_is_told_at_once_and_the_model_not_asked(stage: Stage, exit_code: int, verb: str) -> None:
    command = Command()
    stage.commands = command.run
    stage.home.mkdir(exist_ok=True)
    (stage.home / "settings.json").write_text('{"features": {"briefing": false}}')
    stage.server.begin([call("bash", command="npm run dev", background=True), say("It runs."), say("I see.")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("start it")
        requests = len(stage.server.requests)
        command.end(exit_code)
        await until_ended(conversation)

        assert stage.notices[-1] == (
            f"background job 1 {verb}: npm run dev (exited with code {exit_code}); /bg 1 shows its output"
        )
        assert (await conversation.status()).jobs == 0
        assert len(stage.server.requests) == requests
        told = f"[Process 1: exited with code {exit_code}] npm run dev"
        assert last_words(conversation) == told
        await conversation.submit("and now?")
        assert str(stage.server.requests[-1]).count(told) == 1

    stage.play(scene, OPTIONS)


def test_what_somebody_stopped_is_no_news(stage: Stage) -> None:
    command = Command()
    stage.commands = command.run
    stage.server.begin([call("bash", command="npm run dev", background=True), say("It runs.")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("start it")
        await conversation.submit("/bg-cancel 1")
        await until_ended(conversation)

    stage.play(scene, OPTIONS)

    assert not any("background job" in notice for notice in stage.notices)


def test_what_ends_within_the_call_that_starts_it_is_told_by_its_result(stage: Stage) -> None:
    stage.commands = lambda _request: CommandResult(1, None, b"no such script", 14, 1)
    stage.server.begin([call("bash", command="npm run dev", background=True), say("It failed.")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("start it")
        await until_ended(conversation)

    stage.play(scene, OPTIONS)

    assert not any("background job" in notice for notice in stage.notices)
