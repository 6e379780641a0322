"""What a conversation does for its clients, and that it waits for none of them."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from kaa.ext.asking import confirm
from kaa.ext.questions import Confirmed, Dismissed
from kaa.frontends.live.questions import SharedQuestions
from kaa.frontends.live.serving import LiveServer
from kaa.frontends.live.wire import (
    PROTOCOL,
    AnswerQuestion,
    AnyRequest,
    AnyTold,
    Asked,
    Done,
    End,
    Follow,
    Happened,
    Hello,
    Noticed,
    Past,
    Refused,
    Say,
    TakeBack,
    Withdrawn,
    socket_name,
    sockets_of,
)
from kaa.shell.home import Home
from kaa.shell.host import HostedConversation
from kaa.shell.options import ConversationOptions, UnkeptSession
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.model_server import ModelServer, say
from tests.support.stage import Stage


class Client:
    """Talks with the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def next(self) -> AnyTold:
        told: AnyTold = msgspec.json.decode(await self.reader.readuntil(b"\n"), type=AnyTold)
        return told

    async def until(self, *kinds: type[AnyTold]) -> AnyTold:
        while not isinstance(told := await self.next(), kinds):
            pass
        return told

    def send(self, request: AnyRequest) -> None:
        self.writer.write(msgspec.json.encode(request) + b"\n")

    async def ask(self, request: AnyRequest) -> AnyTold:
        self.send(request)
        return await self.until(Done, Refused, Past)


class Scene:
    """A conversation that is served."""

    def __init__(self, home: Home, server: LiveServer, questions: SharedQuestions, hosted: HostedConversation) -> None:
        self.server = server
        self.questions = questions
        self.hosted = hosted
        self._home = home
        self._clients: list[Client] = []

    async def close(self) -> None:
        for client in self._clients:
            client.writer.close()
            with suppress(ConnectionError):
                await client.writer.wait_closed()

    async def client(self) -> Client:
        path = self.hosted.conversation.session_path
        assert path is not None
        sock = sockets_of(self._home).connect(socket_name(path))
        client = Client(*await asyncio.open_unix_connection(sock=sock, limit=64 * 1024 * 1024))
        self._clients.append(client)
        hello = await client.next()
        assert isinstance(hello, Hello)
        assert (hello.protocol, hello.session_id) == (PROTOCOL, self.hosted.conversation.session_id)
        return client


async def _read_all(client: Client) -> None:
    while True:
        await client.next()


def play(
    tmp_path: Path, scenario: Callable[[Scene], Awaitable[None]], *answers: str, has_terminal: bool = True
) -> None:
    async def whole(stage: Stage) -> None:
        host, questions = stage.host(), SharedQuestions()
        hosted = await host.open(ConversationOptions(model="m"), MemoryWorkspace())
        await hosted.begin()
        server = LiveServer(host.home, questions, has_terminal=has_terminal)
        await server.open(hosted)
        scene = Scene(host.home, server, questions, hosted)
        try:
            await scenario(scene)
        finally:
            await scene.close()
            server.close()
            await server.until_alone()
            await host.close()

    with ModelServer([say(answer) for answer in answers]) as model:
        run(whole(Stage(model, tmp_path)))


def test_one_that_follows_late_is_told_what_came_before(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        early, late = await scene.client(), await scene.client()
        assert isinstance(await early.ask(Say(1, "hello")), Done)
        await scene.server.until_done()
        past = await late.ask(Follow(1))
        assert isinstance(past, Past)
        assert b"Hello yourself." in Path(past.path).read_bytes()[: past.size]
        assert (past.events, past.running) == ((), False)

        early.send(Say(2, "again"))
        told = await late.until(Happened)
        assert isinstance(told, Happened)
        assert isinstance(await late.ask(Follow(2)), Refused)

    play(tmp_path, scenario, "Hello yourself.", "Again.")


def test_one_that_reads_nothing_is_cut_off_and_the_others_are_not(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        hanging, reading = await scene.client(), await scene.client()
        await hanging.ask(Follow(1))
        await reading.ask(Follow(1))
        hanging.writer.transport.pause_reading()  # type: ignore[attr-defined]  # the transport reads, too

        for _ in range(48):
            scene.server.notice("x" * 1024 * 1024)
            await reading.until(Noticed)

        hanging.writer.transport.resume_reading()  # type: ignore[attr-defined]  # as above
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await _read_all(hanging)
        assert isinstance(await reading.ask(TakeBack(2)), Done)

    play(tmp_path, scenario)


def test_a_question_is_asked_of_all_and_of_those_that_come_until_one_answers(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        first = await scene.client()
        await first.ask(Follow(1))
        asking = asyncio.ensure_future(confirm(scene.questions, "Go on?"))
        asked = await first.until(Asked)
        assert isinstance(asked, Asked)
        second = await scene.client()
        second.send(Follow(1))
        assert await second.until(Asked) == asked

        assert isinstance(await second.ask(AnswerQuestion(2, asked.id, Dismissed())), Done)
        assert isinstance(await first.until(Withdrawn), Withdrawn)
        assert isinstance(await first.ask(AnswerQuestion(2, asked.id, Confirmed(yes=True))), Refused)
        assert await asking is False

    play(tmp_path, scenario)


def test_an_answer_that_does_not_fit_is_refused_and_the_question_waits(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        client = await scene.client()
        await client.ask(Follow(1))
        asking = asyncio.ensure_future(confirm(scene.questions, "Go on?"))
        asked = await client.until(Asked)
        assert isinstance(asked, Asked)
        client.writer.write(b'{"type":"answer","number":2,"question":%d,"answer":{"kind":"allowOnce"}}\n' % asked.id)
        assert isinstance(await client.until(Refused), Refused)

        await client.ask(AnswerQuestion(3, asked.id, Confirmed(yes=True)))
        assert await asking is True

    play(tmp_path, scenario)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        client = await scene.client()
        for line in (b"", b"{}", b"null", b"\xff", b'{"type":"bash","number":1}', b"[" * 100_000):
            client.writer.write(line + b"\n")
            assert isinstance(await client.next(), Refused)
        assert isinstance(await client.ask(Say(1, " ")), Refused)
        assert isinstance(await client.ask(Say(2, "/no-such-command")), Refused)
        assert isinstance(await client.ask(Say(3, "/new")), Refused)

    play(tmp_path, scenario)


@pytest.mark.parametrize("has_terminal", [True, False])
def test_only_a_process_without_a_terminal_is_ended(tmp_path: Path, has_terminal: bool) -> None:
    async def scenario(scene: Scene) -> None:
        client = await scene.client()
        assert isinstance(await client.ask(End(1)), Refused if has_terminal else Done)
        assert scene.server.end_wanted.is_set() != has_terminal

    play(tmp_path, scenario, has_terminal=has_terminal)


def test_clients_are_sent_away_when_another_conversation_is_served(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        client = await scene.client()
        await scene.server.open(scene.hosted)
        with suppress(ConnectionError):
            assert await client.reader.read() == b""
        await scene.server.until_alone()
        await scene.client()

    play(tmp_path, scenario)


def test_nobody_can_attach_to_what_is_not_kept(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        host = stage.host()
        hosted = await host.open(ConversationOptions(model="m", session=UnkeptSession()), MemoryWorkspace())
        server = LiveServer(host.home, SharedQuestions(), has_terminal=True)
        await server.open(hosted)
        server.close()
        await host.close()
        assert not host.home.sockets.exists()

    with ModelServer() as model:
        run(scenario(Stage(model, tmp_path)))
