"""A session's name: given by the user, or asked of the model, and seen by everybody at once."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.events import Event, SessionInfoChanged
from kaa.core.messages import Json
from kaa.ext.errors import CommandError
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.naming import MAX_LENGTH, clean_name
from kaa.shell.options import ContinueSession, ConversationOptions
from tests.support.model_script import Answer, Fault, Refusal, Tokens, say
from tests.support.stage import Stage
from tests.support.strategies import foreign_text

AGAIN = ConversationOptions(model="m", session=ContinueSession())


async def told(conversation: Conversation, command: str) -> str:
    outcome = await conversation.submit(command)
    assert isinstance(outcome, CommandReply)
    return outcome.text


def asked(stage: Stage) -> list[Json]:
    """The bodies of all requests to the model."""
    return [request.json for request in stage.server.requests if request.method == "POST"]


@given(st.text() | foreign_text(200))
def test_a_name_is_one_short_line_without_anything_a_terminal_obeys(text: str) -> None:
    name = clean_name(text)

    assert len(name) <= MAX_LENGTH
    assert name == name.strip()
    assert name.isprintable() or "\u200d" in name
    assert clean_name(name) == name


def test_an_ordinary_name_stays_as_it_is() -> None:
    assert clean_name("  Fix 日本 👩\u200d💻 \n the  parser ") == "Fix 日本 👩\u200d💻 the parser"


def test_a_name_is_shown_kept_and_taken_away(stage: Stage) -> None:
    stage.server.begin([say("hi")])

    async def scene(conversation: Conversation) -> list[str]:
        await conversation.submit("hello")
        return [await told(conversation, command) for command in ("/name", "/name  my  name", "/name")]

    async def later(conversation: Conversation) -> list[str]:
        return [await told(conversation, command) for command in ("/name", "/name --clear", "/name")]

    none, named, shown = stage.play(scene)
    kept, cleared, none_again = stage.play(later, AGAIN)

    assert none.startswith("this session has no name")
    assert (named, shown, kept) == ("named: my name", "my name", "my name")
    assert cleared == "this session has no name any more"
    assert none_again == none


def test_a_change_is_told_at_once_and_no_change_is_not(stage: Stage) -> None:
    stage.server.begin([say("hi")])
    events: list[Event] = []

    async def scene(conversation: Conversation) -> str | None:
        await conversation.submit("hello")
        conversation.subscribe(events.append)
        for command in ("/name one", "/name one", "/name two"):
            await told(conversation, command)
        return (await conversation.status()).session_name

    assert stage.play(scene) == "two"
    assert events == [SessionInfoChanged("one"), SessionInfoChanged("two")]


def test_a_session_that_is_only_named_leaves_nothing(stage: Stage) -> None:
    stage.server.begin([say("hi")])

    async def named(conversation: Conversation) -> str | None:
        await told(conversation, "/name early")
        return (await conversation.status()).session_name

    async def used(conversation: Conversation) -> None:
        await told(conversation, "/name early")
        await conversation.submit("hello")

    assert stage.play(named) == "early"
    assert not list(stage.home.glob("sessions/*/*"))
    stage.play(used)
    assert stage.play(lambda c: told(c, "/name"), AGAIN) == "early"


@pytest.mark.parametrize("text", ["\x01", "\u200b"])
def test_what_nobody_can_see_is_no_name(stage: Stage, text: str) -> None:
    async def scene(conversation: Conversation) -> str | None:
        conversation.naming.set_name("before")
        with pytest.raises(CommandError, match="use letters"):
            conversation.naming.set_name(text)
        return conversation.naming.name

    assert stage.play(scene) == "before"


class TestSuggested:
    def test_the_model_names_what_was_said(self, stage: Stage) -> None:
        stage.server.begin([say("hi"), Answer(text=('"Saying hello."\n',), usage=Tokens(50, 0, 5))])

        async def scene(conversation: Conversation) -> str:
            await conversation.submit("hello there")
            return await told(conversation, "/name --suggest")

        assert stage.play(scene) == "named: Saying hello"
        assert asked(stage)[-1]["messages"][-1]["content"] == "User: hello there\n\nAssistant: hi"
        assert "tools" not in asked(stage)[-1]

    def test_neither_question_nor_answer_are_part_of_the_conversation(self, stage: Stage) -> None:
        stage.server.begin([say("hi"), say("A greeting"), say("again")])

        async def scene(conversation: Conversation) -> None:
            await conversation.submit("hello")
            await told(conversation, "/name --suggest")
            await conversation.submit("more")

        stage.play(scene)

        contents = [message["content"] for message in stage.server.requests[-1].json["messages"]]
        assert contents[1:] == ["hello", "hi", "more"]

    def test_without_anything_said_nobody_is_asked(self, stage: Stage) -> None:
        assert "say something first" in stage.play(lambda c: told(c, "/name --suggest"))

    def test_a_failure_is_told(self, stage: Stage) -> None:
        stage.server.begin([say("hi"), Refusal(400, body="no names today")])

        async def scene(conversation: Conversation) -> tuple[str, str | None]:
            await conversation.submit("hello")
            return await told(conversation, "/name --suggest"), conversation.naming.name

        said, name = stage.play(scene)

        assert said.startswith("the model gave no name: ")
        assert name is None


class TestUnasked:
    def settings(self, stage: Stage, value: Json) -> None:
        stage.home.mkdir(exist_ok=True)
        (stage.home / "settings.json").write_text(f'{{"autoTitle": "{value}"}}')

    async def named(self, conversation: Conversation) -> str | None:
        """The name once the session has one."""
        for _ in range(200):
            if conversation.naming.name is not None:
                break
            await asyncio.sleep(0.01)
        return conversation.naming.name

    def test_the_model_is_asked_once_after_the_first_run(self, stage: Stage) -> None:
        self.settings(stage, "model")
        stage.server.begin([say("hi"), say("A greeting"), say("again")])

        async def scene(conversation: Conversation) -> str | None:
            await conversation.submit("hello")
            name = await self.named(conversation)
            await conversation.submit("more")
            return name

        assert stage.play(scene) == "A greeting"
        assert len(asked(stage)) == 3

    def test_the_setting_may_change_in_between(self, stage: Stage) -> None:
        stage.server.begin([say("hi"), say("again"), say("A greeting")])

        async def scene(conversation: Conversation) -> str | None:
            await conversation.submit("hello")
            self.settings(stage, "model")
            await told(conversation, "/reload")
            await conversation.submit("more")
            return await self.named(conversation)

        assert stage.play(scene) == "A greeting"

    def test_a_name_of_the_users_is_left_alone(self, stage: Stage) -> None:
        self.settings(stage, "model")
        stage.server.begin([say("hi")])

        async def scene(conversation: Conversation) -> str | None:
            conversation.naming.set_name("mine")
            await conversation.submit("hello")
            await asyncio.sleep(0.05)
            return conversation.naming.name

        assert stage.play(scene) == "mine"
        assert len(asked(stage)) == 1

    def test_nobody_hears_of_a_failure(self, stage: Stage) -> None:
        self.settings(stage, "model")
        stage.server.begin([say("hi"), Refusal(400, body="no names today")])
        events: list[Event] = []

        async def scene(conversation: Conversation) -> None:
            await conversation.submit("hello")
            conversation.subscribe(events.append)
            while len(asked(stage)) < 2:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)

        stage.play(scene)

        assert events == []
        assert stage.notices == []

    def test_a_conversation_that_ends_does_not_wait_for_its_name(self, stage: Stage) -> None:
        self.settings(stage, "model")
        stage.server.begin([say("hi"), Answer(text=("a",), fault=Fault("stall"))])

        async def scene(conversation: Conversation) -> None:
            await conversation.submit("hello")
            await asyncio.to_thread(stage.server.wait_until_stalled)

        stage.play(scene)

    def test_usually_nobody_is_asked(self, stage: Stage) -> None:
        stage.server.begin([say("hi")])

        async def scene(conversation: Conversation) -> None:
            await conversation.submit("hello")
            await asyncio.sleep(0.05)

        stage.play(scene)

        assert len(asked(stage)) == 1
