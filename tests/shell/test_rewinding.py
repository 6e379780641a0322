"""Going back to an earlier message, and what a restart makes of it."""

import pytest

from kaa.core.agent import AgentBusyError
from kaa.core.events import Event, SessionRewound
from kaa.ext.api import CommandError
from kaa.session.entries import MessageEntry
from kaa.shell.conversation import Conversation
from kaa.shell.options import ContinueSession, ConversationOptions, UnkeptSession
from kaa.workspace.protocol import Command, CommandResult
from tests.support.model_script import Answer, Call, say
from tests.support.stage import Stage

AGAIN = ConversationOptions(model="m", session=ContinueSession())


def told(stage: Stage) -> list[str]:
    """What the model was sent last, but for the system prompt."""
    asked = [request.json for request in stage.server.requests if request.method == "POST"]
    return [message["content"] for message in asked[-1]["messages"][1:]]


async def two_questions(conversation: Conversation) -> None:
    await conversation.submit("one?")
    await conversation.submit("two?")


def shown(conversation: Conversation) -> list[str]:
    """The texts of the transcript's messages."""
    entries = (entry.message for entry in conversation.transcript() if isinstance(entry, MessageEntry))
    return [message.text for message in entries if hasattr(message, "text")]


@pytest.mark.parametrize(
    "options", [ConversationOptions(model="m"), ConversationOptions(model="m", session=UnkeptSession())]
)
def test_the_model_forgets_what_came_after(stage: Stage, options: ConversationOptions) -> None:
    stage.server.begin([say("1"), say("2"), say("3")])

    async def scene(conversation: Conversation) -> str:
        await two_questions(conversation)
        message = await conversation.rewind(conversation.rewind_points()[1].entry_id)
        assert shown(conversation) == ["one?", "1"]
        await conversation.submit("three?")
        return message.text

    assert stage.play(scene, options) == "two?"
    assert told(stage) == ["one?", "1", "three?"]


def test_points_are_the_messages_of_the_user_the_newest_last(stage: Stage) -> None:
    stage.server.begin([Answer(calls=(Call("read", '{"path": "notes.txt"}'),)), say("1"), say("2")])

    async def scene(conversation: Conversation) -> list[str]:
        await two_questions(conversation)
        points = conversation.rewind_points()
        assert points[0].timestamp <= points[1].timestamp
        return [point.text for point in points]

    assert stage.play(scene) == ["one?", "two?"]


def test_it_survives_a_restart_before_anything_else_is_said(stage: Stage) -> None:
    stage.server.begin([say("1"), say("2"), say("3")])

    async def scene(conversation: Conversation) -> None:
        await two_questions(conversation)
        await conversation.rewind(conversation.rewind_points()[1].entry_id)

    stage.play(scene)
    stage.play(lambda c: c.submit("three?"), AGAIN)

    assert told(stage) == ["one?", "1", "three?"]


def test_the_first_message_can_be_taken_back_too(stage: Stage) -> None:
    stage.server.begin([say("1"), say("2")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("one?")
        await conversation.rewind(conversation.rewind_points()[0].entry_id)
        assert conversation.rewind_points() == ()
        await conversation.submit("instead?")

    stage.play(scene)

    assert told(stage) == ["instead?"]


def test_the_model_in_force_stays_and_is_recorded_on_the_new_branch(stage: Stage) -> None:
    stage.server.begin([say("1"), say("2"), say("3"), say("4")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("one?")
        await conversation.models.choose("openai/other")
        await conversation.submit("two?")
        await conversation.rewind(conversation.rewind_points()[0].entry_id)
        assert conversation.model_name == "openai/other"
        await conversation.submit("three?")

    async def name(conversation: Conversation) -> str:
        return conversation.model_name

    stage.play(scene)

    assert stage.play(name, ConversationOptions(session=ContinueSession())) == "openai/other"


def test_everybody_is_told(stage: Stage) -> None:
    stage.server.begin([say("1")])
    events: list[Event] = []

    async def scene(conversation: Conversation) -> str:
        await conversation.submit("one?")
        conversation.subscribe(events.append)
        (point,) = conversation.rewind_points()
        await conversation.rewind(point.entry_id)
        return point.entry_id

    entry_id = stage.play(scene)

    assert events == [SessionRewound(entry_id)]


def test_not_while_the_agent_works(stage: Stage) -> None:
    stage.server.begin([Answer(calls=(Call("bash", '{"command": "x"}'),)), say("1")])

    async def scene(conversation: Conversation) -> None:
        async def command(_command: Command) -> CommandResult:
            with pytest.raises(AgentBusyError):
                await conversation.rewind(conversation.rewind_points()[0].entry_id)
            refused.append(True)
            return CommandResult(0, None, b"", 0, 0)

        stage.commands = command
        await conversation.submit("go")

    refused: list[bool] = []
    stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert refused


@pytest.mark.parametrize("wanted", ["nothing", "reply"])
def test_only_to_messages_of_the_user(stage: Stage, wanted: str) -> None:
    stage.server.begin([say("1")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("one?")
        await conversation.rewind(conversation.transcript()[-1].id if wanted == "reply" else "nothing")

    with pytest.raises(CommandError, match="choose another"):
        stage.play(scene)
