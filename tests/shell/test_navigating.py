"""Going elsewhere in a session: what the model then knows, what becomes of files, and what a restart makes of it."""

import json

import pytest

from kaa.core.agent import AgentBusyError
from kaa.core.events import BranchChanged, Event
from kaa.ext.errors import CommandError
from kaa.session.entries import MessageEntry
from kaa.shell.conversation import CommandReply, Conversation, SubmitOutcome
from kaa.shell.navigating import Arrival, BranchSummaryRequest, Restore
from kaa.shell.options import ContinueSession, ConversationOptions, UnkeptSession
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.model_script import Answer, Call, say
from tests.support.stage import Stage

AGAIN = ConversationOptions(model="m", session=ContinueSession())
WRITE = Answer(
    calls=(Call("edit", '{"path": "notes.txt", "edits": [{"oldText": "remember the milk", "newText": "forget it"}]}'),)
)


def told(stage: Stage) -> list[str]:
    """What the model was sent last, but for the system prompt."""
    asked = [request.json for request in stage.server.requests if request.method == "POST"]
    return [message["content"] for message in asked[-1]["messages"][1:]]


def shown(conversation: Conversation) -> list[str]:
    """The texts of the transcript's messages."""
    entries = (entry.message for entry in conversation.transcript() if isinstance(entry, MessageEntry))
    return [message.text for message in entries if hasattr(message, "text")]


def notes(stage: Stage) -> bytes:
    """What is in the file that `WRITE` changes."""
    return stage.workspace.files["/project/notes.txt"]


async def two_questions(conversation: Conversation) -> None:
    await conversation.submit("one?")
    await conversation.submit("two?")


async def before(
    conversation: Conversation,
    point: int,
    restore: Restore = "conversation",
    summary: BranchSummaryRequest | None = None,
) -> Arrival:
    """Go back to before a message of the user's."""
    entry_id = conversation.navigation.points()[point].entry_id
    return await conversation.navigation.go(
        await conversation.navigation.to(entry_id), restore=restore, summary=summary
    )


async def undo(conversation: Conversation, restore: Restore = "both") -> Arrival:
    """Take back the last message."""
    destination = await conversation.navigation.back()
    assert destination is not None
    return await conversation.navigation.go(destination, restore=restore)


async def redo(conversation: Conversation, restore: Restore = "both") -> Arrival:
    """Return to where the conversation was."""
    destination = await conversation.navigation.forward()
    assert destination is not None
    return await conversation.navigation.go(destination, restore=restore)


@pytest.mark.parametrize(
    "options", [ConversationOptions(model="m"), ConversationOptions(model="m", session=UnkeptSession())]
)
def test_the_model_forgets_what_came_after(stage: Stage, options: ConversationOptions) -> None:
    stage.server.begin([say("1"), say("2"), say("3")])

    async def scene(conversation: Conversation) -> str:
        await two_questions(conversation)
        arrival = await before(conversation, 1)
        assert shown(conversation) == ["one?", "1"]
        await conversation.submit("three?")
        assert arrival.message is not None
        return arrival.message.text

    assert stage.play(scene, options) == "two?"
    assert told(stage) == ["one?", "1", "three?"]


def test_points_are_the_messages_of_the_user_the_newest_last(stage: Stage) -> None:
    stage.server.begin([Answer(calls=(Call("read", '{"path": "notes.txt"}'),)), say("1"), say("2")])

    async def scene(conversation: Conversation) -> list[str]:
        await two_questions(conversation)
        points = conversation.navigation.points()
        assert points[0].timestamp <= points[1].timestamp
        return [point.text for point in points]

    assert stage.play(scene) == ["one?", "two?"]


def test_it_survives_a_restart_before_anything_else_is_said(stage: Stage) -> None:
    stage.server.begin([say("1"), say("2"), say("3")])

    async def scene(conversation: Conversation) -> None:
        await two_questions(conversation)
        await before(conversation, 1)

    stage.play(scene)
    stage.play(lambda c: c.submit("three?"), AGAIN)

    assert told(stage) == ["one?", "1", "three?"]


def test_the_first_message_can_be_taken_back_too(stage: Stage) -> None:
    stage.server.begin([say("1"), say("2")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("one?")
        await before(conversation, 0)
        assert conversation.navigation.points() == ()
        await conversation.submit("instead?")

    stage.play(scene)

    assert told(stage) == ["instead?"]


def test_the_conversation_goes_on_after_a_reply_that_is_chosen_on_another_branch(stage: Stage) -> None:
    stage.server.begin([say("1"), say("2"), say("3"), say("4")])

    async def scene(conversation: Conversation) -> None:
        await two_questions(conversation)
        reply = conversation.transcript()[-1].id
        await before(conversation, 1)
        await conversation.submit("three?")
        destination = await conversation.navigation.to(reply)
        assert (destination.message, destination.left) == (None, 2)
        await conversation.navigation.go(destination)
        await conversation.submit("four?")

    stage.play(scene)

    assert told(stage) == ["one?", "1", "two?", "2", "four?"]


def test_what_is_left_is_summed_up_for_the_model(stage: Stage) -> None:
    stage.server.begin([say("1"), say("2"), say("it did not work"), say("3")])

    async def scene(conversation: Conversation) -> None:
        await two_questions(conversation)
        await before(conversation, 1, summary=BranchSummaryRequest("say what failed"))
        await conversation.submit("three?")

    stage.play(scene)

    asked = [request.json for request in stage.server.requests if request.method == "POST"]
    assert "say what failed" in str(asked[2])
    one, first, summary, three = told(stage)
    assert (one, first, three) == ("one?", "1", "three?")
    assert "it did not work" in summary


def test_without_a_summary_the_conversation_stays_where_it_is(stage: Stage) -> None:
    stage.server.begin([say("1"), say("2"), say("")])

    async def scene(conversation: Conversation) -> None:
        await two_questions(conversation)
        with pytest.raises(CommandError):
            await before(conversation, 1, summary=BranchSummaryRequest())
        assert shown(conversation) == ["one?", "1", "two?", "2"]

    stage.play(scene)


def test_undo_and_redo_step_by_step_also_after_a_restart(stage: Stage) -> None:
    stage.server.begin([say("1"), say("2")])

    async def back(conversation: Conversation) -> None:
        await two_questions(conversation)
        await undo(conversation)
        await undo(conversation)
        assert shown(conversation) == []

    async def forth(conversation: Conversation) -> None:
        await redo(conversation)
        assert shown(conversation) == ["one?", "1"]
        await redo(conversation)
        assert shown(conversation) == ["one?", "1", "two?", "2"]
        assert await conversation.navigation.forward() is None

    stage.play(back)
    stage.play(forth, AGAIN)


def test_nothing_can_be_taken_back_or_done_again_in_a_new_session(stage: Stage) -> None:
    stage.server.begin([])

    async def scene(conversation: Conversation) -> None:
        assert await conversation.navigation.back() is None
        assert await conversation.navigation.forward() is None

    stage.play(scene)


def test_files_go_along_when_that_is_wanted(stage: Stage) -> None:
    stage.server.begin([WRITE, say("done")])

    async def scene(conversation: Conversation) -> list[bytes]:
        await conversation.submit("go")
        contents = [notes(stage)]
        for step in (undo, redo):
            await step(conversation)
            contents.append(notes(stage))
        return contents

    contents = stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert contents == [b"forget it\n", b"remember the milk\n", b"forget it\n"]


def test_files_can_go_alone_and_the_conversation_alone(stage: Stage) -> None:
    stage.server.begin([WRITE, say("done")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("go")
        await undo(conversation, "files")
        assert notes(stage) == b"remember the milk\n"
        assert shown(conversation)[0] == "go"
        await undo(conversation, "conversation")
        assert notes(stage) == b"remember the milk\n"
        assert shown(conversation) == []
        await redo(conversation, "both")
        assert shown(conversation)[0] == "go"

    stage.play(scene, ConversationOptions(model="m", approvals="auto"))


def test_what_somebody_else_changed_is_kept(stage: Stage) -> None:
    stage.server.begin([WRITE, say("done")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("go")
        await stage.workspace.write("notes.txt", b"mine\n")
        arrival = await undo(conversation)
        assert arrival.files is not None
        assert [conflict.path for conflict in arrival.files.kept] == ["notes.txt"]

    stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert notes(stage) == b"mine\n"


def test_what_was_not_restored_is_repeated_once_below_the_next_run(stage: Stage) -> None:
    stage.server.begin([WRITE, say("done"), say("again"), say("and again")])

    async def scene(conversation: Conversation) -> list[int]:
        await conversation.submit("go")
        await stage.workspace.write("notes.txt", b"mine\n")
        await undo(conversation)
        counts = []
        for text in ("more", "and more"):
            await conversation.submit(text)
            counts.append(sum("kaa did not restore all files: kept notes.txt" in notice for notice in stage.notices))
        return counts

    assert stage.play(scene, ConversationOptions(model="m", approvals="auto")) == [1, 1]


def test_what_was_restored_after_all_is_not_repeated(stage: Stage) -> None:
    stage.server.begin([WRITE, say("done"), say("again")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("go")
        await stage.workspace.write("notes.txt", b"mine\n")
        await undo(conversation)
        await redo(conversation, "both")
        await stage.workspace.write("notes.txt", b"forget it\n")
        await undo(conversation)
        await conversation.submit("more")

    stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert notes(stage) == b"remember the milk\n"
    assert [notice for notice in stage.notices if "did not restore" in notice] == []


def test_what_the_user_then_left_without_the_files_is_not_repeated(stage: Stage) -> None:
    stage.server.begin([WRITE, say("done"), say("again")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("go")
        await stage.workspace.write("notes.txt", b"mine\n")
        await undo(conversation)
        await redo(conversation, "conversation")
        await conversation.submit("more")

    stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert [notice for notice in stage.notices if "did not restore" in notice] == []


def test_each_file_is_told_of_in_one_line(stage: Stage) -> None:
    call = Call("write", json.dumps({"path": "new\nrestored all.txt", "content": "x"}))
    stage.server.begin([Answer(calls=(call,)), say("done")])

    async def scene(conversation: Conversation) -> str:
        await conversation.submit("go")
        return await conversation.navigation.undo()

    told = stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert told == "took back: go\ndeleted new\\nrestored all.txt"


@pytest.mark.parametrize("command", ["/undo 2", "/redo 2"])
def test_a_number_of_steps_is_refused(stage: Stage, command: str) -> None:
    stage.server.begin([WRITE, say("done")])

    async def scene(conversation: Conversation) -> SubmitOutcome:
        await conversation.submit("go")
        return await conversation.submit(command)

    outcome = stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert isinstance(outcome, CommandReply)
    assert outcome.refused
    assert "one step" in outcome.text
    assert notes(stage) == b"forget it\n"


def test_the_model_in_force_stays_and_is_recorded_on_the_new_branch(stage: Stage) -> None:
    stage.server.begin([say("1"), say("2"), say("3"), say("4")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("one?")
        await conversation.models.choose("openai/other")
        await conversation.submit("two?")
        await before(conversation, 0)
        assert conversation.model_name == "openai/other"
        await conversation.submit("three?")

    async def name(conversation: Conversation) -> str:
        return conversation.model_name

    stage.play(scene)

    assert stage.play(name, ConversationOptions(session=ContinueSession())) == "openai/other"


def test_everybody_is_told(stage: Stage) -> None:
    stage.server.begin([say("1"), say("2")])
    events: list[Event] = []

    async def scene(conversation: Conversation) -> str:
        await conversation.submit("one?")
        reply = conversation.transcript()[-1].id
        await conversation.submit("two?")
        conversation.subscribe(events.append)
        await before(conversation, 1)
        return reply

    reply = stage.play(scene)

    assert events == [BranchChanged(reply)]


def test_going_where_it_is_already_leaves_no_trace(stage: Stage) -> None:
    stage.server.begin([say("1")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("one?")
        here = conversation.transcript()[-1].id
        await conversation.navigation.go(await conversation.navigation.to(here))
        assert await conversation.navigation.forward() is None

    stage.play(scene)


def test_not_while_the_agent_works(stage: Stage) -> None:
    stage.server.begin([Answer(calls=(Call("bash", '{"command": "x"}'),)), say("1")])

    async def scene(conversation: Conversation) -> None:
        async def command(_command: CommandRequest) -> CommandResult:
            with pytest.raises(AgentBusyError):
                await before(conversation, 0)
            refused.append(True)
            return CommandResult(0, None, b"", 0, 0)

        stage.commands = command
        await conversation.submit("go")

    refused: list[bool] = []
    stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert refused


def test_only_to_what_is_in_the_session(stage: Stage) -> None:
    stage.server.begin([say("1")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("one?")
        with pytest.raises(CommandError, match="choose another"):
            await conversation.navigation.to("nothing")
        with pytest.raises(CommandError, match="choose another"):
            conversation.navigation.label("nothing", "x")

    stage.play(scene)


def test_a_label_is_seen_in_the_outline_also_after_a_restart(stage: Stage) -> None:
    stage.server.begin([say("1")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("one?")
        conversation.navigation.label(conversation.navigation.points()[0].entry_id, "start")

    async def labels(conversation: Conversation) -> list[tuple[str, str | None]]:
        rows = (await conversation.navigation.outline()).rows
        return [(row.text, row.label) for row in rows if row.kind == "user"]

    stage.play(scene)

    assert stage.play(labels, AGAIN) == [("one?", "start")]
