import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from kaa.core.events import AgentEnd, Event, MessageEnd, MessageUpdate, TextDelta, TextEnd
from kaa.core.messages import Json, user_message
from kaa.ext.errors import RegistrationError
from kaa.llm.models.registry import NoModelError
from kaa.session.errors import SessionBusyError, SessionWriteError
from kaa.shell.conversation import CommandReply, Conversation, SubmitOutcome
from kaa.shell.options import ContinueSession, ConversationOptions, HostOptions, ResumeSession, UnkeptSession
from kaa.shell.settings import SettingsError
from tests.support.full_disk import files_limited_to
from tests.support.model_script import Answer, Call, Fault
from tests.support.model_server import say
from tests.support.stage import Stage


async def ask(conversation: Conversation, text: str = "hello") -> SubmitOutcome:
    return await conversation.submit(text)


def sent(stage: Stage, index: int = -1) -> dict[str, Json]:
    """The body of a request to the model."""
    asked = [request for request in stage.server.requests if request.method == "POST"]
    return asked[index].json


def test_a_message_is_answered_and_kept(stage: Stage) -> None:
    stage.server.begin([say("hi")])

    outcome = stage.play(ask)

    assert isinstance(outcome, AgentEnd)
    assert outcome.reason == "done"
    (session,) = stage.home.glob("sessions/--project--/*.jsonl")
    assert '"hello"' in session.read_text()


def test_the_next_conversation_goes_on_where_the_last_one_ended(stage: Stage) -> None:
    stage.server.begin([say("hi"), say("as I said, hi")])

    stage.play(ask)
    stage.play(lambda c: ask(c, "pardon?"), ConversationOptions(model="m", session=ContinueSession()))

    contents = [message["content"] for message in sent(stage)["messages"]]
    assert contents[1:] == ["hello", "hi", "pardon?"]


def test_a_session_that_goes_on_days_later_sends_the_same_prompt(stage: Stage) -> None:
    stage.server.begin([say("hi"), say("hi again")])

    stage.play(ask)
    (session,) = stage.home.glob("sessions/--project--/*.jsonl")
    started = "2020-02-02T12:00:00.000Z"
    header, entries = session.read_bytes().split(b"\n", 1)
    session.write_bytes(msgspec.json.encode({**msgspec.json.decode(header), "timestamp": started}) + b"\n" + entries)
    stage.play(ask, ConversationOptions(model="m", session=ContinueSession()))

    assert "Session started: 2020-02-02" in sent(stage)["messages"][0]["content"]


def test_what_cannot_be_opened_leaves_the_session_free(stage: Stage) -> None:
    stage.server.begin([say("hi"), say("hi again")])
    stage.play(ask)

    environ, stage.environ = stage.environ, {}
    with pytest.raises(NoModelError):
        stage.play(ask, ConversationOptions(session=ContinueSession()))

    stage.environ = environ
    options = ConversationOptions(model="m", session=ContinueSession())
    assert isinstance(stage.play(ask, options), AgentEnd)


def test_a_session_that_is_not_kept_leaves_nothing(stage: Stage) -> None:
    stage.server.begin([say("hi")])

    stage.play(ask, ConversationOptions(model="m", session=UnkeptSession()))

    assert not (stage.home / "sessions").exists()


def test_two_conversations_do_not_write_one_session(stage: Stage) -> None:
    stage.server.begin([say("hi")])

    async def scene(conversation: Conversation) -> None:
        await ask(conversation)
        options = ConversationOptions(model="m", session=ResumeSession(conversation.session_id))
        with pytest.raises(SessionBusyError):
            await asyncio.to_thread(stage.play, ask, options)

    stage.play(scene)


@pytest.mark.parametrize("at", [MessageUpdate, MessageEnd])
def test_a_full_disk_loses_nothing_and_stops_work_until_there_is_space(stage: Stage, at: type[Event]) -> None:
    stage.server.begin([say("the first answer"), say("the second")])

    async def scene(conversation: Conversation) -> None:
        disk = AsyncExitStack()
        shown: list[str] = []

        def fill(event: Event) -> None:
            match event:
                case MessageUpdate(TextDelta(delta=delta)):
                    shown.append(delta)
                    if at is MessageUpdate:
                        disk.enter_context(files_limited_to(1))
                case MessageUpdate(TextEnd()) if at is MessageEnd:
                    disk.enter_context(files_limited_to(1))
                case _:
                    pass

        unsubscribe = conversation.subscribe(fill)
        async with disk:
            with pytest.raises(SessionWriteError):
                await ask(conversation)
            asked = len(stage.server.requests)
            with pytest.raises(SessionWriteError):
                await ask(conversation, "too early")
            assert len(stage.server.requests) == asked
        unsubscribe()
        await ask(conversation, "again")

        contents = [message["content"] for message in sent(stage)["messages"]][1:]
        assert shown
        assert contents == ["hello", "".join(shown), "again"]
        assert conversation.session_path is not None
        assert "".join(shown) in Path(conversation.session_path).read_text()

    stage.play(scene)


def test_a_disk_is_tried_again_without_what_the_sandbox_holds(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.server.begin([say("the first answer"), say("the second")])

    async def scene(conversation: Conversation) -> None:
        disk = AsyncExitStack()

        def fill(event: Event) -> None:
            if isinstance(event, MessageUpdate) and isinstance(event.assistant_message_event, TextEnd):
                disk.enter_context(files_limited_to(1))

        unsubscribe = conversation.subscribe(fill)
        async with disk:
            with pytest.raises(SessionWriteError):
                await ask(conversation)
            unsubscribe()
            monkeypatch.setattr(conversation.workspace, "let_go", disk.aclose)

            await ask(conversation, "again")

        assert [message["content"] for message in sent(stage)["messages"]][-1] == "again"

    stage.play(scene)


class TestCommands:
    def test_are_answered_without_the_model(self, stage: Stage) -> None:
        outcome = stage.play(lambda c: ask(c, "/session"))

        assert isinstance(outcome, CommandReply)
        assert "openai/m" in outcome.text
        assert "read, bash, edit, write" in outcome.text
        assert stage.server.requests == []

    def test_help_lists_them(self, stage: Stage) -> None:
        outcome = stage.play(lambda c: ask(c, "/help"))

        assert isinstance(outcome, CommandReply)
        assert {line.split()[0] for line in outcome.text.splitlines()} >= {"/help", "/session"}

    def test_help_lists_those_about_a_word(self, stage: Stage) -> None:
        outcome = stage.play(lambda c: ask(c, "/help thinking"))

        assert isinstance(outcome, CommandReply)
        assert all("thinking" in line for line in outcome.text.splitlines())
        assert stage.play(lambda c: ask(c, "/help xyzzy")) == CommandReply(
            "no command is about 'xyzzy'; /help lists all"
        )

    def test_what_is_no_command_is_a_message(self, stage: Stage) -> None:
        stage.server.begin([say("a path")])

        outcome = stage.play(lambda c: ask(c, "/usr/bin/env what is this?"))

        assert isinstance(outcome, AgentEnd)

    @pytest.mark.parametrize("between", [" ", "  ", "\n", "\t"])
    def test_of_extensions_may_submit(self, stage: Stage, between: str) -> None:
        stage.install(
            "from kaa.ext.api import Submit\n"
            "async def greet(arguments, context):\n    return Submit(f'Say hello to {arguments}')\n"
            "def extend(api):\n    api.register_command('greet', 'Greet somebody', greet)\n"
        )
        stage.server.begin([say("Hello Ada")])

        stage.play(lambda c: ask(c, f"/greet{between}Ada"))

        assert sent(stage)["messages"][-1]["content"] == "Say hello to Ada"


class TestExtensions:
    def test_change_the_prompt_the_message_and_the_tools(self, stage: Stage) -> None:
        stage.install(
            "import msgspec\n"
            "from kaa.core.messages import Json, user_message\n"
            "from kaa.core.tool import TypedTool, text_result\n"
            "class Nothing(msgspec.Struct): pass\n"
            "async def dice(arguments, context): return text_result('4')\n"
            "async def polite(message, context): return user_message('please: ' + message.content[0].text)\n"
            "def extend(api):\n"
            "    api.register_tool(TypedTool('dice', 'Roll a die', Nothing, dice))\n"
            "    api.on_user_message(polite)\n"
            "    api.add_prompt_section('house', lambda context: 'Be kind in ' + context.cwd)\n"
        )
        stage.server.begin([Answer(calls=(Call("dice"),)), say("It was a 4.")])

        stage.play(lambda c: ask(c, "roll"))

        system, user, _, result = (message["content"] for message in sent(stage)["messages"])
        assert "Be kind in /project" in str(system)
        assert (user, result) == ("please: roll", "4")

    def test_see_every_event(self, stage: Stage) -> None:
        stage.install(
            "import pathlib\n"
            f"log = pathlib.Path({str(stage.home / 'events')!r})\n"
            "def note(event, context):\n    with log.open('a') as file: file.write(type(event).__name__ + '\\n')\n"
            "def extend(api): api.on_event(note)\n"
        )
        stage.server.begin([say("hi")])
        seen: list[Event] = []

        async def scene(conversation: Conversation) -> None:
            conversation.subscribe(seen.append)
            await ask(conversation)

        stage.play(scene)

        assert (stage.home / "events").read_text().split() == [type(event).__name__ for event in seen]

    def test_can_be_left_out(self, stage: Stage) -> None:
        stage.install("raise RuntimeError('oops')")
        stage.server.begin([say("hi")])

        stage.host_options = HostOptions(discover_extensions=False)
        stage.play(ask)


class TestTools:
    def test_only_those_asked_for_are_offered(self, stage: Stage) -> None:
        stage.server.begin([say("hi")])

        stage.play(ask, ConversationOptions(model="m", tools=("grep", "read"), exclude_tools=("read",)))

        names = [tool["function"]["name"] for tool in sent(stage)["tools"]]
        assert names == ["grep"]

    def test_an_unknown_one_is_refused(self, stage: Stage) -> None:
        with pytest.raises(RegistrationError, match="no such tool: telepathy"):
            stage.play(ask, ConversationOptions(model="m", tools=("telepathy",)))

    def test_none_at_all_is_possible(self, stage: Stage) -> None:
        stage.server.begin([say("hi")])

        stage.play(ask, ConversationOptions(model="m", tools=()))

        assert not sent(stage).get("tools")


class TestModel:
    def test_without_any_the_reason_and_the_files_are_told(self, stage: Stage) -> None:
        stage.environ.clear()

        with pytest.raises(NoModelError) as caught:
            stage.play(ask, ConversationOptions())

        assert caught.value.auth_file == stage.home / "auth.json"

    def test_the_server_is_asked_when_none_is_named(self, stage: Stage) -> None:
        stage.server.begin([say("hi")])

        assert stage.play(_model_name, ConversationOptions()).startswith("openai/")

    def test_of_the_session_is_kept(self, stage: Stage) -> None:
        stage.server.begin([say("hi"), say("hi again")])

        stage.play(ask, ConversationOptions(model="first"))
        stage.play(ask, ConversationOptions(session=ContinueSession()))

        assert sent(stage)["model"] == "first"

    def test_of_the_session_that_is_gone_is_replaced_and_told(self, stage: Stage) -> None:
        (stage.home).mkdir()
        models = stage.home / "models.json"
        models.write_text(
            '{"providers": {"lab": {"baseUrl": "' + stage.server.url + '/v1", "models": [{"id": "old"}]}}}'
        )
        stage.server.begin([say("hi"), say("hi again")])

        stage.play(ask, ConversationOptions(model="lab/old"))
        models.unlink()
        (stage.home / "settings.json").write_text('{"defaultModel": "openai/new"}')
        stage.play(ask, ConversationOptions(session=ContinueSession()))

        assert sent(stage)["model"] == "new"
        [told] = [notice for notice in stage.notices if "lab/old cannot be used" in notice]
        assert told.endswith("; /model selects another")


class TestProjectFiles:
    def test_instructions_are_part_of_the_prompt(self, stage: Stage) -> None:
        stage.files["/project/AGENTS.md"] = b"Use tabs."
        stage.server.begin([say("hi")])

        stage.play(ask)

        assert "Use tabs." in str(sent(stage)["messages"])

    def test_too_long_ones_are_cut_and_told(self, stage: Stage) -> None:
        stage.files["/project/AGENTS.md"] = b"x" * 40_000
        stage.server.begin([say("hi")])

        stage.play(ask)

        assert any("AGENTS.md is too long" in notice for notice in stage.notices)

    def test_a_mistake_in_the_settings_is_told_before_anything_is_sent(self, stage: Stage) -> None:
        stage.files["/project/.kaa/settings.json"] = b'{"steeringMode": 7}'

        with pytest.raises(SettingsError, match="steeringMode"):
            stage.play(ask, ConversationOptions(model="m", trust="yes"))

        assert stage.server.requests == []


def test_queued_messages_pass_the_hooks_and_can_be_taken_back(stage: Stage) -> None:
    stage.server.begin([Answer(text=("wait",), calls=(Call("read", '{"path": "notes.txt"}'),)), say("done")])

    async def scene(conversation: Conversation) -> list[str]:
        await conversation.steer(user_message("be quick"))
        await conversation.follow_up(user_message("and then?"))
        taken = conversation.dequeue()
        assert taken is not None
        await ask(conversation)
        return [block.text for block in taken.content if not isinstance(block, str)]  # type: ignore[union-attr]  # text

    assert stage.play(scene) == ["and then?"]
    assert "be quick" in str(sent(stage, 0)["messages"])


def test_an_abort_ends_the_run_and_the_conversation_goes_on(stage: Stage) -> None:
    stage.server.begin([Answer(text=("one", "two"), fault=Fault("stall")), say("fine")])

    async def scene(conversation: Conversation) -> list[str]:
        running = asyncio.create_task(ask(conversation))
        await asyncio.to_thread(stage.server.wait_until_stalled)
        conversation.abort()
        first = await running
        second = await ask(conversation, "never mind")
        return [outcome.reason for outcome in (first, second) if isinstance(outcome, AgentEnd)]

    assert stage.play(scene) == ["aborted", "done"]
    stage.server.release()


async def _model_name(conversation: Conversation) -> str:
    return conversation.model_name
