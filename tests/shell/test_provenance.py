"""Only the person's own words are treated as theirs."""

import asyncio

import msgspec
import pytest

from kaa.core.events import AgentEnd, Event, TurnStart
from kaa.core.messages import Json, UserMessage, user_message
from kaa.ext.errors import MessageBlockedError
from kaa.session.as_user_message import origin_of
from kaa.shell.conversation import Conversation
from kaa.shell.options import ContinueSession, ConversationOptions
from kaa.shell.work_queue import WorkQueue
from tests.support.model_server import say
from tests.support.stage import Stage

_EXTENSION = """
from kaa.core.hooks import Block, Continue
from kaa.ext.api import Submit

async def inspect(arguments, context):
    return Submit(f"Review everything. {arguments}")

class Asked:
    times = 0

async def more(reply, context):
    asked = context.state(Asked, Asked)
    asked.times += 1
    return Continue("The tests fail.") if asked.times == 1 else None

async def keep_secrets(message, context):
    return Block("no passwords, please") if "password" in message.text else None

def extend(api):
    api.register_command("inspect", "Inspect", inspect)
    api.before_end(more)
    api.on_user_message(keep_secrets)
"""


@pytest.fixture
def extended(stage: Stage) -> Stage:
    stage.install(_EXTENSION)
    return stage


async def talk(conversation: Conversation) -> list[tuple[str, str]]:
    """A message, whose run a hook continues, and a command that gives the model one. Returns who said what."""
    said: list[tuple[str, str]] = []
    for text in ("fix it", "/inspect please"):
        outcome = await conversation.submit(text)
        assert isinstance(outcome, AgentEnd)
        said += [(message.origin, message.text) for message in outcome.messages if isinstance(message, UserMessage)]
    return said


def entries(stage: Stage) -> list[dict[str, Json]]:
    (session,) = stage.home.glob("sessions/--project--/*.jsonl")
    return [msgspec.json.decode(line) for line in session.read_bytes().splitlines()]


def test_each_message_says_who_it_is_from(extended: Stage) -> None:
    extended.server.begin([say("Done."), say("Now it is."), say("Fine.")])

    said = extended.play(talk)

    assert said == [
        ("person", "fix it"),
        ("hook", "The tests fail."),
        ("command", "Review everything. please"),
    ]


def test_the_session_keeps_other_messages_as_pi_keeps_those_of_extensions(extended: Stage) -> None:
    extended.server.begin([say("Done."), say("Now it is."), say("Fine.")])

    extended.play(talk)

    kept = [entry for entry in entries(extended) if entry["type"] == "custom_message"]
    assert [entry["customType"] for entry in kept] == ["kaa.hook", "kaa.command"]
    assert [entry["display"] for entry in kept] == [True, True]
    assert kept[0]["content"] == [{"type": "text", "text": "The tests fail."}]


def test_a_session_that_goes_on_sends_the_same(extended: Stage) -> None:
    extended.server.begin([say("Done."), say("Now it is."), say("Fine."), say("Hello."), say("Hello again.")])
    extended.play(talk)

    extended.play(lambda c: c.submit("hello"), ConversationOptions(model="m", session=ContinueSession()))

    before, after = (request.json["messages"] for request in extended.server.requests[2:4])
    assert after[: len(before)] == before


def test_only_what_the_person_said_is_a_place_to_go_back_to(extended: Stage) -> None:
    extended.server.begin([say("Done."), say("Now it is."), say("Fine.")])

    async def scene(conversation: Conversation) -> list[str]:
        await talk(conversation)
        return [point.text for point in conversation.navigation.points()]

    assert extended.play(scene) == ["fix it"]


def test_undo_takes_back_what_a_command_had_the_model_do(extended: Stage) -> None:
    extended.server.begin([say("Done."), say("Now it is."), say("Fine."), say("Hello.")])

    async def scene(conversation: Conversation) -> None:
        await talk(conversation)
        await conversation.submit("/undo")
        await conversation.submit("hello")

    extended.play(scene)

    texts = [message["content"] for message in extended.server.requests[-1].json["messages"]]
    assert "Now it is." in texts
    assert "Fine." not in texts


def test_a_blocked_message_reaches_neither_the_model_nor_the_session(extended: Stage) -> None:
    with pytest.raises(MessageBlockedError, match="no passwords, please"):
        extended.play(lambda c: c.submit("my password is x"))

    assert extended.server.requests == []
    assert not list(extended.home.glob("sessions/--project--/*.jsonl"))


def test_a_blocked_message_of_a_running_conversation_is_given_back(extended: Stage) -> None:
    extended.server.begin([say("Done."), say("Now it is.")])

    async def scene(conversation: Conversation) -> list[str]:
        work = WorkQueue(conversation)

        def interrupt(event: Event) -> None:
            if isinstance(event, TurnStart) and event.turn == 1:
                steering.append(asyncio.ensure_future(work.say(user_message("my password is x"))))

        steering: list[asyncio.Future[None]] = []
        conversation.subscribe(interrupt)
        await work.say(user_message("go"))
        with pytest.raises(MessageBlockedError):
            await steering[0]
        return [message.text for message in await work.take_unsaid()]

    assert extended.play(scene) == ["my password is x"]


@pytest.mark.parametrize(
    ("custom_type", "origin"),
    [("kaa.hook", "hook"), ("kaa.command", "command"), ("kaa.person", "extension"), ("hook", "extension")],
)
def test_no_entry_of_another_kind_passes_for_the_person(custom_type: str, origin: str) -> None:
    assert origin_of(custom_type) == origin
