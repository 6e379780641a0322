import pytest

from kaa.core import events, provider
from kaa.core.errors import EndlessReplyError
from kaa.core.messages import Cost, TextContent, ThinkingContent, ToolCall, Usage
from kaa.core.prices import price
from kaa.core.provider import Model, ModelRates, StreamEvent
from kaa.core.reply import ReplyBuilder
from tests.support.work import instructions

MODEL = Model(id="m", provider="p", api="a")


def build(*stream: StreamEvent) -> tuple[ReplyBuilder, list[events.AssistantMessageEvent]]:
    builder = ReplyBuilder(MODEL)
    return builder, [change for event in stream for change in builder.fold(event)]


def test_blocks_keep_the_order_in_which_they_began() -> None:
    builder, changes = build(
        provider.ThinkingChunk("t", "hm", signature="sig"),
        provider.TextChunk(0, "Let me "),
        provider.CallChunkStart(7, "c1", "read"),
        provider.TextChunk(0, "look."),
        provider.ArgumentsChunk(7, '{"path":'),
        provider.ArgumentsChunk(7, ' "a"}'),
        provider.StreamDone("toolUse"),
    )

    message = builder.message("toolUse")

    assert message.content == (
        ThinkingContent("hm", "sig"),
        TextContent("Let me look."),
        ToolCall("c1", "read", {"path": "a"}),
    )
    assert changes[-1] == events.ReplyDone("toolUse")
    ended = [change.content_index for change in changes if isinstance(change, events.TextEnd | events.ToolCallEnd)]
    assert sorted(ended) == [1, 2]


def test_a_block_ends_once() -> None:
    _, changes = build(
        provider.TextChunk(0, "a"),
        provider.BlockEnd(0),
        provider.BlockEnd(0),
        provider.BlockEnd(5),
        provider.StreamDone("stop"),
    )

    assert changes == [
        events.TextStart(0),
        events.TextDelta(0, "a"),
        events.TextEnd(0),
        events.ReplyDone("stop"),
    ]


def test_a_call_that_breaks_off_keeps_what_came_and_says_that_it_is_broken() -> None:
    builder, _ = build(
        provider.CallChunkStart(0, "c1", "write"), provider.ArgumentsChunk(0, '{"path": "a.py", "content": "imp')
    )

    (block,) = builder.message("aborted", "stopped").tool_calls

    assert block.arguments == {"path": "a.py", "content": "imp"}
    assert block.arguments_error is not None


def test_a_call_without_argument_text_has_no_arguments() -> None:
    builder, _ = build(provider.CallChunkStart(0, "c1", "list"), provider.StreamDone("toolUse"))

    assert builder.message("toolUse").tool_calls == [ToolCall("c1", "list", {})]


def test_usage_is_priced_where_prices_are_known() -> None:
    usage = Usage(input=1_000_000, output=500_000, cache_read=100_000, cache_write=0, total_tokens=1_600_000)

    priced = price(usage, ModelRates(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75))

    assert priced.cost == Cost(input=3.0, output=7.5, cache_read=0.03, cache_write=0.0, total=10.53)
    assert price(usage, None) == usage


def test_later_information_replaces_earlier() -> None:
    builder, _ = build(
        provider.ReplyInfo(response_id="r1", usage=Usage(input=5)),
        provider.TextChunk(0, "a"),
        provider.ReplyInfo(usage=Usage(input=5, output=2, total_tokens=7)),
        provider.StreamDone("stop"),
    )

    message = builder.message("stop")

    assert message.response_id == "r1"
    assert message.usage.total_tokens == 7


def test_what_is_kept_for_an_hour_costs_twice_the_input() -> None:
    rates = ModelRates(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)

    cost = price(Usage(cache_write=1_000_000, cache_write_1h=400_000), rates).cost

    assert cost.cache_write == 0.6 * 3.75 + 0.4 * 6.0
    assert cost.total == cost.cache_write


def work_of(stream: list[StreamEvent]) -> int:
    """How many instructions folding `stream` and asking for the message take."""
    return instructions(lambda: build(*stream)[0].message("toolUse"))


@pytest.mark.parametrize("ids", ["{0}", "same"])
def test_many_calls_cost_each_what_few_do(ids: str) -> None:
    def calls(count: int) -> list[StreamEvent]:
        started = [
            event
            for key in range(count)
            for event in (provider.CallChunkStart(key, ids.format(key), "ls"), provider.ArgumentsChunk(key, "{}"))
        ]
        return [*started, provider.StreamDone("toolUse")]

    few, many = work_of(calls(50)), work_of(calls(500))

    assert many <= 11 * few


def test_calls_that_came_with_one_id_get_their_own_whatever_others_are_called() -> None:
    builder, _ = build(
        *(provider.CallChunkStart(key, name, "ls") for key, name in enumerate(["c", "c_2", "c", "c", "c_2"]))
    )

    assert [call.id for call in builder.message("toolUse").tool_calls] == ["c", "c_2", "c_3", "c_4", "c_2_2"]


@pytest.mark.parametrize(
    "piece",
    [
        provider.TextChunk(0, "again "),
        provider.TextChunk(0, "", signature="again "),
        provider.TextChunk(0, ""),
        provider.ThinkingChunk(0, "again "),
        provider.ArgumentsChunk(0, "again "),
        provider.CallChunkStart(0, "", ""),
        provider.BlockEnd(0),
    ],
)
def test_a_reply_without_end_is_stopped_and_keeps_what_came(piece: StreamEvent) -> None:
    builder = ReplyBuilder(MODEL, most_characters=10_000)
    builder.fold(provider.TextChunk("first", "It begins."))

    with pytest.raises(EndlessReplyError, match="10,000 characters"):
        list(map(builder.fold, [piece] * 10_000))

    assert builder.message("error").text.startswith("It begins.")
