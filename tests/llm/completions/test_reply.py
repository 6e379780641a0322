"""Replies of Chat Completions, from OpenAI itself and from servers that imitate it."""

import msgspec
import pytest

from kaa.core.errors import (
    AuthError,
    BadRequestError,
    ContextOverflowError,
    MalformedStreamError,
    OverloadedError,
    ProviderError,
    RateLimitError,
)
from kaa.core.messages import Json, Usage
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
from kaa.llm.completions.reply import CompletionParser
from kaa.llm.http.sse import SseEvent
from kaa.llm.wire import Peer
from tests.support.tables import each

_PEER = Peer("local", "model-1", "localhost:8000", ("very-secret-key",))


def _parser() -> CompletionParser:
    return CompletionParser(_PEER, call_id_prefix="call_7")


def _feed(parser: CompletionParser, *chunks: Json) -> list[StreamEvent]:
    for chunk in chunks:
        data = chunk if isinstance(chunk, bytes) else msgspec.json.encode(chunk)
        parser.accept(SseEvent("", data))
    return parser.drain()


def _reply(*chunks: Json) -> list[StreamEvent]:
    parser = _parser()
    events = _feed(parser, *chunks)
    parser.finish()
    return events + parser.drain()


def _delta(finish_reason: str | None = None, **delta: Json) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _calls(*calls: Json, finish_reason: str | None = None) -> Json:
    return _delta(finish_reason, tool_calls=list(calls))


def _whole_call(name: str | None, arguments: Json, **rest: Json) -> Json:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **rest}


def _more(arguments: str) -> Json:
    return {"index": 0, "function": {"arguments": arguments}}


def _seen_calls(events: list[StreamEvent]) -> list[tuple[str, str, str]]:
    """Id, name and argument text of each call."""
    starts = {event.key: event for event in events if isinstance(event, CallChunkStart)}
    texts = dict.fromkeys(starts, "")
    for event in events:
        if isinstance(event, ArgumentsChunk):
            texts[event.key] += event.json
    return [(start.id, start.name, texts[key]) for key, start in starts.items()]


_STOP = _delta("stop")


def test_deltas_that_arrive_together_travel_together() -> None:
    parser = _parser()

    first = _feed(parser, *[_delta(content="word ")] * 1000)
    second = _feed(parser, _delta(content="end"), _STOP, b"[DONE]")
    parser.finish()

    assert first == [TextChunk(1, "word " * 1000)]
    assert [*second, *parser.drain()] == [TextChunk(1, "end"), BlockEnd(1), StreamDone("stop")]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_names_the_field_it_came_in(field: str) -> None:
    events = _reply(_delta(**{field: "hm"}), _delta(**{field: "m"}), _delta(content="yes"), _STOP)

    assert events == [
        ThinkingChunk(1, "hmm", field),
        BlockEnd(1),
        TextChunk(2, "yes"),
        BlockEnd(2),
        StreamDone("stop"),
    ]


def test_reasoning_sent_in_two_fields_is_taken_once() -> None:
    events = _reply(_delta(reasoning="hm", reasoning_content="hm"), _STOP)

    assert events[0] == ThinkingChunk(1, "hm", "reasoning_content")


def test_reasoning_after_text_is_a_block_of_its_own() -> None:
    events = _reply(_delta(content="a"), _delta(reasoning="b"), _delta(content="c"), _STOP)

    assert [type(event) for event in events if not isinstance(event, BlockEnd)] == [
        TextChunk,
        ThinkingChunk,
        TextChunk,
        StreamDone,
    ]


def test_content_as_a_list_of_parts_is_read() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}

    events = _reply(_delta(content=[thinking, {"type": "text", "text": "yes"}, {"type": "reference"}]), _STOP)

    assert events[0] == ThinkingChunk(1, "hm", "thinking")
    assert TextChunk(2, "yes") in events


def test_a_refusal_is_shown_as_text() -> None:
    assert _reply(_delta(refusal="I cannot."), _STOP)[0] == TextChunk(1, "I cannot.")


def test_arguments_in_fragments_are_passed_on() -> None:
    events = _reply(
        _calls(_whole_call("bash", "", index=0, id="a")),
        _calls({"index": 0, "function": {"arguments": '{"x"'}}),
        _calls({"index": 0, "function": {"arguments": ": 1}"}}),
        _delta("tool_calls"),
    )

    assert events == [CallChunkStart("call1", "a", "bash"), ArgumentsChunk("call1", '{"x": 1}'), StreamDone("toolUse")]


def test_fragments_of_parallel_calls_may_interleave() -> None:
    events = _reply(
        _calls(_whole_call("read", "", index=0, id="a"), _whole_call("bash", "", index=1, id="b")),
        _calls({"index": 1, "function": {"arguments": "{}"}}, {"index": 0, "function": {"arguments": '{"p"'}}),
        _calls({"index": 0, "function": {"arguments": ":1}"}}, finish_reason="tool_calls"),
    )

    assert _seen_calls(events) == [("a", "read", '{"p":1}'), ("b", "bash", "{}")]


@each(
    "chunks",
    [
        pytest.param([_calls(_whole_call("a", "{}"), _whole_call("b", "{}"))], id="no index, no id, one delta"),
        pytest.param([_calls(_whole_call("a", "{}")), _calls(_whole_call("b", "{}"))], id="no index, no id"),
        pytest.param(
            [_calls(_whole_call("a", "{}", index=0, id="")), _calls(_whole_call("b", "{}", index=1, id=""))],
            id="empty ids",
        ),
        pytest.param(
            [_calls(_whole_call("a", "{}", index=0, id=None)), _calls(_whole_call("b", "{}", index=1, id=None))],
            id="null ids",
        ),
        pytest.param([_calls(_whole_call("a", "{}", index=0), _whole_call("b", "{}", index=0))], id="one index, no id"),
        pytest.param(
            [_calls(_whole_call("a", "{}", index=0)), _calls(_whole_call("b", "{", index=0)), _calls(_more("}"))],
            id="one index, no id, in pieces",
        ),
        pytest.param(
            [
                _calls(_whole_call("a", "{}", index=0)),
                _calls(_whole_call("a", "\n", index=0)),
                _calls(_whole_call("b", "{}")),
            ],
            id="a name repeated with a blank",
        ),
    ],
)
def test_calls_without_ids_get_stable_ones(chunks: list[Json]) -> None:
    events = _reply(*chunks, _STOP)

    calls = [(call_id, name, arguments.strip()) for call_id, name, arguments in _seen_calls(events)]
    assert calls == [("call_7_1", "a", "{}"), ("call_7_2", "b", "{}")]
    assert events[-1] == StreamDone("toolUse")


@pytest.mark.parametrize("index", [0, None])
def test_whole_calls_that_share_an_index_are_told_apart_by_their_ids(index: int | None) -> None:
    events = _reply(
        _calls(_whole_call("read", '{"p":1}', index=index, id="a")),
        _calls(_whole_call("read", '{"p":2}', index=index, id="b")),
        _STOP,
    )

    assert _seen_calls(events) == [("a", "read", '{"p":1}'), ("b", "read", '{"p":2}')]


@each("ids", [("a", "a"), ("a", None), ("a", "b")])
@each("index", [0, None])
def test_a_name_repeated_with_each_fragment_is_one_call(index: int | None, ids: tuple[str, str | None]) -> None:
    events = _reply(
        _calls(_whole_call("bash", '{"x"', index=index, id=ids[0])),
        _calls(_whole_call("bash", ":1}", index=index, id=ids[1])),
        _STOP,
    )

    assert _seen_calls(events) == [("a", "bash", '{"x":1}')]


def test_arguments_as_an_object_are_taken() -> None:
    assert _seen_calls(_reply(_calls(_whole_call("bash", {"x": 1}, id="a")), _STOP)) == [("a", "bash", '{"x":1}')]


def test_a_name_that_comes_late_waits_for_nothing_else() -> None:
    events = _reply(
        _calls({"index": 0, "id": "a", "function": {"arguments": '{"x"'}}),
        _calls({"index": 0, "function": {"name": "bash", "arguments": ":1}"}}),
        _STOP,
    )

    assert _seen_calls(events) == [("a", "bash", '{"x":1}')]


def test_the_old_function_call_is_understood() -> None:
    events = _reply(
        _delta(function_call={"name": "bash", "arguments": ""}),
        _delta(function_call={"arguments": "{}"}),
        _delta("function_call"),
    )

    assert _seen_calls(events) == [("call_7_1", "bash", "{}")]
    assert events[-1] == StreamDone("toolUse")


@pytest.mark.parametrize(
    ("sent", "understood"),
    [("stop", "stop"), ("length", "length"), ("tool_calls", "toolUse"), ("eos", "stop"), ("max_tokens", "length")],
)
def test_stop_reasons(sent: str, understood: str) -> None:
    assert _reply(_delta(content="x"), _delta(sent))[-1] == StreamDone(understood)  # type: ignore[arg-type] # parametrized


def test_a_reply_cut_in_the_middle_of_a_call_stays_cut() -> None:
    events = _reply(_calls(_whole_call("bash", '{"x', id="a")), _delta("length"))

    assert events[-1] == StreamDone("length")


def test_usage_counts_cached_tokens_apart() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 400}}

    events = _reply(_STOP, {"id": "r", "model": "m", "choices": [], "usage": usage})

    assert ReplyInfo("r", "m", Usage(600, 20, 400, 0, total_tokens=1020)) in events


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}, Usage(6, 2, 4, 0, 12)),
        ({"prompt_tokens": 10, "completion_tokens": None, "prompt_tokens_details": None}, Usage(10, 0, 0, 0, 10)),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 2,
                "total_tokens": 17,
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(10, 7, 0, 0, 17),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cache_write_tokens": 3}},
            Usage(7, 2, 0, 3, 12),
        ),
    ],
)
def test_usage_in_the_dialects_of_servers(usage: Json, expected: Usage) -> None:
    in_choice = {"choices": [{"delta": {}, "finish_reason": "stop", "usage": usage}]}

    assert ReplyInfo(usage=expected) in _reply(_STOP, {"choices": [], "usage": usage})
    assert ReplyInfo(usage=expected) in _reply(in_choice)


def test_unknown_fields_events_and_other_drafts_are_ignored() -> None:
    other = {"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}

    events = _reply(
        {"obfuscation": "x", "choices": None},
        {"choices": [{"index": 0, "delta": {"content": "a", "new": {}}, "logprobs": {"x": []}}, other]},
        b"  ",
        _STOP,
    )

    assert events == [TextChunk(1, "a"), BlockEnd(1), StreamDone("stop")]


def test_an_end_mark_without_a_reason_is_an_end() -> None:
    assert _reply(_delta(content="a"), b"[DONE]")[-1] == StreamDone("stop")


def test_a_stream_that_just_ends_is_no_reply() -> None:
    parser = _parser()
    _feed(parser, _delta(content="half"))

    with pytest.raises(MalformedStreamError, match="localhost:8000 ended its answer before it was complete"):
        parser.finish()


@pytest.mark.parametrize("line", [b'{"choices": [', b"\xff\xfe", b'{"choices": 3}', b"null", b"[" * 100_000])
def test_a_line_that_cannot_be_read_is_quoted(line: bytes) -> None:
    with pytest.raises(MalformedStreamError, match="localhost:8000 sent a part of an answer that cannot be read") as e:
        _parser().accept(SseEvent("", line))

    assert len(str(e.value)) < 600


@each(
    ("error", "kind"),
    [
        ({"error": {"message": "slow down", "type": "rate_limit_error"}}, RateLimitError),
        ({"error": {"message": "oh", "code": 502}}, OverloadedError),
        ({"error": "something broke"}, OverloadedError),
        ({"error": {"message": "who are you", "code": "invalid_api_key"}}, AuthError),
        ({"error": {"message": "no such parameter", "type": "invalid_request_error"}}, BadRequestError),
        ({"error": {"message": "This model's maximum context length is 8192 tokens"}}, ContextOverflowError),
        ({"object": "error", "message": "worker died", "code": 500}, OverloadedError),
        (_delta("error"), OverloadedError),
        (_delta("content_filter"), BadRequestError),
    ],
)
def test_an_error_within_the_stream_has_its_type(error: Json, kind: type[ProviderError]) -> None:
    parser = _parser()
    _feed(parser, _delta(content="a"))

    with pytest.raises(ProviderError) as caught:
        _feed(parser, _delta(content="b"), error)

    assert type(caught.value) is kind
    # What came before the error in the same piece is not lost.
    assert TextChunk(1, "b") in parser.drain()


def test_an_error_event_needs_no_error_object() -> None:
    with pytest.raises(OverloadedError, match="out of memory"):
        _parser().accept(SseEvent("error", b'{"message": "out of memory"}'))


def test_a_reply_in_one_piece_is_read() -> None:
    parser = _parser()
    message = {"role": "assistant", "content": "hi", "tool_calls": [_whole_call("bash", "{}", id="a")]}
    usage = {"prompt_tokens": 3, "completion_tokens": 1}

    parser.accept_whole(
        msgspec.json.encode(
            {"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": usage}
        )
    )
    parser.finish()

    events = parser.drain()
    assert TextChunk(1, "hi") in events
    assert _seen_calls(events) == [("a", "bash", "{}")]
    assert events[-1] == StreamDone("toolUse")


def test_json_that_is_no_reply_is_refused() -> None:
    with pytest.raises(MalformedStreamError, match=r"something other than a model's answer: .*hello"):
        _parser().accept_whole(b'{"hello":"world"}')


def test_an_error_in_place_of_a_reply_has_its_type_and_no_key() -> None:
    with pytest.raises(AuthError) as caught:
        _parser().accept_whole(b'{"error":{"message":"bad key very-secret-key","code":401}}')

    assert "very-secret-key" not in str(caught.value)


def test_moonshot_counts_cached_tokens_beside_the_others() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "cached_tokens": 80}

    (info,) = [event for event in _reply(_delta("stop", content="x"), {"usage": usage}) if isinstance(event, ReplyInfo)]

    assert info.usage == Usage(20, 5, 80, total_tokens=105)


def test_the_end_of_mistrals_window_cuts_a_reply_off() -> None:
    assert _reply(_delta("model_length", content="x"))[-1] == StreamDone("length")


def test_a_server_that_gives_no_reason_ends_its_reply_with_the_stream() -> None:
    parser = CompletionParser(_PEER, ends_with_reason=False)
    parser.accept(SseEvent("", b'{"choices":[{"delta":{"content":"all"}}]}'))

    parser.finish()

    assert parser.drain()[-1] == StreamDone("stop")
