"""Getting a reply although models fail, servers send nothing, and budgets end."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec
import pytest

from kaa.core.agent import Agent, AgentConfig
from kaa.core.budget import Budget, BudgetExhaustedError, Ledger
from kaa.core.errors import (
    AuthError,
    BadRequestError,
    ContextOverflowError,
    OverloadedError,
    ProviderError,
    QuotaError,
    StalledStreamError,
)
from kaa.core.events import AgentEnd, AutoRetryEnd, AutoRetryStart, MessageUpdate, ReplyFailed, TurnStart
from kaa.core.hooks import FixedHooks, GiveUp, ReplaceMessages
from kaa.core.messages import AssistantMessage, Cost, ToolResultMessage, Usage
from kaa.core.provider import Model, ModelRates, ReplyInfo, Request, StreamDone, StreamEvent, TextChunk
from kaa.core.reply import MOST_CHARACTERS
from kaa.core.retry import RetryPolicy
from kaa.core.stream_timeouts import StreamTimeouts
from kaa.core.tool import ToolResult, ToolRun, text_result
from kaa.llm.scripted import ScriptedProvider, ScriptedReply, ScriptItem, reply
from tests.support.agents import MODEL, Scene, run, say, tool

QUICK = RetryPolicy(base_seconds=0.0)
PRICED = msgspec.structs.replace(MODEL, cost=ModelRates(input=1.0, output=1000.0))
OTHER = msgspec.structs.replace(MODEL, id="other")


class Free(Ledger):
    """Lets all requests pass that `admit` lets pass."""

    @asynccontextmanager
    async def reserve(self, request: Request, *, ask: bool = True) -> AsyncIterator[Request]:
        """See `Allowance`."""
        yield request


class StandIn:
    """Puts scripts of replies in the place of models that were given up, one after another."""

    def __init__(self, agent: Agent, *scripts: Sequence[ScriptItem]) -> None:
        self._agent = agent
        self._scripts = list(scripts)
        self.errors: list[ProviderError] = []

    async def take_over(self, error: ProviderError) -> bool:
        self.errors.append(error)
        if not self._scripts:
            return False
        self._agent.use(OTHER, ScriptedProvider(self._scripts.pop(0)))
        return True


def replies(scene: Scene) -> list[tuple[str, str, str]]:
    return [
        (message.model, message.text, message.stop_reason)
        for message in scene.agent.messages
        if isinstance(message, AssistantMessage)
    ]


class TestFallback:
    @pytest.mark.parametrize("error", [AuthError("key"), QuotaError("broke")])
    def test_another_model_takes_over_within_the_turn(self, error: ProviderError) -> None:
        scene = Scene([error], config=AgentConfig(retry=QUICK))
        stand_in = StandIn(scene.agent, [reply(text="I do it.")])
        scene.agent.set_fallback(stand_in)

        end = run(scene.agent.run(say("go")))

        assert end.reason == "done"
        assert stand_in.errors == [error]
        assert replies(scene) == [("other", "I do it.", "stop")]
        assert [event.turn for event in scene.of(TurnStart)] == [1]

    def test_a_model_is_given_up_only_when_no_try_is_left(self) -> None:
        scene = Scene([OverloadedError("busy")] * 3, config=AgentConfig(retry=RetryPolicy(2, base_seconds=0)))
        scene.agent.set_fallback(StandIn(scene.agent, [OverloadedError("me too"), reply(text="ok")]))

        run(scene.agent.run(say("go")))

        assert len(scene.provider.requests) == 3
        assert [event.attempt for event in scene.of(AutoRetryStart)] == [1, 2, 1]
        assert [event.success for event in scene.of(AutoRetryEnd)] == [False, True]
        assert replies(scene) == [("other", "ok", "stop")]

    def test_what_the_first_one_wrote_is_kept_and_not_sent_on(self) -> None:
        scene = Scene([reply(text="half", after=[QuotaError("broke")])], config=AgentConfig(retry=QUICK))
        scene.agent.set_fallback(StandIn(scene.agent, [reply(text="whole")]))

        run(scene.agent.run(say("go")))

        assert replies(scene) == [("test-model", "half", "error"), ("other", "whole", "stop")]

    @pytest.mark.parametrize("error", [BadRequestError("wrong"), ContextOverflowError("too long")])
    def test_a_wrong_request_is_nothing_for_another_model(self, error: ProviderError) -> None:
        scene = Scene([error], config=AgentConfig(retry=QUICK))
        stand_in = StandIn(scene.agent, [reply(text="never")])
        scene.agent.set_fallback(stand_in)

        end = run(scene.agent.run(say("go")))

        assert (end.reason, end.error) == ("error", str(error))
        assert stand_in.errors == []

    def test_when_all_are_given_up_the_last_reason_is_told(self) -> None:
        scene = Scene([QuotaError("first")], config=AgentConfig(retry=QUICK))
        scene.agent.set_fallback(StandIn(scene.agent, [AuthError("second")]))

        end = run(scene.agent.run(say("go")))

        assert (end.reason, end.error) == ("error", "second")


class Endless:
    """Never stops."""

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        while True:
            yield TextChunk(0, "and on " * 100_000)


class Babbler:
    """A provider that says a word, and then sends nothing of its reply for ever."""

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        yield TextChunk("text", "Well")
        await asyncio.Event().wait()
        yield StreamDone("stop")


class TestPatience:
    @pytest.mark.parametrize(
        ("timeouts", "setting"),
        [
            (StreamTimeouts(reply_seconds=0.02), "retry.provider.timeoutMs"),
            (StreamTimeouts(silence_seconds=0.02), "retry.provider.silenceTimeoutMs"),
        ],
    )
    def test_a_reply_that_does_not_come_is_given_up_with_the_setting(
        self, timeouts: StreamTimeouts, setting: str
    ) -> None:
        scene = Scene([], config=AgentConfig(retry=RetryPolicy(max_attempts=0), timeouts=timeouts))
        scene.agent.use(MODEL, Babbler())

        end = run(scene.agent.run(say("go")))

        assert end.reason == "error"
        assert end.error is not None
        assert setting in end.error
        assert replies(scene) == [("test-model", "Well", "error")]

    def test_it_counts_as_a_stalled_stream_and_is_tried_again(self) -> None:
        scene = Scene([], config=AgentConfig(retry=QUICK, timeouts=StreamTimeouts(silence_seconds=0.02)))
        scene.agent.use(MODEL, Babbler())

        class Impatient:
            async def take_over(self, error: ProviderError) -> bool:
                assert isinstance(error, StalledStreamError)
                return False

        scene.agent.set_fallback(Impatient())
        run(scene.agent.run(say("go")))

        assert len(scene.of(AutoRetryStart)) == QUICK.max_attempts

    def test_a_stream_that_goes_on_is_left_alone(self) -> None:
        scene = Scene([reply(text=["a", "b"])], config=AgentConfig(timeouts=StreamTimeouts(20, 20)))

        assert run(scene.agent.run(say("go"))).reason == "done"


class TestEndlessReplies:
    def test_it_is_stopped_kept_and_not_asked_for_again(self) -> None:
        scene = Scene([], config=AgentConfig(retry=QUICK))
        scene.agent.use(MODEL, Endless())

        end = run(scene.agent.run(say("go")))

        assert end.reason == "error"
        assert end.error is not None
        assert "did not end" in end.error
        (message,) = [m for m in scene.agent.messages if isinstance(m, AssistantMessage)]
        assert message.text.startswith("and on and on")
        assert 0 < len(message.text) <= MOST_CHARACTERS
        assert scene.of(AutoRetryStart) == []


class TestErrorTypes:
    def failures(self, *script: ScriptItem) -> tuple[list[str | None], list[str | None]]:
        """The kinds of failures that retries and ends of replies tell of."""
        scene = Scene(script, config=AgentConfig(retry=RetryPolicy(1, base_seconds=0)))
        run(scene.agent.run(say("go")))
        changes = [event.assistant_message_event for event in scene.of(MessageUpdate)]
        retries = [event.error_type for event in scene.of(AutoRetryStart)]
        return retries, [change.error_type for change in changes if isinstance(change, ReplyFailed)]

    def test_programs_are_told_the_kind(self) -> None:
        assert self.failures(OverloadedError("busy"), AuthError("wrong key")) == (["OverloadedError"], ["AuthError"])

    def test_what_was_made_of_a_kind_elsewhere_is_of_that_kind(self) -> None:
        class VendorAuthError(AuthError):
            pass

        assert self.failures(VendorAuthError("wrong key")) == ([], ["AuthError"])


class TestBudget:
    def test_no_request_is_made_behind_the_end(self) -> None:
        script = [reply(tool_calls=[("echo", {"text": str(index)})]) for index in range(5)]
        scene = Scene(script)
        ledger = Ledger("run", Budget(turns=2))
        scene.agent.set_allowance(ledger)

        end = run(scene.agent.run(say("go")))

        assert (end.reason, end.error) == ("budget", "the budget is used up: 2 requests of the 2 requests for this run")
        assert len(scene.provider.requests) == 2
        assert isinstance(end.messages[-1], ToolResultMessage)  # what was begun is complete

    def test_what_broke_off_is_paid_for_too(self) -> None:
        used = Usage(input=7, output=2)
        scene = Scene(
            [
                reply(text="half", before=[ReplyInfo(usage=used)], after=[OverloadedError("busy")]),
                reply(text="whole", usage=used),
            ],
            config=AgentConfig(retry=QUICK),
        )
        ledger = Ledger("run")
        scene.agent.set_allowance(ledger)

        run(scene.agent.run(say("go")))

        assert (ledger.used.tokens, ledger.used.turns) == (18, 2)

    def test_limits_hold_where_a_server_does_not_say_what_it_used(self) -> None:
        calls = [[("echo", {"text": str(index)})] for index in range(9)]
        scene = Scene([reply(text="x" * 4000, tool_calls=call, usage=None) for call in calls])
        scene.agent.use(PRICED, scene.provider)
        ledger = Ledger("run", Budget(cost=3.5))  # a reply has about 1,000 tokens
        scene.agent.set_allowance(ledger)

        assert run(scene.agent.run(say("go"))).reason == "budget"
        assert len(scene.provider.requests) == 3

    @pytest.mark.parametrize("told", [None, Usage(input=20, output=1)])
    def test_the_text_of_replies_that_break_off_is_counted(self, told: Usage | None) -> None:
        """Anthropic reports the input and one token of output first, and the rest behind the end that never comes."""
        before = [ReplyInfo(usage=told)] if told else []
        broken = reply(text="word " * 8000, before=before, after=[OverloadedError("broke")])
        scene = Scene([broken] * 9, config=AgentConfig(retry=QUICK))
        ledger = Ledger("run", Budget(tokens=5000))
        scene.agent.set_allowance(ledger)

        end = run(scene.agent.run(say("go")))

        assert (end.reason, len(scene.provider.requests)) == ("budget", 1)
        assert 10_000 <= ledger.used.tokens < 10_200

    def test_an_empty_reply_that_the_server_counted_is_paid_for(self) -> None:
        silent = reply(usage=Usage(input=10, output=6000))
        scene = Scene([silent] * 9, config=AgentConfig(retry=QUICK))
        ledger = Ledger("run", Budget(tokens=5000))
        scene.agent.set_allowance(ledger)

        assert run(scene.agent.run(say("go"))).reason == "budget"
        assert len(scene.provider.requests) == 1

    def test_a_request_that_a_limit_of_money_cannot_pay_for_is_not_sent(self) -> None:
        scene = Scene([reply(text="never")])
        scene.agent.use(PRICED, scene.provider)
        scene.agent.set_allowance(Ledger("run", Budget(cost=1.0)))

        end = run(scene.agent.run(say("go")))

        assert end.reason == "budget"
        assert end.error is not None
        assert "the budget is too small for the next request: it can cost $1.02" in end.error
        assert "$1.00 of the $1.00 for this run are left" in end.error
        assert scene.provider.requests == []

    def test_a_reply_is_given_no_more_tokens_than_the_money_pays_for(self) -> None:
        def to_the_limit(request: Request) -> ScriptedReply:
            assert request.max_tokens is not None
            usage = Usage(input=50, output=request.max_tokens)
            return reply(text="and so", usage=usage, stop_reason="length")

        scene = Scene([to_the_limit])
        scene.agent.use(PRICED, scene.provider)
        ledger = Ledger("run", Budget(cost=2.0))
        scene.agent.set_allowance(ledger)

        end = run(scene.agent.run(say("go")))

        assert end.reason == "budget"
        assert end.error is not None
        assert "tokens for the reply" in end.error
        assert 1.9 < ledger.used.cost <= 2.0
        assert [text for _, text, _ in replies(scene)] == ["and so"]

    def test_what_requests_under_way_can_cost_is_not_spent_twice(self) -> None:
        async def scene() -> None:
            session = Ledger("session", Budget(cost=2.0))
            request = Request(PRICED, "", (say("go"),), max_tokens=1200)

            async def second() -> None:
                async with session.child().reserve(request) as same:
                    assert same is request

            async with session.child().reserve(request):
                waiting = asyncio.create_task(second())
                await asyncio.sleep(0)
                assert not waiting.done()
            await waiting  # the first one was never answered

            async with session.child().reserve(request):
                waiting = asyncio.create_task(second())
                await asyncio.sleep(0)
                session.charge(Usage(cost=Cost(total=1.2)), PRICED)
            with pytest.raises(BudgetExhaustedError, match=r"of the \$2.00 for this session"):
                await waiting

        run(scene())

    def test_what_was_never_answered_costs_nothing(self) -> None:
        scene = Scene([OverloadedError("busy"), reply(text="x", usage=Usage(1, 1))], config=AgentConfig(retry=QUICK))
        ledger = Ledger("run")
        scene.agent.set_allowance(ledger)

        run(scene.agent.run(say("go")))

        assert (ledger.used.tokens, ledger.used.turns) == (2, 1)

    def test_time_that_runs_out_ends_a_reply_and_keeps_what_came(self) -> None:
        scene = Scene([])
        scene.agent.use(MODEL, Babbler())
        ledger = Ledger("run", Budget(seconds=0.05))
        scene.agent.set_allowance(ledger)
        ledger.start_clock()

        end = run(scene.agent.run(say("go")))

        assert end.reason == "budget"
        assert replies(scene) == [("test-model", "Well", "aborted")]

    def test_time_that_runs_out_ends_the_wait_for_another_try(self) -> None:
        scene = Scene([OverloadedError("busy")], config=AgentConfig(retry=RetryPolicy(base_seconds=60, max_seconds=60)))
        ledger = Ledger("run", Budget(seconds=0.05))
        scene.agent.set_allowance(ledger)
        ledger.start_clock()

        assert run(scene.agent.run(say("go"))).reason == "budget"

    def test_who_is_given_more_time_asks_again(self) -> None:
        scene = Scene([reply(text="There.")])
        provider = scene.provider
        scene.agent.use(MODEL, Babbler())

        class Generous(Free):
            def __init__(self) -> None:
                super().__init__("run")
                self.asked = 0

            async def admit(self, *, ask: bool = True, model: Model | None = None) -> None:
                self.asked += 1
                if self.asked == 2:
                    scene.agent.use(MODEL, provider)

            def seconds_left(self) -> float | None:
                return None if self.asked > 1 else 0.05

        scene.agent.set_allowance(Generous())
        end = run(scene.agent.run(say("go")))

        assert end.reason == "done"
        assert [text for _, text, _ in replies(scene)] == ["Well", "There."]

    def test_a_run_whose_agent_was_ended_early_is_not_done(self) -> None:
        run_ledger = Ledger("run", Budget(cost=100.0))
        agent = run_ledger.child()

        async def work(_: ToolRun) -> ToolResult:
            huge = msgspec.structs.replace(PRICED, cost=ModelRates(output=1_000_000.0))
            with suppress(BudgetExhaustedError):
                await agent.reserve(Request(huge, "", ())).__aenter__()
            return text_result("The agent ended early.")

        scene = Scene([reply(tool_calls=[("agent", {})]), reply(text="Done.")], tool("agent", work))
        scene.agent.set_allowance(run_ledger)

        end = run(scene.agent.run(say("go")))

        assert end.reason == "budget"
        assert "the budget is too small for the next request" in (end.error or "")

    def test_who_refuses_is_quoted(self) -> None:
        class Refusing(Free):
            async def admit(self, *, ask: bool = True, model: Model | None = None) -> None:
                raise BudgetExhaustedError("no more of that")

        scene = Scene([reply(text="never")])
        scene.agent.set_allowance(Refusing("run"))

        end = run(scene.agent.run(say("go")))

        assert (end.reason, end.error) == ("budget", "no more of that")
        assert scene.of(AgentEnd) == [end]
        assert scene.provider.requests == []


class TestBeforeRequest:
    def test_a_hook_changes_what_is_sent_and_nothing_else(self) -> None:
        seen: list[tuple[str, ...]] = []

        async def shorten(request: Request) -> ReplaceMessages | None:
            seen.append(tuple(message.text for message in request.messages))
            return ReplaceMessages(tuple(request.messages[-1:]))

        async def look(request: Request) -> None:
            seen.append(tuple(message.text for message in request.messages))

        hooks = FixedHooks(before_request=(shorten, look))
        scene = Scene([reply(text="one"), reply(text="two")], hooks=hooks)

        run(scene.agent.run(say("first")))
        run(scene.agent.run(say("second")))

        assert seen[2:] == [("first", "one", "second"), ("second",)]
        assert [message.text for message in scene.provider.requests[-1].messages] == ["second"]
        assert [message.text for message in scene.agent.messages] == ["first", "one", "second", "two"]

    def test_it_sees_repeated_requests_too(self) -> None:
        seen: list[Request] = []

        async def look(request: Request) -> None:
            seen.append(request)

        script: list[ScriptItem] = [OverloadedError("busy"), reply(text="one")]
        scene = Scene(script, hooks=FixedHooks(before_request=(look,)), config=AgentConfig(retry=QUICK))

        assert run(scene.agent.run(say("first"))).reason == "done"
        assert len(seen) == 2

    def test_results_whose_calls_are_left_out_go_too(self) -> None:
        async def last(request: Request) -> ReplaceMessages:
            return ReplaceMessages((say("what was that?"), *request.messages[2:]))

        scene = Scene(
            [reply(tool_calls=[("echo", {"text": "hi"})]), reply(text="done")], hooks=FixedHooks(before_request=(last,))
        )

        assert run(scene.agent.run(say("first"))).reason == "done"
        assert [message.text for message in scene.provider.requests[-1].messages] == ["what was that?"]

    def test_a_hook_can_end_the_run_before_a_request(self) -> None:
        async def stop(request: Request) -> GiveUp | None:
            return GiveUp("it repeats itself", "loop") if len(request.messages) > 1 else None

        scene = Scene(
            [reply(tool_calls=[("echo", {"text": "hi"})]), reply(text="never"), reply(text="two")],
            hooks=FixedHooks(before_request=(stop,)),
        )

        end = run(scene.agent.run(say("first")))

        assert (end.reason, end.error) == ("loop", "it repeats itself")
        assert len(scene.provider.requests) == 1
        assert [type(message).__name__ for message in scene.agent.messages][-1] == "ToolResultMessage"

    @pytest.mark.parametrize("empty", [True, False])
    def test_a_failing_hook_keeps_the_request_from_being_sent(self, empty: bool) -> None:
        async def broken(_request: Request) -> ReplaceMessages:
            if empty:
                return ReplaceMessages(())
            raise ValueError("no idea")

        scene = Scene([reply(text="one")], hooks=FixedHooks(before_request=(broken,)))

        end = run(scene.agent.run(say("first")))

        why = "hooks of extensions left no message in it." if empty else "no idea"
        assert (end.reason, end.error) == ("error", f"The request was not sent: {why}")
        assert scene.provider.requests == []
