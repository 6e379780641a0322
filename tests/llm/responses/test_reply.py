"""Replies of Responses, from OpenAI and Azure, and from servers that imitate them."""

import contextlib
from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.errors import (
    AuthError,
    BadRequestError,
    ContextOverflowError,
    MalformedStreamError,
    OverloadedError,
    ProviderError,
    QuotaError,
    RateLimitError,
)
from kaa.core.messages import AssistantMessage, Json, TextContent, ThinkingContent, ToolCall, Usage
from kaa.core.provider import BlockEnd, CallChunkStart, Model, ReplyInfo, StreamDone, StreamEvent, TextChunk
from kaa.core.reply import ReplyBuilder
from kaa.llm.http.sse import SseDecoder, SseEvent
from kaa.llm.responses.reply import ResponseParser
from kaa.llm.wire import Peer
from tests.support.model_script import Answer, Call, Tokens
from tests.support.model_wire import render
from tests.support.tables import each

_PEER = Peer("openai", "model-1", "api.openai.com", ("very-secret-key",))
_WIRE: Final = "openai-responses"
_COMPLETED = {"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}}


def _parser() -> ResponseParser:
    return ResponseParser(_PEER, call_id_prefix="call_7")


def _feed(parser: ResponseParser, *events: Json) -> list[StreamEvent]:
    for event in events:
        data = event if isinstance(event, bytes) else msgspec.json.encode(event)
        parser.accept(SseEvent("", data))
    return parser.drain()


def _reply(*events: Json) -> list[StreamEvent]:
    parser = _parser()
    seen = _feed(parser, *events)
    parser.finish()
    return seen + parser.drain()


def _message(*events: Json) -> AssistantMessage:
    return _built(_reply(*events))


def _built(events: list[StreamEvent]) -> AssistantMessage:
    builder = ReplyBuilder(Model("model-1", "openai", "openai-responses"))
    for event in events:
        builder.fold(event)
    assert builder.stop_reason is not None
    return msgspec.structs.replace(builder.message(builder.stop_reason), timestamp=0)


def _item(change: str, item: Json, index: int | None = 0) -> Json:
    place = {} if index is None else {"output_index": index}
    return {"type": f"response.output_item.{change}", **place, "item": item}


def _text(delta: str, **place: Json) -> Json:
    return {"type": "response.output_text.delta", "delta": delta, **place}


def _said(text: str, **rest: Json) -> Json:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **rest}


def _call(call_id: str | None, arguments: Json = "", **rest: Json) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": "read", "arguments": arguments, **rest}


def _arguments(delta: str, **place: Json) -> Json:
    return {"type": "response.function_call_arguments.delta", "delta": delta, **place}


def _summary(delta: str, part: int = 0, **place: Json) -> Json:
    return {"type": "response.reasoning_summary_text.delta", "delta": delta, "summary_index": part, **place}


def _ended(**response: Json) -> Json:
    return {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", **response}}


_REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "First"}, {"type": "summary_text", "text": "Then"}],
    "encrypted_content": "c2VhbGVk",
}


def test_a_whole_reply_keeps_what_its_model_needs_back() -> None:
    stream = render(Answer(text=("he", "llo"), thinking=("hm", "m"), calls=(Call("read", '{"p":1}', "call_1"),)), _WIRE)
    decoder, parser = SseDecoder(), _parser()

    for event in decoder.feed(b"".join(part.data for part in stream)):
        parser.accept(event)
    parser.finish()

    assert parser.finished
    message = _built(parser.drain())
    thought, said, call = message.content
    assert isinstance(thought, ThinkingContent)
    assert thought.thinking == "hmm"
    assert msgspec.json.decode(thought.thinking_signature or "")["encrypted_content"] == "c2VhbGVk"
    assert said == TextContent("hello", '{"v":1,"id":"msg_1"}')
    assert call == ToolCall("call_1|fc_1", "read", {"p": 1})
    assert (message.stop_reason, message.response_id) == ("toolUse", "resp_1")


def test_deltas_that_arrive_together_travel_together() -> None:
    parser = _parser()

    first = _feed(parser, *[_text("word ", output_index=0)] * 1000)
    second = _feed(parser, _text("end", output_index=0), _COMPLETED)
    parser.finish()

    assert first == [TextChunk(1, "word " * 1000)]
    assert [e for e in (*second, *parser.drain()) if not isinstance(e, ReplyInfo)] == [
        TextChunk(1, "end"),
        BlockEnd(1),
        StreamDone("stop"),
    ]


def test_the_parts_of_a_summary_are_paragraphs() -> None:
    message = _message(
        _item("added", {"type": "reasoning", "id": "rs_1", "summary": []}),
        _summary("Fir"),
        _summary("st"),
        _summary("Then", 1),
        _item("done", _REASONING),
        _COMPLETED,
    )

    [thought] = message.content
    assert isinstance(thought, ThinkingContent)
    assert thought.thinking == "First\n\nThen"
    assert msgspec.json.decode(thought.thinking_signature or "") == _REASONING


def test_reasoning_told_twice_is_taken_once() -> None:
    whole = {"type": "response.reasoning_text.delta", "delta": "all of it", "content_index": 0}

    message = _message(_summary("First"), whole, _summary(" of all"), _COMPLETED)

    assert message.content == (ThinkingContent("First of all"),)


def test_reasoning_that_comes_encrypted_only_at_the_end_is_kept_whole() -> None:
    """As Azure was seen to send it."""
    bare = {key: value for key, value in _REASONING.items() if key != "encrypted_content"}

    message = _message(
        _item("added", {**bare, "summary": []}),
        _item("done", bare),
        _item("added", _said(""), 1),
        _text("yes", output_index=1),
        _ended(output=[_REASONING, _said("yes")]),
    )

    thought, said = message.content
    assert isinstance(thought, ThinkingContent)
    assert msgspec.json.decode(thought.thinking_signature or "") == _REASONING
    assert said == TextContent("yes")


def test_the_phase_of_a_message_is_kept() -> None:
    message = _message(_item("done", _said("On it.", id="msg_1", phase="commentary")), _COMPLETED)

    assert message.content == (TextContent("On it.", '{"v":1,"id":"msg_1","phase":"commentary"}'),)


def test_a_refusal_is_read_as_text() -> None:
    refusal = {"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "I will not."}]}

    message = _message(
        _item("added", {**refusal, "content": []}),
        {"type": "response.refusal.delta", "delta": "I will ", "output_index": 0},
        _item("done", refusal),
        _COMPLETED,
    )

    assert message.text == "I will not."


def test_usage_is_counted_without_what_the_cache_gave_or_took() -> None:
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 1050,
    }

    message = _message(_text("x"), _ended(usage=usage, model="model-1-2026"))

    assert message.usage == Usage(300, 50, 600, 100, total_tokens=1050)
    assert message.response_model == "model-1-2026"


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete"}, "length"),
        ({"status": "completed"}, "stop"),
        ({}, "stop"),
    ],
)
def test_why_it_stopped(response: Json, reason: str) -> None:
    status = response.get("status", "completed")

    assert _reply(_text("x"), {"type": f"response.{status}", "response": response})[-1] == StreamDone(reason)  # type: ignore[arg-type]


def test_a_call_that_was_cut_off_is_no_reason_to_use_tools() -> None:
    events = _reply(
        _item("added", _call("call_1", id="fc_1")),
        _arguments('{"p":', output_index=0),
        {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}},
    )

    assert events[-1] == StreamDone("length")
    [call] = _built(events).tool_calls
    assert call.arguments_error


# ---- servers that imitate OpenAI ----------------------------------------------------------------------


def test_llama_cpp_names_items_by_id_alone() -> None:
    """Without any place; once a call had no id but its `call_id`."""
    message = _message(
        _item("added", {"type": "reasoning", "id": "rs_x", "summary": [], "content": []}, None),
        {"type": "response.reasoning_text.delta", "item_id": "rs_x", "delta": "hm"},
        _item("added", _said("", id="msg_x"), None),
        _text("ok", item_id="msg_x"),
        _item("added", _call("fc_a"), None),
        _arguments('{"p":', item_id="fc_a"),
        _item("added", _call("call_b", id="fc_b"), None),
        _arguments('{"q":2}', item_id="fc_b"),
        _arguments("1}", item_id="fc_a"),
        _item("done", {"type": "reasoning", "id": "rs_x", "content": [{"text": "hm"}], "encrypted_content": ""}, None),
        _item("done", _said("ok", id="msg_x"), None),
        _item("done", _call("fc_a", '{"p":1}'), None),
        _item("done", _call("call_b", '{"q":2}', id="fc_b"), None),
        _ended(output=[_said("ok", id="msg_x"), _call("fc_a", '{"p":1}'), _call("call_b", '{"q":2}', id="fc_b")]),
    )

    thought, said, *calls = message.content
    assert isinstance(thought, ThinkingContent)
    assert thought.thinking == "hm"
    assert isinstance(said, TextContent)
    assert said.text == "ok"
    assert calls == [ToolCall("fc_a", "read", {"p": 1}), ToolCall("call_b|fc_b", "read", {"q": 2})]


def test_items_that_change_their_ids_are_told_by_their_place() -> None:
    message = _message(
        _item("added", _call("call_1", id="a1"), 0),
        _item("added", _call("call_2", id="b1"), 1),
        _arguments('{"p":1}', output_index=0, item_id="a2"),
        _arguments('{"p":2}', output_index=1, item_id="b2"),
        _item("done", _call("call_1", '{"p":1}', id="a3"), 0),
        _item("done", _call("call_2", '{"p":2}', id="b3"), 1),
        _ended(output=[_call("call_1", '{"p":1}', id="a4"), _call("call_2", '{"p":2}', id="b4")]),
    )

    assert [(call.id, call.arguments) for call in message.tool_calls] == [
        ("call_1|a1", {"p": 1}),
        ("call_2|b1", {"p": 2}),
    ]


def test_items_that_all_have_the_same_place_are_told_apart() -> None:
    message = _message(
        _item("added", _call("call_1", id="fc_1"), 0),
        _arguments('{"p":1}', output_index=0),
        _item("done", _call("call_1", '{"p":1}', id="fc_1"), 0),
        _item("added", _call("call_2", id="fc_2"), 0),
        _arguments('{"p":2}', output_index=0),
        _item("done", _call("call_2", '{"p":2}', id="fc_2"), 0),
        _COMPLETED,
    )

    assert [call.arguments for call in message.tool_calls] == [{"p": 1}, {"p": 2}]


def test_a_stream_without_ends_of_items_is_complete_with_the_reply() -> None:
    message = _message(
        _item("added", {"type": "reasoning", "id": "rs_1", "summary": []}),
        _summary("First", output_index=0),
        _item("added", _call("call_1", id="fc_1"), 1),
        _arguments('{"p":', output_index=1),
        _ended(output=[_REASONING, _call("call_1", '{"p":1}', id="fc_1")]),
    )

    thought, call = message.content
    assert isinstance(thought, ThinkingContent)
    assert thought.thinking == "First\n\nThen"
    assert thought.thinking_signature is not None
    assert call == ToolCall("call_1|fc_1", "read", {"p": 1})


def test_a_stream_that_brings_everything_with_its_last_event() -> None:
    message = _message(_ended(output=[_REASONING, _said("yes", id="m"), _call("call_1", {"p": 1})]))

    assert [type(block) for block in message.content] == [ThinkingContent, TextContent, ToolCall]
    assert message.text == "yes"
    assert message.tool_calls[0].arguments == {"p": 1}


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "response.output_text.done", "text": "yes", "output_index": 0}],
        [{"type": "response.output_text.done", "text": "yes"}, _item("done", _said("yes"))],
        [_item("done", _said("yes"))],
        [_text("y", output_index=0), _item("done", _said("yes"))],
        [_text("yes", output_index=0), _item("done", _said("yes, and otherwise"))][:1],
    ],
)
def test_text_is_taken_once_however_it_comes(events: list[Json]) -> None:
    assert _message(_item("added", _said("")), *events, _COMPLETED).text == "yes"


def test_what_was_shown_is_not_taken_back() -> None:
    message = _message(
        _item("added", _call("call_1")),
        _arguments('{"p": 1}', output_index=0),
        _item("done", _call("call_1", '{"p":1}')),
        _text("One", output_index=1),
        _item("done", _said("Two"), 1),
        _COMPLETED,
    )

    assert message.tool_calls[0].arguments == {"p": 1}
    assert message.text == "One"


def test_calls_without_ids_are_given_some_and_with_the_same_id_others() -> None:
    message = _message(
        _item("done", _call(None, "{}"), 0),
        _item("done", _call("same", "{}"), 1),
        _item("done", _call("same", "{}"), 2),
        _COMPLETED,
    )

    ids = [call.id for call in message.tool_calls]
    assert ids[:2] == ["call_7_1", "same"]
    assert len(set(ids)) == 3


def test_a_call_whose_name_comes_late_begins_late() -> None:
    parser = _parser()

    before = _feed(parser, _item("added", {"type": "function_call"}), _arguments('{"p":1}', output_index=0))
    after = _feed(parser, _item("done", _call("call_1")), _COMPLETED)

    assert before == []
    assert after[0] == CallChunkStart(1, "call_1", "read")
    parser.finish()
    assert _built([*after, *parser.drain()]).tool_calls[0].arguments == {"p": 1}


def test_events_and_items_kaa_does_not_know_are_left_alone() -> None:
    message = _message(
        {"type": "response.created", "response": {"id": "resp_9", "tools": [{"type": "function"}]}},
        {"type": "response.queued"},
        {"type": "keepalive"},
        {"hello": 1},
        _item("added", {"type": "web_search_call", "id": "ws_1"}),
        _item("added", None, 1),
        _item("done", {"type": "web_search_call", "id": "ws_1"}),
        {"type": "response.content_part.added", "part": {"type": "output_text"}},
        {"type": "response.output_text.annotation.added", "annotation": {}},
        _text("x", output_index=2),
        _ended(output=[{"type": "web_search_call"}, None, _said("x")]),
    )

    assert message.content == (TextContent("x"),)


def test_the_name_of_an_event_may_stand_outside_of_it() -> None:
    parser = _parser()

    parser.accept(SseEvent("response.output_text.delta", b'{"delta": "x"}'))
    parser.accept(SseEvent("response.completed", b"{}"))
    parser.finish()

    assert _built(parser.drain()).text == "x"


def test_a_done_mark_ends_a_reply_without_a_last_event() -> None:
    assert _reply(_text("x"), b"[DONE]")[-1] == StreamDone("stop")


# ---- replies in one piece -----------------------------------------------------------------------------


def _whole(body: Json) -> AssistantMessage:
    parser = _parser()
    parser.accept_whole(msgspec.json.encode(body))
    parser.finish()
    return _built(parser.drain())


def test_a_reply_in_one_piece() -> None:
    message = _whole({"object": "response", "status": "completed", "output": [_REASONING, _said("yes", id="m")]})

    assert [type(block) for block in message.content] == [ThinkingContent, TextContent]
    assert message.stop_reason == "stop"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"hello": "world"}, MalformedStreamError),
        ({"object": "response", "status": "in_progress", "output": []}, MalformedStreamError),
        ({"status": "completed", "output": "text"}, MalformedStreamError),
        ({"error": {"message": "busy", "code": 503}}, OverloadedError),
        ({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow down"}}, RateLimitError),
    ],
)
def test_a_body_that_is_no_reply(body: Json, kind: type[ProviderError]) -> None:
    with pytest.raises(kind):
        _whole(body)


# ---- failures -----------------------------------------------------------------------------------------


def _failed(code: str | None, message: str = "no very-secret-key") -> Json:
    return {"type": "response.failed", "response": {"status": "failed", "error": {"code": code, "message": message}}}


@each(
    ("event", "kind"),
    [
        (_failed("server_error"), OverloadedError),
        (_failed("rate_limit_exceeded"), RateLimitError),
        (_failed("insufficient_quota"), QuotaError),
        (_failed("context_length_exceeded"), ContextOverflowError),
        (_failed("invalid_prompt"), BadRequestError),
        (_failed("invalid_base64_image"), BadRequestError),
        ({"type": "response.failed", "response": {}}, OverloadedError),
        ({"type": "response.cancelled", "response": {"status": "cancelled"}}, OverloadedError),
        ({"type": "error", "code": "invalid_api_key", "message": "no very-secret-key"}, AuthError),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "x"}}, RateLimitError),
        ({"error": {"message": "overloaded"}}, OverloadedError),
        (
            {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "content_filter"}}},
            BadRequestError,
        ),
    ],
)
def test_failures_within_a_stream_are_typed_and_keep_what_came(event: Json, kind: type[ProviderError]) -> None:
    parser = _parser()

    with pytest.raises(ProviderError) as caught:
        _feed(parser, _text("so far"), event)

    assert type(caught.value) is kind
    assert "very-secret-key" not in str(caught.value)
    assert TextChunk(1, "so far") in parser.drain()


@pytest.mark.parametrize(
    "data",
    [
        b'{"type": "response.output_text.delta", "del',
        b'{"type": "response.output_item.done", "item": {"type": 1}}',
        b"[1]",
        b"\xff",
        b"[" * 5000,
    ],
)
def test_what_is_no_part_of_a_reply_is_quoted(data: bytes) -> None:
    with pytest.raises(MalformedStreamError, match=r"api\.openai\.com sent a part of an answer that cannot be read"):
        _feed(_parser(), data)


def test_a_stream_that_ends_early_is_no_reply() -> None:
    parser = _parser()
    _feed(parser, _text("x"))

    with pytest.raises(MalformedStreamError, match="ended its answer before it was complete"):
        parser.finish()


# ---- any stream ---------------------------------------------------------------------------------------

_PIECES = st.lists(st.text(min_size=1, max_size=5), max_size=3).map(tuple)
_ANSWERS = st.builds(
    Answer,
    text=_PIECES,
    thinking=_PIECES,
    calls=st.lists(
        st.dictionaries(st.text(max_size=3), st.text(max_size=5), max_size=2).map(
            lambda arguments: Call("read", msgspec.json.encode(arguments).decode())
        ),
        max_size=3,
    ).map(tuple),
    usage=st.builds(Tokens, st.integers(10, 20), st.integers(0, 10), st.integers(0, 9)),
    stop=st.sampled_from([None, "length"]),
)


@given(_ANSWERS, st.lists(st.integers(0, 4000), max_size=6))
def test_however_the_stream_is_cut_the_reply_is_the_same(answer: Answer, cuts: list[int]) -> None:
    stream = b"".join(event.data for event in render(answer, _WIRE))
    ends = [*sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    parser, decoder = _parser(), SseDecoder()
    events: list[StreamEvent] = []

    for start, end in zip([0, *ends], ends, strict=False):
        for event in decoder.feed(stream[start:end]):
            parser.accept(event)
        events += parser.drain()
    parser.finish()

    message = _built([*events, *parser.drain()])
    assert message.text == "".join(answer.text)
    thoughts = [block.thinking for block in message.content if isinstance(block, ThinkingContent)]
    assert "".join(thoughts) == "".join(answer.thinking)
    assert [call.arguments for call in message.tool_calls] == [msgspec.json.decode(c.arguments) for c in answer.calls]
    assert all(call.arguments_error is None for call in message.tool_calls)
    assert message.usage.input + message.usage.cache_read == answer.usage.prompt if answer.usage else True


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["text", "id"]), inner),
    max_leaves=5,
)
_FIELDS = (
    *("output_index", "summary_index", "content_index", "item_id", "delta", "text"),
    *("refusal", "arguments", "item", "response", "error", "part"),
)
_KINDS = [
    "response.created",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.output_text.done",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.done",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.completed",
    "error",
    "",
]
_ITEMS = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "reasoning", "function_call", "else"])},
    optional=dict.fromkeys(("id", "call_id", "name", "arguments", "content", "summary"), _JUNK),
)
_EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(_KINDS)},
    optional=dict.fromkeys(_FIELDS, _JUNK) | {"item": _ITEMS, "delta": st.text(max_size=4)},
)


@given(st.lists(_EVENTS, max_size=8))
def test_whatever_comes_is_a_reply_or_a_typed_error(events: list[Json]) -> None:
    parser = _parser()

    with contextlib.suppress(ProviderError):
        _feed(parser, *events)
        parser.finish()

    builder = ReplyBuilder(Model("m", "p", _WIRE))
    for event in parser.drain():
        builder.fold(event)
    for call in builder.message("stop").tool_calls:
        assert call.id
