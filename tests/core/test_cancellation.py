"""A run may be stopped anywhere; what is left is always a conversation that can be sent, kept and continued."""

import asyncio
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest

from kaa.core.agent import AgentConfig
from kaa.core.errors import NetworkError, OverloadedError
from kaa.core.events import AgentEnd, AgentStart, Event, MessageEnd, MessageStart
from kaa.core.history import repair
from kaa.core.hooks import FixedHooks
from kaa.core.messages import AssistantMessage, Message, ToolCall, ToolResultMessage, UserMessage
from kaa.core.retry import RetryPolicy
from kaa.core.tool import Tool, ToolResult, ToolRun, text_result
from kaa.llm.scripted import ScriptItem, reply
from kaa.session.context import SessionContext, build_context
from kaa.session.library.finding import SessionLibrary
from kaa.session.recorder import SessionRecorder
from kaa.session.store import MemoryStore, SessionStore
from tests.support.agents import Scene, run, say, tool
from tests.support.sessions import opened

_QUICK = AgentConfig(retry=RetryPolicy(base_seconds=0.0))


def _working(name: str, steps: int, *, sequential: bool = False) -> Tool[ToolRun]:
    """A tool that takes a few rounds of the event loop and shows something in each."""

    async def work(tool_run: ToolRun) -> ToolResult:
        for step in range(steps):
            tool_run.update(f"{name} {step}\n")
            await asyncio.sleep(0)
        return text_result(name)

    return tool(name, work, sequential=sequential)


def _script() -> list[ScriptItem]:
    """A run with everything in it: thinking, parallel and sequential tools, failures before and within a reply."""
    return [
        reply(["Let me", " see."], thinking="hmm", tool_calls=[("short", {}, "a"), ("long", {}, "b")], before=[0.0]),
        OverloadedError("busy"),
        reply("half", after=[0.0, NetworkError("reset")]),
        reply("Again.", tool_calls=[("alone", {}, "c"), ("short", {}, "d")]),
        reply(tool_calls=[("nowhere", {}, "e"), ("short", '{"trunc', "f")]),
        reply(["All ", "done."], before=[0.0]),
        reply("And that, too."),
    ]


class _Play:
    """The run of the script, recorded as a session records it, with messages that were queued on the way."""

    def __init__(self, store: SessionStore | None = None) -> None:
        tools = (_working("short", 1), _working("long", 4), _working("alone", 2, sequential=True))
        self.scene = Scene(_script(), *tools, config=_QUICK)
        self.agent = self.scene.agent
        self.store = store or MemoryStore("/project")
        self.recorder = SessionRecorder(self.store, SessionContext())
        self.agent.subscribe(self.recorder.record)
        self.agent.follow_up(say("and the other thing?"))
        self.agent.steer(say("be quick"))

    def check(self, prompts: Sequence[str]) -> None:
        """What holds however a run came to its end."""
        events, messages = self.scene.events, list(self.agent.messages)
        assert [event.message for event in events if isinstance(event, MessageEnd)] == messages
        assert list(build_context(self.store).messages) == messages
        assert sum(isinstance(event, AgentStart) for event in events) == sum(isinstance(e, AgentEnd) for e in events)
        assert isinstance(events[-1], AgentEnd)
        assert not self.agent.is_running
        begun = sum(isinstance(event, MessageStart) for event in events)
        assert begun == len(messages), "a message that began has ended"
        _assert_sendable(repair(messages))
        said = [message for message in messages if isinstance(message, UserMessage)]
        assert [_text(message) for message in said if _text(message) in prompts] == list(prompts)
        waiting = [_text(message) for message in self.agent.clear_queues()]
        assert sorted([*waiting, *map(_text, said)]) == sorted([*prompts, "and the other thing?", "be quick"])


def _assert_sendable(messages: Sequence[Message]) -> None:
    """Every call has its one result directly behind it, and nothing else has one."""
    pending: list[str] = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            assert pending
            assert message.tool_call_id == pending.pop(0)
        else:
            assert not pending
            pending = [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
        assert message.content
    assert not pending


def _assert_goes_on(play: _Play) -> None:
    """The next run is given all that was said, and its request begins with what the last one had sent."""
    before = [tuple(request.messages) for request in play.scene.provider.requests]
    play.scene.provider.append(*[reply("ok")] * 8)
    end = run(play.agent.run(say("go on")))
    assert end.reason == "done"
    sent = play.scene.provider.requests[len(before)].messages
    if before:
        assert tuple(sent[: len(before[-1])]) == before[-1]
    _assert_sendable(sent)


def _text(message: UserMessage) -> str:
    assert not isinstance(message.content, str)
    return "".join(getattr(block, "text", "") for block in message.content)


def test_aborting_at_any_event_leaves_a_conversation_that_goes_on() -> None:
    for index in count():
        play = _Play()

        if not _run_aborted_at(play, index):
            assert index > 50, "the script has many events"
            return

        play.check(["go"])
        _assert_goes_on(play)


def test_a_session_file_knows_what_the_agent_knows_wherever_it_was_aborted(tmp_path: Path) -> None:
    for index in count():
        store = SessionLibrary("/project", tmp_path).create()
        play = _Play(store)

        aborted = _run_aborted_at(play, index)
        run(play.recorder.close())

        with opened(store.path) as again:
            assert list(build_context(again).messages) == list(play.agent.messages)
        if not aborted:
            return


def _run_aborted_at(play: _Play, index: int) -> bool:
    """Abort as the event of this number is seen. Returns whether there was such an event."""
    aborted: list[Event] = []
    seen = count()

    def abort(event: Event) -> None:
        if next(seen) == index:
            aborted.append(event)
            play.agent.abort()

    async def scenario() -> AgentEnd:
        end = await play.agent.run(say("go"))
        await asyncio.sleep(0)  # whoever awaited the run is not cancelled in its place
        return end

    play.agent.subscribe(abort)
    end = run(scenario())
    assert end.reason == "aborted" or not (aborted and play.scene.provider.remaining)
    return bool(aborted)


@pytest.mark.parametrize("cancel", [True, False], ids=["cancelled from outside", "aborted"])
def test_stopping_at_any_await_leaves_a_conversation_that_goes_on(cancel: bool) -> None:
    for rounds in count(1):
        play = _Play()

        if not run(_stopped_after(play, rounds, cancel=cancel)):
            assert rounds > 20, "the script waits many times"
            return

        play.check(["go"])
        _assert_goes_on(play)


async def _stopped_after(play: _Play, rounds: int, *, cancel: bool) -> bool:
    """Stop the run after so many rounds of the event loop. Returns whether it was still running then."""
    running = asyncio.create_task(play.agent.run(say("go")))
    for _ in range(rounds):
        await asyncio.sleep(0)
    if running.done():
        return False
    if cancel:
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        play.agent.abort()
        assert (await running).reason == "aborted"
    return True


def test_a_tool_that_has_ended_when_the_run_is_stopped_is_not_said_to_be_unfinished() -> None:
    async def stopped_by_the_answer(_call: ToolCall, _result: ToolResult) -> None:
        scene.agent.abort()
        await asyncio.sleep(0)

    hooks = FixedHooks(after=(stopped_by_the_answer,))
    scene = Scene([reply(tool_calls=[("work", {}, "a")])], _working("work", 1), hooks=hooks)

    end = run(scene.agent.run(say("go")))

    [result] = [message for message in end.messages if isinstance(message, ToolResultMessage)]
    assert end.reason == "aborted"
    assert result.text.startswith("work 0")
    assert "It finished." in result.text
