"""Replies of Anthropic's Messages, from Anthropic and from servers that imitate it."""

import msgspec
import pytest

from kaa.core.errors import (
    BadRequestError,
    ContextOverflowError,
    MalformedStreamError,
    OverloadedError,
    ProviderError,
    RateLimitError,
)
from kaa.core.messages import Json, StopReason, Usage
from kaa.core.provider import (
    ArgumentsChunk,
    BlockEnd,
    CallChunkStart,
    ReplyInfo,
    StreamDone,
    StreamEvent,
    TextChunk,
    ThinkingChunk,
)
from kaa.llm.anthropic.reply import MessageParser
from kaa.llm.http.sse import SseEvent
from kaa.llm.wire import Peer
from tests.support.tables import each

_PEER = Peer("anthropic", "claude", "api.anthropic.com")


def _feed(parser: MessageParser, *events: Json) -> list[StreamEvent]:
    for event in events:
        parser.accept(SseEvent(event["type"], msgspec.json.encode(event)))
    return parser.drain()


def _reply(*events: Json) -> list[StreamEvent]:
    parser = MessageParser(_PEER, call_id_prefix="call_7")
    fed = _feed(parser, *events)
    parser.finish()
    return fed + parser.drain()


def _start(index: int, **block: Json) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, **delta: Json) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _text(text: str, index: int = 0) -> Json:
    return _delta(index, type="text_delta", text=text)


def _end(index: int) -> Json:
    return {"type": "content_block_stop", "index": index}


def _stop(reason: str, **usage: Json) -> Json:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage or None}


_OVER: Json = {"type": "message_stop"}


def test_deltas_that_arrive_together_travel_together() -> None:
    parser = MessageParser(_PEER)

    first = _feed(parser, _start(0, type="text", text=""), *[_text("word ")] * 1000)
    second = _feed(parser, _text("end"), _end(0))

    assert first == [TextChunk(0, "word " * 1000)]
    assert second == [TextChunk(0, "end"), BlockEnd(0)]


def test_thinking_carries_its_signature() -> None:
    events = _reply(
        _start(0, type="thinking", thinking="", signature=""),
        _delta(0, type="thinking_delta", thinking="h"),
        _delta(0, type="thinking_delta", thinking="m"),
        _delta(0, type="signature_delta", signature="c2ln"),
        _end(0),
        _start(1, type="redacted_thinking", data="ZW5j"),
        _end(1),
        _stop("end_turn"),
    )

    assert events == [
        ThinkingChunk(0, "hm", "c2ln"),
        BlockEnd(0),
        ThinkingChunk(1, "", "ZW5j", redacted=True),
        BlockEnd(1),
        StreamDone("stop"),
    ]


def test_arguments_arrive_as_text() -> None:
    events = _reply(
        _start(0, type="tool_use", id="toolu_1", name="bash", input={}),
        _delta(0, type="input_json_delta", partial_json=""),
        _delta(0, type="input_json_delta", partial_json='{"x"'),
        _delta(0, type="input_json_delta", partial_json=":1}"),
        _end(0),
        _stop("tool_use"),
        _OVER,
    )

    assert events == [
        CallChunkStart(0, "toolu_1", "bash"),
        ArgumentsChunk(0, '{"x":1}'),
        BlockEnd(0),
        StreamDone("toolUse"),
    ]


def test_arguments_given_at_the_start_are_taken_unless_parts_follow() -> None:
    whole = _start(0, type="tool_use", id="a", name="bash", input={"x": 1})

    alone = _reply(whole, _end(0), _stop("end_turn"))
    followed = _reply(whole, _delta(0, type="input_json_delta", partial_json="{}"), _end(0), _stop("tool_use"))

    assert alone[1:] == [ArgumentsChunk(0, '{"x":1}'), BlockEnd(0), StreamDone("toolUse")]
    assert followed[1] == ArgumentsChunk(0, "{}")


def test_a_call_without_an_id_gets_one() -> None:
    assert _reply(_start(0, type="tool_use", name="bash"), _stop("tool_use"))[0] == CallChunkStart(
        0, "call_7_1", "bash"
    )


def test_a_block_that_never_started_is_text() -> None:
    assert _reply(_text("hi"), _stop("end_turn"))[0] == TextChunk(0, "hi")


def test_unknown_events_blocks_and_deltas_are_ignored() -> None:
    events = _reply(
        {"type": "ping"},
        {"type": "invented_later", "delta": {"type": "x"}},
        _start(0, type="server_tool_use", id="s", name="web_search", input={}),
        _delta(0, type="input_json_delta", partial_json="{}"),
        _end(0),
        _start(1, type="text", text="a", citations=[]),
        _delta(1, type="citations_delta", citation={"x": 1}),
        _end(1),
        _stop("end_turn"),
        _OVER,
    )

    assert events == [TextChunk(1, "a"), BlockEnd(1), StreamDone("stop")]


@each(
    ("sent", "understood"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "toolUse"),
        ("invented_later", "stop"),
    ],
)
def test_stop_reasons(sent: str, understood: StopReason) -> None:
    assert _reply(_text("x"), _stop(sent))[-1] == StreamDone(understood)


def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "explanation": "this may harm"}

    with pytest.raises(BadRequestError, match="this may harm"):
        _reply({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}})


def test_usage_is_the_latest_of_each_count() -> None:
    usage = {"input_tokens": 60, "output_tokens": 1, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 5}
    start = {"type": "message_start", "message": {"id": "msg_1", "model": "claude-x", "usage": usage}}

    events = _reply(start, _stop("end_turn", output_tokens=9, cache_read_input_tokens=None, input_tokens=0), _OVER)

    assert events[:3] == [
        ReplyInfo("msg_1", "claude-x"),
        ReplyInfo(usage=Usage(60, 1, 40, 5, total_tokens=106)),
        ReplyInfo(usage=Usage(60, 9, 40, 5, total_tokens=114)),
    ]


def test_a_missing_last_event_is_forgiven_once_the_reason_is_known() -> None:
    assert _reply(_text("a"), _stop("end_turn"))[-1] == StreamDone("stop")


def test_a_stream_that_just_ends_is_no_reply() -> None:
    with pytest.raises(MalformedStreamError, match="ended its answer before it was complete"):
        _reply(_text("half"))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, OverloadedError),
        ({"type": "api_error", "message": "Internal server error"}, OverloadedError),
        ({"type": "rate_limit_error", "message": "slow down"}, RateLimitError),
        (
            {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"},
            ContextOverflowError,
        ),
        ({"type": "invalid_request_error", "message": "messages.0: empty"}, BadRequestError),
    ],
)
def test_an_error_within_the_stream_has_its_type(error: Json, kind: type[ProviderError]) -> None:
    parser = MessageParser(_PEER)

    with pytest.raises(ProviderError) as caught:
        _feed(parser, _text("half"), {"type": "error", "error": error})

    assert type(caught.value) is kind
    assert error["message"] in str(caught.value)
    assert parser.drain() == [TextChunk(0, "half")]


@pytest.mark.parametrize(
    "line", [b'{"type": "content_block_del', b'{"type":"content_block_delta","index":"x"}', b"\xff", b'"x"']
)
def test_a_line_that_cannot_be_read_is_quoted(line: bytes) -> None:
    with pytest.raises(MalformedStreamError, match=r"api\.anthropic\.com sent a part of an answer that cannot be read"):
        MessageParser(_PEER).accept(SseEvent("content_block_delta", line))


def test_a_reply_in_one_piece_is_read() -> None:
    parser = MessageParser(_PEER)
    content = [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "a", "name": "bash", "input": {"x": 1}}]
    usage = {"input_tokens": 3, "output_tokens": 1}
    reply = {"type": "message", "id": "m", "content": content, "stop_reason": "tool_use", "usage": usage}

    parser.accept_whole(msgspec.json.encode(reply))
    parser.finish()

    assert parser.drain() == [
        ReplyInfo("m"),
        ReplyInfo(usage=Usage(3, 1, 0, 0, total_tokens=4)),
        TextChunk(0, "hi"),
        BlockEnd(0),
        CallChunkStart(1, "a", "bash"),
        ArgumentsChunk(1, '{"x":1}'),
        BlockEnd(1),
        StreamDone("toolUse"),
    ]


def test_json_that_is_no_reply_is_refused() -> None:
    with pytest.raises(MalformedStreamError, match="something other than a model's answer"):
        MessageParser(_PEER).accept_whole(b'{"hello":"world"}')
    with pytest.raises(MalformedStreamError, match="an answer that cannot be read"):
        MessageParser(_PEER).accept_whole(b'{"content":"text"}')
    with pytest.raises(OverloadedError, match="Overloaded"):
        MessageParser(_PEER).accept_whole(
            b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
        )


@pytest.mark.parametrize(("told", "counted"), [(300, 300), (900, 500)])
def test_what_is_kept_for_an_hour_is_told_apart(told: int, counted: int) -> None:
    """Never more than was written at all, or the rest would have a negative price."""
    written = {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": told}
    usage = {"input_tokens": 60, "output_tokens": 1, "cache_creation_input_tokens": 500, "cache_creation": written}
    start = {"type": "message_start", "message": {"id": "msg_1", "model": "claude-x", "usage": usage}}

    events = _reply(start, _stop("end_turn", output_tokens=9), _OVER)

    assert ReplyInfo(usage=Usage(60, 9, 0, 500, total_tokens=569, cache_write_1h=counted)) in events
