"""Messages that extensions send: when the model gets them, who they are from, and how many there can be."""

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from typing import cast

import msgspec
import pytest

from kaa.core.events import AgentEnd, Event, MessageEnd
from kaa.core.messages import Json, ToolCall, UserMessage, user_message
from kaa.ext.api import Block, CommandContext, ConversationContext, ExtensionAPI, SessionStart
from kaa.ext.errors import CommandError
from kaa.shell.host import HostedConversation
from kaa.shell.options import ContinueSession, ConversationOptions
from tests.support.extended import in_a_command, play
from tests.support.model_script import Answer, Fault, Refusal
from tests.support.model_server import call, say
from tests.support.stage import Stage


def said(stage: Stage) -> list[str]:
    """What the model got of users and extensions with the last request."""
    messages = cast("list[dict[str, Json]]", stage.server.requests[-1].json["messages"])
    return [text_of(message["content"]) for message in messages if message["role"] == "user"]


def text_of(content: Json) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def entries(stage: Stage) -> list[dict[str, Json]]:
    (session,) = stage.home.glob("sessions/--project--/*.jsonl")
    return [msgspec.json.decode(line) for line in session.read_bytes().splitlines()]


async def say_it(hosted: HostedConversation, text: str = "go") -> None:
    await hosted.work.say(user_message(text))


def test_a_message_starts_a_run_if_none_is_under_way(stage: Stage) -> None:
    stage.server.begin([say("Fixed.")])

    async def work(context: CommandContext) -> None:
        context.send("The build fails.")

    in_a_command(stage, work)

    assert said(stage) == ["The build fails."]


def test_its_run_has_nothing_of_the_context_in_which_it_was_sent(stage: Stage) -> None:
    stage.server.begin([say("Fixed.")])
    limit: ContextVar[str] = ContextVar("limit", default="none")
    seen: list[str] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def act(_arguments: str, context: CommandContext) -> None:
            limit.set("of an agent")
            context.send("The build fails.")

        kaa.register_command("act", "Act", act)
        kaa.on_event(AgentEnd)(lambda _end, _context: seen.append(limit.get()))

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.command("/act")
        await hosted.work.settled()

    play(stage, scene, extend)

    assert seen == ["none"]


def test_the_session_names_the_extension(stage: Stage) -> None:
    stage.server.begin([say("Fixed.")])

    async def work(context: CommandContext) -> None:
        context.send("The build fails.")

    in_a_command(stage, work)

    (entry,) = [entry for entry in entries(stage) if entry["type"] == "custom_message"]
    assert entry["customType"] == "ci"
    assert entry["display"] is True
    assert not [one for one in entries(stage) if one["type"] == "message" and one["message"]["role"] == "user"]


def test_events_name_the_extension_also_after_the_session_is_resumed(stage: Stage) -> None:
    stage.server.begin([say("Fixed."), say("Yes.")])
    seen: list[UserMessage] = []

    async def scene(hosted: HostedConversation) -> None:
        hosted.conversation.subscribe(note)
        await hosted.work.command("/act")
        await hosted.work.settled()

    def note(event: Event) -> None:
        if isinstance(event, MessageEnd) and isinstance(event.message, UserMessage):
            seen.append(event.message)

    def extend(kaa: ExtensionAPI) -> None:
        async def act(_arguments: str, context: CommandContext) -> None:
            context.send("The build fails.")

        kaa.register_command("act", "Act", act)

    async def resumed(hosted: HostedConversation) -> None:
        seen.extend(one for one in hosted.conversation.messages if isinstance(one, UserMessage))

    play(stage, scene, extend)
    play(stage, resumed, extend, options=ConversationOptions(model="m", session=ContinueSession()))

    assert [(one.origin, one.note.extension if one.note else "") for one in seen] == [("extension", "ci")] * 2


def test_a_message_waits_until_the_run_would_end(stage: Stage) -> None:
    stage.server.begin([call("read", path="notes.txt"), say("Done."), say("Fixed.")])

    def extend(kaa: ExtensionAPI) -> None:
        async def after(tool_call: ToolCall, _result: object, context: ConversationContext) -> None:
            context.send(f"{tool_call.name} was called.")

        kaa.after_tool(after)

    play(stage, say_it, extend)

    assert [len(request.json["messages"]) for request in stage.server.requests] == [2, 4, 6]
    assert said(stage) == ["go", "read was called."]


def test_a_steering_message_comes_with_the_next_request(stage: Stage) -> None:
    stage.server.begin([call("read", path="notes.txt"), say("Done.")])

    def extend(kaa: ExtensionAPI) -> None:
        async def after(_call: object, _result: object, context: ConversationContext) -> None:
            context.steer("Be brief.")

        kaa.after_tool(after)

    play(stage, say_it, extend)

    assert len(stage.server.requests) == 2
    assert said(stage) == ["go", "Be brief."]


def test_a_message_of_the_start_is_sent_when_the_hooks_are_done(stage: Stage) -> None:
    stage.server.begin([say("Hello.")])
    order: list[str] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def first(_start: SessionStart, context: ConversationContext) -> None:
            context.send("Good morning.")
            await asyncio.sleep(0)

        async def second(_start: SessionStart, _context: ConversationContext) -> None:
            order.append(f"second hook, {len(stage.server.requests)} requests")

        kaa.on_session_start(first)
        kaa.on_session_start(second)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.settled()

    play(stage, scene, extend)

    assert order == ["second hook, 0 requests"]
    assert said(stage) == ["Good morning."]


def test_it_is_not_the_users_own_message(stage: Stage) -> None:
    stage.server.begin([say("Fixed.")])
    hooked: list[str] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def look(message: UserMessage, _context: ConversationContext) -> Block:
            hooked.append(message.text)
            return Block("no")

        kaa.on_user_message(look)

    async def work(context: CommandContext) -> None:
        context.send("/quit is a command")

    in_a_command(stage, work, extend)

    assert hooked == []
    assert said(stage) == ["/quit is a command"]


def test_messages_without_one_of_the_user_are_limited(stage: Stage) -> None:
    stage.server.begin([say("Again.")] * 40)
    ends: list[AgentEnd] = []

    def extend(kaa: ExtensionAPI) -> None:
        def follow(event: Event, context: ConversationContext) -> None:
            if isinstance(event, AgentEnd):
                ends.append(event)
                context.send("And again.")

        kaa.on_event(follow)

    play(stage, say_it, extend)

    assert len(stage.server.requests) == 1 + 25
    assert [notice for notice in stage.notices if "25 messages since the last one of the user" in notice]
    assert "ci.py" in stage.notices[-1]


def test_what_waits_is_said_in_the_next_run_and_not_given_to_the_user_if_this_one_is_stopped(stage: Stage) -> None:
    stalled = Answer(("Do", "ne."), fault=Fault("stall"))
    stage.server.begin([call("read", path="notes.txt"), stalled, say("Yes."), say("And that.")])
    taken: list[Sequence[UserMessage]] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def after(_call: object, _result: object, context: ConversationContext) -> None:
            context.send("And then?")

        kaa.after_tool(after)

    async def scene(hosted: HostedConversation) -> None:
        run = asyncio.ensure_future(say_it(hosted))
        await asyncio.to_thread(stage.server.wait_until_stalled)
        taken.append(await hosted.work.abort())
        await run
        taken.append(await hosted.work.take_unsaid())
        assert len(stage.server.requests) == 2
        await say_it(hosted, "again")

    play(stage, scene, extend)

    assert taken == [[], []]
    assert said(stage)[-2:] == ["again", "And then?"]


def test_what_waits_is_said_in_the_next_run_if_this_one_fails(stage: Stage) -> None:
    stage.server.begin([call("read", path="notes.txt"), Refusal(400), say("Yes."), say("And that.")])

    def extend(kaa: ExtensionAPI) -> None:
        async def after(_call: object, _result: object, context: ConversationContext) -> None:
            context.send("And then?")

        kaa.after_tool(after)

    async def scene(hosted: HostedConversation) -> None:
        await say_it(hosted)
        assert await hosted.work.take_unsaid() == []
        assert len(stage.server.requests) == 2
        await say_it(hosted, "again")

    play(stage, scene, extend)

    assert said(stage) == ["go", "again", "And then?"]


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_message_is_refused(stage: Stage, text: str) -> None:
    async def work(context: CommandContext) -> None:
        with pytest.raises(CommandError, match=r"message .* of extension ci is empty"):
            context.send(text)

    in_a_command(stage, work)


def test_a_function_waits_until_the_agent_is_idle(stage: Stage) -> None:
    stage.server.begin([call("read", path="notes.txt"), say("Done.")])
    seen: list[str] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def idle(context: CommandContext) -> None:
            seen.append(f"{len(stage.server.requests)} requests, {context.naming.set_name('Notes')}")

        async def after(_call: object, _result: object, context: ConversationContext) -> None:
            context.when_idle(idle)

        kaa.after_tool(after)

    play(stage, say_it, extend)

    assert seen == ["2 requests, Notes"]


def test_what_waits_after_a_stop_is_not_said_when_a_function_was_called(stage: Stage) -> None:
    stage.server.begin([Answer(("Do", "ne."), fault=Fault("stall"))])
    seen: list[str] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def idle(_context: CommandContext) -> None:
            seen.append("idle")

        def follow(event: Event, context: ConversationContext) -> None:
            if isinstance(event, AgentEnd):
                context.when_idle(idle)

        kaa.on_event(follow)

    async def scene(hosted: HostedConversation) -> None:
        run = asyncio.ensure_future(say_it(hosted))
        await asyncio.to_thread(stage.server.wait_until_stalled)
        await hosted.work.say(user_message("later"))
        hosted.conversation.abort()
        await run
        await hosted.work.settled()
        seen.extend(message.text for message in await hosted.work.take_unsaid())

    play(stage, scene, extend)

    assert seen == ["idle", "later"]
    assert len(stage.server.requests) == 1


def test_a_function_that_fails_is_reported(stage: Stage) -> None:
    async def broken(_context: CommandContext) -> None:
        raise ValueError("no idea")

    async def work(context: CommandContext) -> None:
        context.when_idle(broken)

    in_a_command(stage, work)

    assert "ci.py: when_idle function failed: ValueError: no idea" in stage.notices[-1]


def test_hooks_switch_the_thinking_level_and_take_tools_from_the_model(stage: Stage) -> None:
    stage.server.begin([call("read", path="notes.txt"), say("Done.")])
    seen: list[object] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def after(_call: object, _result: object, context: ConversationContext) -> None:
            context.deactivate_tool("bash")
            context.naming.set_name("Notes")
            seen.extend(["bash" in context.active_tools, context.models.current.name, context.naming.name])

        kaa.after_tool(after)

    play(stage, say_it, extend)

    before, after = ([tool["function"]["name"] for tool in one.json["tools"]] for one in stage.server.requests)
    assert [name for name in before if name not in after] == ["bash"]
    assert seen == [False, "openai/m", "Notes"]
