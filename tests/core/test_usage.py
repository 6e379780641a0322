"""The window is measured without going through everything, and what fills it is told."""

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

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
from kaa.core.usage import ContextMeter, ContextParts, Spent, context_parts, estimate, plausible


def reply(
    usage: Usage = Usage(),  # noqa: B008 - frozen
    text: str = "",
    stop: Literal["stop", "error", "aborted"] = "stop",
) -> AssistantMessage:
    return AssistantMessage((TextContent(text),), "api", "p", "m", usage, stop)


class Watched(list[Message]):
    """A conversation that counts how many messages are taken out of it together."""

    taken = 0

    def __getitem__(self, at: Any) -> Any:
        part = super().__getitem__(at)
        self.taken += len(part) if isinstance(at, slice) else 0
        return part

    def __iter__(self) -> Iterator[Message]:
        self.taken += len(self)
        return super().__iter__()


def test_the_hit_rate_is_the_part_of_the_input_that_was_cached() -> None:
    assert Spent(Usage(input=10, cache_read=30, cache_write=20)).cache_hit_rate == 0.5
    assert Spent().cache_hit_rate is None


def test_nobody_uses_less_than_nothing_or_more_than_can_be_counted() -> None:
    usual = Usage(3, 4, 5, 6, 18, Cost(0.1, total=0.1), cache_write_1h=2)
    hostile = Usage(-5, 10**400, -1, 10**30, -7, Cost(-1.0, total=float("inf")), cache_write_1h=-2)

    repaired = plausible(hostile)

    assert plausible(usual) == usual
    assert (repaired.input, repaired.cache_read, repaired.total_tokens, repaired.cost.input) == (0, 0, 0, 0.0)
    assert repaired.cache_write_1h is UNSET
    assert 0 < repaired.output == repaired.cache_write < 10**15
    assert 0 < repaired.cost.total < 1e12


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

    def test_asking_again_looks_at_what_is_new_however_long_the_conversation_is(self) -> None:
        messages = Watched(user_message("x" * 40) for _ in range(1000))
        meter = ContextMeter(0)
        meter.measure(messages, 1_000_000)
        messages.taken = 0

        for _ in range(10):
            messages.append(reply(text="y" * 40))
            meter.measure(messages, 1_000_000)

        assert meter.measure(messages, 1_000_000).tokens == 10_100
        assert messages.taken == 10

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
