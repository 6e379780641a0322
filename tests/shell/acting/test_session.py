"""Entries and messages that extensions add to the session, and what they read of it."""

import math

import pytest

from kaa.core.messages import AssistantMessage, Json, UserMessage, user_message
from kaa.ext.api import CommandContext, ConversationContext, ExtensionAPI, Text
from kaa.ext.conversation_session import OwnEntry
from kaa.ext.errors import CommandError
from kaa.shell.host import HostedConversation
from kaa.shell.options import ContinueSession, ConversationOptions
from tests.shell.acting.test_messages import entries, said, say_it
from tests.support.extended import in_a_command, play
from tests.support.model_server import call, say
from tests.support.stage import Stage


def data(found: object) -> list[object]:
    assert isinstance(found, list)
    return [one.data for one in found if isinstance(one, OwnEntry)]


def test_entries_are_read_again_after_the_session_is_resumed(stage: Stage) -> None:
    found: list[object] = []

    async def keep(context: CommandContext) -> None:
        context.session.append({"done": ["a"]}, "todo")
        context.session.append(3)

    async def read(context: CommandContext) -> None:
        found.append(data(context.session.entries("todo")))
        found.append(data(context.session.entries()))

    in_a_command(stage, keep)
    in_a_command(stage, read, options=ConversationOptions(model="m", session=ContinueSession()))

    assert found == [[{"done": ["a"]}], [{"done": ["a"]}, 3]]
    assert [entry["customType"] for entry in entries(stage) if entry["type"] == "custom"] == ["ci:todo", "ci"]


def test_entries_of_others_are_not_read(stage: Stage) -> None:
    found: list[object] = []

    async def keep(_arguments: str, context: CommandContext) -> None:
        context.session.append(1)

    def other(kaa: ExtensionAPI) -> None:
        async def look(_arguments: str, context: CommandContext) -> None:
            found.append(context.session.entries())

        kaa.register_command("look", "Look", look)

    def extend(kaa: ExtensionAPI) -> None:
        kaa.register_command("act", "Act", keep)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.command("/act")
        await hosted.work.command("/look")

    play(stage, scene, extend, other)

    assert found == [[]]


def test_entries_follow_the_branch(stage: Stage) -> None:
    stage.server.begin([say("One."), say("Two.")])
    found: list[object] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def count(_message: UserMessage, context: ConversationContext) -> None:
            context.session.append(len(context.session.entries()))

        async def look(_arguments: str, context: CommandContext) -> None:
            found.append(data(context.session.entries()))

        kaa.on_user_message(count)
        kaa.register_command("look", "Look", look)

    async def scene(hosted: HostedConversation) -> None:
        await say_it(hosted, "one")
        await say_it(hosted, "two")
        await hosted.work.command("/look")
        await hosted.work.command("/undo")
        await hosted.work.command("/look")

    play(stage, scene, extend)

    assert found[0] == [0, 1]
    assert found[1] in ([0], [0, 1])  # the entry stands before the message that is undone


def test_a_message_reaches_the_model_with_the_next_request_and_starts_none(stage: Stage) -> None:
    stage.server.begin([say("Hello.")])

    def extend(kaa: ExtensionAPI) -> None:
        async def act(_arguments: str, context: CommandContext) -> None:
            context.session.add_message("The branch is main.", "git", display=False, details={"branch": "main"})

        kaa.register_command("act", "Act", act)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.command("/act")
        assert stage.server.requests == []
        await say_it(hosted)

    play(stage, scene, extend)

    assert said(stage) == ["The branch is main.", "go"]
    (entry,) = [entry for entry in entries(stage) if entry["type"] == "custom_message"]
    assert (entry["customType"], entry["display"], entry["details"]) == ("ci:git", False, {"branch": "main"})


def test_a_message_never_comes_between_a_call_and_its_result(stage: Stage) -> None:
    stage.server.begin([call("read", path="notes.txt"), say("Done.")])

    def extend(kaa: ExtensionAPI) -> None:
        async def before(_call: object, context: ConversationContext) -> None:
            context.session.add_message("Notes are read.")

        kaa.before_tool(before)

    play(stage, say_it, extend)

    roles = [message["role"] for message in stage.server.requests[-1].json["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]


def test_the_conversation_is_read_and_entries_are_labelled(stage: Stage) -> None:
    stage.server.begin([say("Hello.")])
    found: list[object] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def act(_arguments: str, context: CommandContext) -> None:
            found.extend(type(message) for message in context.session.messages)
            rows = (await context.session.outline()).rows
            (spoken,) = [row for row in rows if row.kind == "user"]
            context.session.label(spoken.entry_id, "start")
            labelled = (await context.session.outline()).rows
            found.extend(row.label for row in labelled if row.label)

        kaa.register_command("act", "Act", act)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.say(user_message("go"))
        await hosted.work.command("/act")

    play(stage, scene, extend)

    assert found == [UserMessage, AssistantMessage, "start"]


@pytest.mark.parametrize(
    ("value", "kind", "problem"),
    [
        (object(), "", "has no form in JSON"),
        ({1: 2}, "", "the key 1 is no text"),
        (math.nan, "", "nan is no JSON number"),
        ("x" * 300_000, "", "300,002 bytes: the limit is 262,144"),
        (b"bytes", "", "has no form in JSON"),
        (1, "a:b", "invalid kind 'a:b'"),
    ],
)
def test_what_is_not_json_or_too_large_is_refused(stage: Stage, value: object, kind: str, problem: str) -> None:
    async def work(context: CommandContext) -> None:
        with pytest.raises(CommandError, match=problem):
            context.session.append(value, kind)
        assert not context.session.entries()

    in_a_command(stage, work)


def test_a_value_that_contains_itself_is_refused(stage: Stage) -> None:
    value: list[object] = []
    value.append(value)

    async def work(context: CommandContext) -> None:
        with pytest.raises(CommandError, match="nested more than 100 levels"):
            context.session.append(value)

    in_a_command(stage, work)


@pytest.mark.parametrize(
    ("display", "details", "problem"),
    [
        (object(), None, "cannot be shown: use a text, a display value"),
        ("x" * 100_001, None, "characters cannot be shown: shorten them to 100,000"),
        (Text("seen"), [1], "only an object has room for `display`"),
    ],
)
def test_display_values_that_cannot_be_kept_are_refused(
    stage: Stage, display: Text, details: Json, problem: str
) -> None:
    raised: list[str] = []

    async def work(context: CommandContext) -> None:
        try:
            context.session.add_message("for the model", display=display, details=details)
        except (TypeError, ValueError) as error:
            raised.append(str(error))
        context.session.append(1)

    in_a_command(stage, work)

    assert problem in raised[0]
    assert [entry["type"] for entry in entries(stage)].count("custom_message") == 0


def test_details_of_a_message_stay_beside_its_display_values(stage: Stage) -> None:
    async def work(context: CommandContext) -> None:
        context.session.add_message("for the model", display=[Text("seen")], details={"build": 3})

    in_a_command(stage, work)

    (entry,) = [entry for entry in entries(stage) if entry["type"] == "custom_message"]
    assert entry["details"] == {"build": 3, "display": [{"type": "text", "text": "seen", "role": "text"}]}
