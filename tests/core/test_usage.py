"""Tokens and money add up, what is not known is said, and the window is measured without going through everything."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.events import AgentStart, MessageEnd
from kaa.core.messages import (
    AssistantMessage,
    Cost,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
    user_message,
)
from kaa.core.provider import ToolSchema
from kaa.core.usage import ContextMeter, ContextParts, Spent, UsageTally, context_parts, estimate


def reply(
    usage: Usage = Usage(),  # noqa: B008 - frozen
    text: str = "",
    stop: Literal["stop", "error", "aborted"] = "stop",
    model: str = "m",
) -> AssistantMessage:
    return AssistantMessage((TextContent(text),), "api", "p", model, usage, stop)


def priced(tokens: int, dollars: float) -> Usage:
    return Usage(input=tokens, output=0, cost=Cost(total=dollars))


def tally() -> UsageTally:
    return UsageTally(lambda _, model: model == "free")


class TestTally:
    def test_a_turn_begins_anew_and_the_total_goes_on(self) -> None:
        counted = tally()

        for usage in (priced(10, 0.25), priced(20, 0.5)):
            counted.observe(AgentStart())
            counted.observe(MessageEnd(reply(usage)))
            counted.observe(MessageEnd(reply(usage)))

        assert (counted.reply.usage.input, counted.turn.usage.input, counted.total.usage.input) == (20, 40, 60)
        assert (counted.turn.cost, counted.total.cost) == (1.0, 1.5)

    def test_what_others_say_costs_nothing(self) -> None:
        counted = tally()

        counted.observe(MessageEnd(user_message("hello")))

        assert counted.total == Spent()

    def test_one_unknown_price_makes_the_cost_unknown(self) -> None:
        counted = tally()

        counted.observe(MessageEnd(reply(priced(10, 0.25))))
        counted.observe(MessageEnd(reply(Usage(input=5))))

        assert counted.total.cost is None
        assert counted.total.unpriced == 1
        assert counted.total.usage.cost.total == 0.25

    def test_a_model_that_is_known_to_be_free_costs_nothing(self) -> None:
        counted = tally()

        counted.observe(MessageEnd(reply(Usage(input=5), model="free")))

        assert counted.total.cost == 0.0

    def test_a_reply_without_figures_is_counted_as_such(self) -> None:
        counted = tally()

        counted.observe(MessageEnd(reply(text="half a rep", stop="aborted")))

        assert (counted.total.unmeasured, counted.total.cost) == (1, 0.0)

    def test_earlier_replies_count_for_the_session_and_not_for_the_turn(self) -> None:
        counted = tally()

        counted.recall([(priced(1, 0.5), "p", "m"), (priced(2, 0.5), "p", "m")])

        assert (counted.total.cost, counted.turn.cost, counted.reply.usage.input) == (1.0, 0.0, 2)


def test_the_hit_rate_is_the_part_of_the_input_that_was_cached() -> None:
    assert Spent(Usage(input=10, cache_read=30, cache_write=20)).cache_hit_rate == 0.5
    assert Spent().cache_hit_rate is None


class TestContext:
    def test_without_a_figure_everything_is_estimated(self) -> None:
        use = ContextMeter(100).measure([user_message("x" * 40)], 1000)

        assert (use.tokens, use.measured) == (110, False)
        assert use.share == 0.11

    def test_the_servers_figure_counts_and_what_follows_is_added(self) -> None:
        measured = reply(Usage(input=500, cache_read=200, output=50))
        result = ToolResultMessage("c", "read", (TextContent("y" * 80),), is_error=False)

        use = ContextMeter(100).measure([user_message("x" * 4000), measured, result], 1000)

        assert (use.tokens, use.measured) == (770, True)

    @pytest.mark.parametrize("stop", ["error", "aborted"])
    def test_figures_of_replies_that_broke_off_are_not_trusted(self, stop: Literal["error", "aborted"]) -> None:
        broken = reply(Usage(input=9, output=1), "z" * 8, stop)

        use = ContextMeter(0).measure([user_message("x" * 40), broken], 1000)

        assert use.tokens == (10 if stop == "error" else 12)  # what failed is not sent again; text that was read is

    def test_another_conversation_is_measured_anew(self) -> None:
        meter = ContextMeter(0)
        meter.measure([user_message("x" * 400)], 1000)

        assert meter.measure([user_message("x" * 4)], 1000).tokens == 1

    @given(st.lists(st.tuples(st.sampled_from(["user", "measured", "silent"]), st.integers(1, 50)), max_size=12))
    def test_asking_after_each_message_gives_what_asking_at_the_end_gives(self, plan: list[tuple[str, int]]) -> None:
        messages: list[Message] = []
        meter = ContextMeter(7)
        use = meter.measure(messages, 1000)
        for kind, size in plan:
            messages.append(
                user_message("x" * size)
                if kind == "user"
                else reply(Usage(input=size * (kind == "measured")), "a" * size)
            )
            use = meter.measure(messages, 1000)

        assert use == ContextMeter(7).measure(list(messages), 1000)


def test_parts_say_what_a_request_consists_of() -> None:
    call = ToolCall("c", "read", {"path": "a"})
    said = AssistantMessage(
        (ThinkingContent("t" * 8), TextContent("r" * 12), call), "api", "p", "m", Usage(), "toolUse"
    )
    picture = ToolResultMessage("c", "read", (TextContent("x" * 16), ImageContent("", "image/png")), is_error=False)

    parts = context_parts("s" * 20, [ToolSchema("read", "Read", {})], [UserMessage("u" * 24), said, picture])

    assert parts == ContextParts(5, 3, 6, 3, 2, 1 + 3, 4, 1200)
    assert parts.total == 5 + 3 + 6 + 3 + 2 + 4 + 4 + 1200
    assert estimate(said) == 3 + 2 + 4
