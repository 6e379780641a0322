import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest

from kaa.core import events
from kaa.core.agent import AgentBusyError, AgentConfig
from kaa.core.errors import AuthError, NetworkError, OverloadedError, RateLimitError
from kaa.core.events import (
    AgentEnd,
    AgentStart,
    AutoRetryEnd,
    AutoRetryStart,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    QueueUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnEnd,
    TurnStart,
)
from kaa.core.hooks import Continue, FixedHooks, GiveUp
from kaa.core.loop import RunLimits
from kaa.core.messages import AssistantMessage, ToolResultMessage, UserMessage
from kaa.core.provider import TextChunk
from kaa.core.queues import DrainMode
from kaa.core.retry import RetryPolicy
from kaa.core.tool import ToolResult, ToolRun, text_result
from kaa.llm.scripted import Pause, ScriptedReply, reply
from tests.support.agents import Scene, run, say, tool

QUICK = AgentConfig(retry=RetryPolicy(base_seconds=0.0))


def test_a_question_gets_its_answer() -> None:
    scene = Scene([reply(text=["Hel", "lo"])])

    end = run(scene.agent.run(say("hi")))

    assert end.reason == "done"
    assert [type(event) for event in scene.events] == [
        AgentStart,
        MessageStart,
        MessageEnd,
        TurnStart,
        MessageStart,
        MessageUpdate,
        MessageUpdate,
        MessageUpdate,
        MessageUpdate,
        MessageUpdate,
        MessageEnd,
        TurnEnd,
        AgentEnd,
    ]
    deltas = [update.assistant_message_event for update in scene.of(MessageUpdate)]
    assert [delta.delta for delta in deltas if isinstance(delta, events.TextDelta)] == ["Hel", "lo"]
    assert isinstance(end.messages[-1], AssistantMessage)
    assert end.messages[-1].text == "Hello"


def test_tools_run_until_the_model_stops() -> None:
    scene = Scene(
        [
            reply(text="Looking.", tool_calls=[("echo", {"text": "one"})]),
            reply(tool_calls=[("echo", {"text": "two"}), ("echo", {"text": "three"})]),
            reply(text="Done."),
        ]
    )

    end = run(scene.agent.run(say("go")))

    assert end.reason == "done"
    results = [message.text for message in end.messages if isinstance(message, ToolResultMessage)]
    assert results == ["one", "two", "three"]
    assert [event.turn for event in scene.of(TurnStart)] == [1, 2, 3]
    assert [len(request.messages) for request in scene.provider.requests] == [1, 3, 6]


def test_what_was_sent_stays_a_prefix_of_what_is_sent_next() -> None:
    script = [reply(tool_calls=[("echo", {"text": str(index)})]) for index in range(20)]
    scene = Scene([*script, reply(text="Done.")])

    run(scene.agent.run(say("go")))

    requests = scene.provider.requests
    for earlier, later in pairwise(requests):
        assert tuple(later.messages)[: len(earlier.messages)] == tuple(earlier.messages)
        assert (later.system, later.tools) == (earlier.system, earlier.tools)


def test_results_are_recorded_as_they_finish_and_sent_in_source_order() -> None:
    slow_may_end = asyncio.Event()

    async def slow(_: ToolRun) -> ToolResult:
        await slow_may_end.wait()
        return text_result("slow")

    async def fast(_: ToolRun) -> ToolResult:
        return text_result("fast")

    scene = Scene(
        [reply(tool_calls=[("slow", {}), ("fast", {})]), reply(text="Done.")], tool("slow", slow), tool("fast", fast)
    )

    async def scenario() -> list[str]:
        running = asyncio.create_task(scene.agent.run(say("go")))
        while not scene.of(ToolExecutionEnd):
            await asyncio.sleep(0)
        recorded = [message.text for message in scene.agent.messages if isinstance(message, ToolResultMessage)]
        slow_may_end.set()
        await running
        return recorded

    recorded_while_slow_ran = run(scenario())

    assert recorded_while_slow_ran == ["fast"]
    sent = [message for message in scene.provider.requests[1].messages if isinstance(message, ToolResultMessage)]
    assert [message.text for message in sent] == ["slow", "fast"]


@pytest.mark.parametrize(("mode", "expected"), [("one-at-a-time", [["a"], ["b"]]), ("all", [["a", "b"]])])
def test_steering_reaches_the_model_before_its_next_reply(mode: DrainMode, expected: list[list[str]]) -> None:
    scene = Scene(
        [reply(tool_calls=[("echo", {"text": "x"})]), *(reply(text="ok") for _ in expected)],
        config=AgentConfig(steering_mode=mode),
    )

    def steer_during_first_tool(event: Event) -> None:
        if isinstance(event, ToolExecutionStart):
            scene.agent.steer(say("a"))
            scene.agent.steer(say("b"))

    scene.agent.subscribe(steer_during_first_tool)
    run(scene.agent.run(say("go")))

    later = scene.provider.requests[1:]
    seen = [list(request.messages) for request in later]
    new = [seen[0][3:], *([seen[1][len(seen[0]) + 1 :]] if len(seen) > 1 else [])]
    texts = [[_text(message) for message in group if isinstance(message, UserMessage)] for group in new]
    assert texts == expected


def test_follow_ups_are_given_when_the_model_would_stop() -> None:
    scene = Scene([reply(text="first"), reply(text="second")])
    scene.agent.follow_up(say("and then?"))

    end = run(scene.agent.run(say("go")))

    assert [_text(message) for message in end.messages if isinstance(message, UserMessage)] == ["go", "and then?"]
    assert scene.of(QueueUpdate)[-1].follow_up == ()


@pytest.mark.parametrize(("mode", "turns"), [("one-at-a-time", 3), ("all", 2)])
def test_follow_ups_are_given_one_by_one_or_all_at_once(mode: DrainMode, turns: int) -> None:
    scene = Scene([reply(text="ok")] * turns, config=AgentConfig(follow_up_mode=mode))
    scene.agent.follow_up(say("a"))
    scene.agent.follow_up(say("b"))

    end = run(scene.agent.run(say("go")))

    assert [_text(message) for message in end.messages if isinstance(message, UserMessage)] == ["go", "a", "b"]
    assert scene.provider.remaining == 0


def test_messages_are_taken_back_the_last_one_first() -> None:
    scene = Scene([])
    for text in ("a", "b"):
        scene.agent.steer(say(text))

    taken = [scene.agent.dequeue() for _ in range(3)]

    assert [message and _text(message) for message in taken] == ["b", "a", None]


def test_queued_messages_can_be_taken_back() -> None:
    scene = Scene([])
    scene.agent.steer(say("steer"))
    scene.agent.follow_up(say("later"))

    last = scene.agent.dequeue()
    rest = scene.agent.clear_queues()

    assert last is not None
    assert _text(last) == "later"
    assert [_text(message) for message in rest] == ["steer"]
    assert scene.of(QueueUpdate)[-1] == QueueUpdate((), ())


def test_a_second_run_at_the_same_time_is_refused() -> None:
    pause = Pause()
    scene = Scene([reply(text="hi", before=[pause])])

    async def scenario() -> None:
        running = asyncio.create_task(scene.agent.run(say("one")))
        await pause.reached.wait()
        with pytest.raises(AgentBusyError):
            await scene.agent.run(say("two"))
        pause.until.set()
        await running

    run(scenario())


@pytest.mark.parametrize(
    ("limits", "reason"), [(RunLimits(max_turns=2), "max_turns"), (RunLimits(max_messages=4), "max_messages")]
)
def test_caps_end_a_run_that_would_go_on(limits: RunLimits, reason: str) -> None:
    scene = Scene([reply(tool_calls=[("echo", {"text": "x"})])] * 5, config=AgentConfig(limits=limits))

    end = run(scene.agent.run(say("go")))

    assert end.reason == reason
    assert end.error is not None
    assert len(scene.provider.requests) == 2


def test_a_cap_does_not_spoil_a_run_that_ends_in_time() -> None:
    scene = Scene([reply(text="done")], config=AgentConfig(limits=RunLimits(max_turns=1)))

    assert run(scene.agent.run(say("go"))).reason == "done"


def test_a_reply_cut_off_by_the_output_limit_is_not_a_success() -> None:
    scene = Scene([reply(text="and so", stop_reason="length")])

    assert run(scene.agent.run(say("go"))).reason == "length"


class TestRetry:
    def test_transient_errors_are_tried_again_and_seen(self) -> None:
        scene = Scene([OverloadedError("busy"), NetworkError("gone"), reply(text="ok")], config=QUICK)

        end = run(scene.agent.run(say("go")))

        assert end.reason == "done"
        assert [event.attempt for event in scene.of(AutoRetryStart)] == [1, 2]
        assert scene.of(AutoRetryEnd) == [AutoRetryEnd(success=True, attempt=2)]
        assert [type(message) for message in end.messages] == [UserMessage, AssistantMessage]

    def test_a_wrong_key_is_not_tried_again(self) -> None:
        scene = Scene([AuthError("wrong key")], config=QUICK)

        end = run(scene.agent.run(say("go")))

        assert (end.reason, end.error) == ("error", "wrong key")
        assert scene.of(AutoRetryStart) == []
        assert isinstance(end.messages[-1], AssistantMessage)
        assert end.messages[-1].error_message == "wrong key"

    def test_it_gives_up_after_the_last_attempt(self) -> None:
        scene = Scene([OverloadedError("busy")] * 6, config=QUICK)

        end = run(scene.agent.run(say("go")))

        assert end.reason == "error"
        assert len(scene.provider.requests) == 6
        assert scene.of(AutoRetryEnd) == [AutoRetryEnd(success=False, attempt=5, final_error="busy")]

    @pytest.mark.parametrize(
        "broken",
        [
            pytest.param(reply(usage=None), id="empty reply"),
            pytest.param(ScriptedReply((TextChunk("text", "half a sen"),)), id="early end"),
            pytest.param(reply(text="partial", after=[NetworkError("reset")]), id="error inside the stream"),
        ],
    )
    def test_a_broken_stream_is_tried_again(self, broken: object) -> None:
        scene = Scene([broken, reply(text="whole")], config=QUICK)  # type: ignore[list-item]  # parametrize loses it

        end = run(scene.agent.run(say("go")))

        assert end.reason == "done"
        first, second = scene.provider.requests
        assert first.messages == second.messages

    def test_what_a_failed_attempt_showed_is_kept_but_not_sent_again(self) -> None:
        scene = Scene([reply(text="partial", after=[NetworkError("reset")]), reply(text="whole")], config=QUICK)

        run(scene.agent.run(say("go")))

        replies = [message for message in scene.agent.messages if isinstance(message, AssistantMessage)]
        assert [(message.text, message.stop_reason) for message in replies] == [("partial", "error"), ("whole", "stop")]
        assert [len(request.messages) for request in scene.provider.requests] == [1, 1]

    def test_waiting_for_a_retry_can_be_aborted(self) -> None:
        scene = Scene([RateLimitError("slow down", retry_after=30)])

        async def scenario() -> AgentEnd:
            running = asyncio.create_task(scene.agent.run(say("go")))
            while not scene.of(AutoRetryStart):
                await asyncio.sleep(0)
            scene.agent.abort()
            return await running

        end = run(scenario())

        assert end.reason == "aborted"
        assert scene.of(AutoRetryStart)[0].delay_ms == 30_000
        assert scene.of(AutoRetryEnd) == [AutoRetryEnd(success=False, attempt=1, final_error="stopped by the user")]
        (turn,) = scene.of(TurnEnd)
        assert (turn.message.stop_reason, turn.message.text, turn.tool_results) == ("aborted", "", ())
        assert turn.message not in end.messages

    def test_delays_double_up_to_the_cap(self) -> None:
        policy = RetryPolicy()

        delays = [policy.delay(OverloadedError("busy"), attempt) for attempt in range(1, 7)]

        assert delays == [0.5, 1.0, 2.0, 4.0, 5.0, None]

    def test_a_server_that_asks_for_too_long_a_wait_is_not_waited_for(self) -> None:
        policy = RetryPolicy(max_retry_after=60)

        assert policy.delay(RateLimitError("later", retry_after=3), 1) == 3
        assert policy.delay(RateLimitError("tomorrow", retry_after=86_400), 1) is None


class TestAbort:
    def test_in_the_middle_of_a_reply_the_text_is_kept(self) -> None:
        pause = Pause()
        scene = Scene([reply(text="half a sen", after=[pause]), reply(text="Understood.")])

        async def scenario() -> AgentEnd:
            running = asyncio.create_task(scene.agent.run(say("go")))
            await pause.reached.wait()
            scene.agent.abort()
            await running
            return await scene.agent.run(say("shorter"))

        end = run(scenario())

        assert end.reason == "done"
        assert [(turn.turn, turn.message.text) for turn in scene.of(TurnEnd)] == [(1, "half a sen"), (1, "Understood.")]
        assert scene.provider.closed == 1
        sent = scene.provider.requests[1].messages
        assert [getattr(message, "text", None) for message in sent] == ["go", "half a sen", "shorter"]

    def test_in_the_middle_of_tools_every_call_gets_a_result(self) -> None:
        started = asyncio.Event()

        async def endless(run: ToolRun) -> ToolResult:
            run.update("so far so good\n")
            started.set()
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

        async def quick(_: ToolRun) -> ToolResult:
            return text_result("quick")

        calls: list[tuple[str, dict[str, object]]] = [("quick", {}), ("endless", {})]
        scene = Scene([reply(tool_calls=calls), reply(text="ok")], tool("endless", endless), tool("quick", quick))

        async def scenario() -> AgentEnd:
            running = asyncio.create_task(scene.agent.run(say("go")))
            await started.wait()
            scene.agent.abort()
            first = await running
            await scene.agent.run(say("go on"))
            return first

        end = run(scenario())

        assert end.reason == "aborted"
        turn = scene.of(TurnEnd)[0]
        assert sorted(result.tool_name for result in turn.tool_results) == ["endless", "quick"]
        results = {m.tool_name: m for m in end.messages if isinstance(m, ToolResultMessage)}
        assert results["quick"].text == "quick"
        assert results["endless"].is_error
        assert results["endless"].text.startswith("so far so good\n")
        sent = scene.provider.requests[1].messages
        assert [m.tool_name for m in sent if isinstance(m, ToolResultMessage)] == ["quick", "endless"]

    def test_cancelling_the_task_from_outside_is_not_swallowed(self) -> None:
        pause = Pause()
        scene = Scene([reply(text="hi", after=[pause])])

        async def scenario() -> None:
            running = asyncio.create_task(scene.agent.run(say("go")))
            await pause.reached.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

        run(scenario())

        assert scene.of(AgentEnd)[0].reason == "aborted"
        assert not scene.agent.is_running


def test_a_subscriber_that_fails_ends_the_run_with_its_error() -> None:
    class DiskFullError(OSError):
        pass

    def recorder(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd):
            raise DiskFullError("no space left")

    scene = Scene([reply(tool_calls=[("echo", {"text": "a"}), ("echo", {"text": "b"})])])
    scene.agent.subscribe(recorder)

    with pytest.raises(DiskFullError):
        run(scene.agent.run(say("go")))


def _text(message: object) -> str:
    assert isinstance(message, UserMessage)
    assert not isinstance(message.content, str)
    return "".join(getattr(block, "text", "") for block in message.content)


class TestBeforeTheEnd:
    """Hooks that do not let a run end yet."""

    @staticmethod
    def scene(texts: Sequence[str], demands: Sequence[str | Continue | GiveUp | None]) -> Scene:
        wanted = list(demands)

        async def demand(_reply: AssistantMessage) -> Continue | GiveUp | None:
            wants = wanted.pop(0) if wanted else None
            return Continue(wants) if isinstance(wants, str) else wants

        return Scene([reply(text=text) for text in texts], hooks=FixedHooks(before_end=(demand,)))

    def test_the_run_goes_on_with_the_reason(self) -> None:
        scene = self.scene(["done", "really done"], ["the tests fail", None])

        end = run(scene.agent.run(say("go")))

        assert end.reason == "done"
        said = [(message.text, message.origin) for message in end.messages if isinstance(message, UserMessage)]
        assert said == [("go", "person"), ("the tests fail", "hook")]

    def test_hooks_that_never_have_enough_are_limited(self) -> None:
        scene = self.scene(["done"] * 20, ["more"] * 20)

        end = run(scene.agent.run(say("go")))

        assert (end.reason, end.error) == (
            "max_continuations",
            "stopped after hooks continued the run 10 times, the limit",
        )
        assert len(scene.provider.requests) == 11

    def test_progress_counts_from_the_beginning(self) -> None:
        scene = self.scene(["done"] * 30, [*[Continue("more")] * 10, Continue("next", progress=True), *["more"] * 20])

        assert run(scene.agent.run(say("go"))).reason == "max_continuations"
        assert len(scene.provider.requests) == 22

    def test_hooks_can_give_up(self) -> None:
        scene = self.scene(["done", "done"], ["the tests fail", GiveUp("they still fail"), "more"])

        end = run(scene.agent.run(say("go")))

        assert (end.reason, end.error) == ("unfinished", "they still fail")
        assert len(scene.provider.requests) == 2

    def test_they_say_how_the_run_ends(self) -> None:
        scene = self.scene(["done"], [GiveUp("they fail", "unverified")])

        assert run(scene.agent.run(say("go"))).reason == "unverified"

    def test_a_word_of_the_person_counts_from_the_beginning(self) -> None:
        scene = self.scene(["done"] * 20, [*["more"] * 9, *["more"] * 9, None])

        def steer(event: Event) -> None:
            if isinstance(event, TurnStart) and event.turn == 9:
                scene.agent.steer(say("go on"))

        scene.agent.subscribe(steer)

        assert run(scene.agent.run(say("go"))).reason == "done"

    def test_a_run_that_ends_otherwise_is_not_continued(self) -> None:
        asked: list[str] = []

        async def demand(reply: AssistantMessage) -> Continue | None:
            asked.append(reply.text)
            return Continue("more")

        scene = Scene([reply(text="cut", stop_reason="length")], hooks=FixedHooks(before_end=(demand,)))

        assert run(scene.agent.run(say("go"))).reason == "length"
        assert asked == []


def test_what_failed_last_and_was_never_answered_is_told() -> None:
    async def fail(_run: ToolRun) -> ToolResult:
        return text_result("running\n2 tests failed\n", is_error=True)

    fails, calls = tool("fails", fail), reply(tool_calls=[("fails", {})])
    unread = Scene([calls], fails, config=AgentConfig(limits=RunLimits(max_turns=1)))
    read = Scene([calls, reply(text="They fail.")], fails)

    stopped, answered = run(unread.agent.run(say("test"))), run(read.agent.run(say("test")))

    assert stopped.unread_errors == ("fails: 2 tests failed",)
    assert stopped.remarks == ("failed last: fails: 2 tests failed",)
    assert answered.remarks == ()
