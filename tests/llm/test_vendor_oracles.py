"""Wire fidelity, judged by the vendors' own SDKs: their request types accept what we send, and we
understand what they would send as their own accumulators do."""

import functools
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from kaa.core.messages import (
    AssistantMessage,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
    UserMessage,
)
from kaa.core.provider import Model, Request, StreamEvent
from kaa.core.reply import ReplyBuilder
from kaa.llm.anthropic.reply import MessageParser
from kaa.llm.anthropic.request import messages_body, messages_request
from kaa.llm.compat import compat_for
from kaa.llm.completions.reply import CompletionParser
from kaa.llm.completions.request import REASONING_FIELDS, completion_body, completion_request
from kaa.llm.http.sse import SseDecoder
from kaa.llm.wire import Endpoint, Peer
from tests.support.conversations import REQUESTS, turns
from tests.support.sdk_types import misfits

if TYPE_CHECKING:  # an SDK takes seconds to import: only tests that use it do
    from anthropic.types import RawMessageStreamEvent
    from openai.types.chat import ChatCompletionChunk

_PEER = Peer("vendor", "model-1", "host")


# ---- the shape of their request types ----------------------------------------------------------------


def test_the_judge_sees_what_is_wrong() -> None:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    good: dict[str, Any] = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    tool_message = {"role": "tool", "content": "x"}

    assert misfits(good, CompletionCreateParamsStreaming) == []
    assert misfits(good | {"max_tokens": 1}, MessageCreateParamsStreaming) == []
    assert misfits(good, MessageCreateParamsStreaming) == ["body.max_tokens: missing"]
    assert misfits(good | {"stray": 1}, CompletionCreateParamsStreaming) == ["body.stray: unknown key"]
    assert misfits(good | {"messages": [tool_message]}, CompletionCreateParamsStreaming)


# ---- conversations -----------------------------------------------------------------------------------

_OPENAI = Endpoint("https://api.openai.com/v1", "key", compat=compat_for("https://api.openai.com/v1"))
_UNKNOWN = Endpoint("http://localhost:8000/v1")
_ANTHROPIC = Endpoint("https://api.anthropic.com", "key")


def _on_the_wire(body: Json) -> Json:
    return msgspec.json.decode(msgspec.json.encode(body))


@given(REQUESTS, st.sampled_from([_OPENAI, _UNKNOWN]))
def test_openai_accepts_what_we_send(request: Request, endpoint: Endpoint) -> None:
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    body = _on_the_wire(completion_body(request, endpoint))

    for message in body["messages"]:
        for field in REASONING_FIELDS:  # not OpenAI's, but sent back to the servers that sent them
            message.pop(field, None)
    assert misfits(body, CompletionCreateParamsStreaming) == []
    _assert_results_follow_their_calls(body["messages"])


def _assert_results_follow_their_calls(messages: list[dict[str, Any]]) -> None:
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls
            assert message["content"]
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls
        open_calls = [call["id"] for call in message.get("tool_calls", ())]
        assert message["content"] or open_calls
    assert not open_calls


@given(REQUESTS)
def test_anthropic_accepts_what_we_send(request: Request) -> None:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    body = _on_the_wire(messages_body(request, _ANTHROPIC))

    assert misfits(body, MessageCreateParamsStreaming) == []
    assert str(body).count("'cache_control'") <= 4
    if "budget_tokens" in body.get("thinking", {}):
        assert 1024 <= body["thinking"]["budget_tokens"] < body["max_tokens"] <= request.model.max_tokens
    open_calls: set[str] = set()
    for message in body["messages"]:
        assert message["content"]
        results = [block for block in message["content"] if block["type"] == "tool_result"]
        assert {block["tool_use_id"] for block in results} == open_calls
        assert message["role"] != "user" or len(results) in (0, len(message["content"]))
        assert all(block["text"].strip() for block in message["content"] if block["type"] == "text")
        calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        open_calls = set(calls)
        assert len(open_calls) == len(calls)
        assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", call) for call in calls)
    assert not open_calls


def _grown(request: Request, more: Sequence[Message]) -> Request:
    return msgspec.structs.replace(request, messages=[*request.messages, *more])


@given(REQUESTS, turns(), st.sampled_from(["https://api.openai.com/v1", "http://localhost/v1"]))
def test_a_completion_request_begins_with_the_bytes_of_the_one_before(
    request: Request, more: list[Message], base_url: str
) -> None:
    endpoint = Endpoint(base_url, compat=compat_for(base_url))

    first = completion_request(request, endpoint).body
    second = completion_request(_grown(request, more), endpoint).body

    assert first.endswith(b"]}")
    assert second.startswith(first.removesuffix(b"]}"))


def _without_marks(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_marks(item) for key, item in value.items() if key != "cache_control"}
    return [_without_marks(item) for item in value] if isinstance(value, list) else value


@given(REQUESTS, turns())
def test_a_messages_request_differs_from_the_one_before_only_at_its_end_and_in_its_marks(
    request: Request, more: list[Message]
) -> None:
    first = msgspec.json.decode(messages_request(request, _ANTHROPIC).body)
    second = msgspec.json.decode(messages_request(_grown(request, more), _ANTHROPIC).body)
    # Models that think by a budget cannot in a turn that began without, whatever their cache holds.
    kinds = {body.get("thinking", {}).get("type") for body in (first, second)}
    assume(kinds != {"enabled", "disabled"})

    first_bytes, second_bytes = (msgspec.json.encode(_without_marks(body)) for body in (first, second))
    assert second_bytes.startswith(first_bytes.removesuffix(b"]}"))
    # What comes before the messages keeps even its marks.
    assert {k: v for k, v in first.items() if k != "messages"} == {k: v for k, v in second.items() if k != "messages"}


# ---- their streams -----------------------------------------------------------------------------------

_PIECES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
_JSON_OBJECTS = st.dictionaries(_PIECES, _PIECES | st.integers(0, 99) | st.lists(_PIECES, max_size=2), max_size=3)


def _build(events: Iterable[StreamEvent]) -> AssistantMessage:
    builder = ReplyBuilder(Model("model-1", "vendor", "wire"))
    for event in events:
        builder.fold(event)
    assert builder.stop_reason is not None
    return builder.message(builder.stop_reason)


def _parse(parser: CompletionParser | MessageParser, stream: bytes, chunk_size: int) -> AssistantMessage:
    decoder = SseDecoder()
    events: list[StreamEvent] = []
    for start in range(0, len(stream), chunk_size):
        for event in decoder.feed(stream[start : start + chunk_size]):
            parser.accept(event)
        events += parser.drain()
    parser.finish()
    return _build(events + parser.drain())


def _pieces_of(draw: st.DrawFn, text: str) -> list[str]:
    cut = draw(st.integers(0, len(text)))
    return [piece for piece in (text[:cut], text[cut:]) if piece]


def _chunk(delta: Json, finish_reason: str | None = None, **rest: Json) -> dict[str, Json]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "model-1",
        "choices": [choice],
    } | rest


@st.composite
def _completion_chunks(draw: st.DrawFn) -> "list[ChatCompletionChunk]":
    from openai.types.chat import ChatCompletionChunk

    chunks = [_chunk({"role": "assistant", "content": ""})]
    chunks += [_chunk({"content": piece}) for piece in draw(st.lists(_PIECES, max_size=4))]
    calls = draw(st.lists(_JSON_OBJECTS, max_size=3))
    for index, arguments in enumerate(calls):
        start = {"index": index, "id": f"call_{index}x", "type": "function"}
        chunks.append(_chunk({"tool_calls": [start | {"function": {"name": "bash", "arguments": ""}}]}))
        for piece in _pieces_of(draw, msgspec.json.encode(arguments).decode()):
            chunks.append(_chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    chunks.append(_chunk({}, "tool_calls" if calls else draw(st.sampled_from(["stop", "length"]))))
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    chunks.append(_chunk({}, choices=[], usage=usage | {"prompt_tokens_details": {"cached_tokens": 40}}))
    return [ChatCompletionChunk.model_validate(chunk) for chunk in chunks]


@given(_completion_chunks(), st.sampled_from([1, 7, 100, 100_000]))
def test_we_read_a_completion_as_openais_sdk_does(chunks: "list[ChatCompletionChunk]", chunk_size: int) -> None:
    from openai.lib.streaming.chat import ChatCompletionStreamState

    stream = b"".join(f"data: {chunk.model_dump_json()}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"

    ours = _parse(CompletionParser(_PEER), stream, chunk_size)

    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(chunk)
    theirs = state.current_completion_snapshot
    message = theirs.choices[0].message
    assert ours.text == (message.content or "")
    assert [(call.id, call.name, call.arguments) for call in ours.tool_calls] == [
        (call.id, call.function.name, msgspec.json.decode(call.function.arguments)) for call in message.tool_calls or ()
    ]
    reasons = {"stop": "stop", "length": "length", "tool_calls": "toolUse"}
    assert ours.stop_reason == reasons[theirs.choices[0].finish_reason]
    assert (ours.response_id, ours.response_model) == (theirs.id, theirs.model)
    assert theirs.usage is not None
    assert ours.usage == Usage(60, 7, 40, 0, total_tokens=theirs.usage.total_tokens)


@functools.cache
def _message_event() -> "TypeAdapter[RawMessageStreamEvent]":
    from anthropic.types import RawMessageStreamEvent

    return TypeAdapter(RawMessageStreamEvent)


@st.composite
def _message_events(draw: st.DrawFn) -> "list[RawMessageStreamEvent]":
    usage = {"input_tokens": 60, "output_tokens": 1, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 5}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "model-1", "content": []}
    events: list[Json] = [{"type": "message_start", "message": message | {"usage": usage}}]
    kinds = draw(st.lists(st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use"]), max_size=4))
    for index, kind in enumerate(kinds):
        deltas: list[Json] = []
        match kind:
            case "text":
                block: Json = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in draw(st.lists(_PIECES, min_size=1))]
            case "thinking":
                block = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in draw(st.lists(_PIECES))]
                deltas.append({"type": "signature_delta", "signature": draw(_PIECES)})
            case "redacted_thinking":
                block = {"type": "redacted_thinking", "data": draw(_PIECES)}
            case _:
                block = {"type": "tool_use", "id": f"toolu_{index}", "name": "bash", "input": {}}
                text = msgspec.json.encode(draw(_JSON_OBJECTS)).decode()
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces_of(draw, text)]
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    reason = "tool_use" if "tool_use" in kinds else draw(st.sampled_from(["end_turn", "max_tokens", "stop_sequence"]))
    delta = {"stop_reason": reason, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}})
    events.append({"type": "message_stop"})
    return [_message_event().validate_python(event) for event in events]


@given(_message_events(), st.sampled_from([1, 7, 100, 100_000]))
def test_we_read_a_message_as_anthropics_sdk_does(events: "list[RawMessageStreamEvent]", chunk_size: int) -> None:
    from anthropic.lib.streaming._messages import accumulate_event

    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    stream = ping.join(f"event: {event.type}\ndata: {event.model_dump_json()}\n\n".encode() for event in events)

    ours = _parse(MessageParser(_PEER), stream, chunk_size)

    theirs: Any = None
    json_bufs: dict[int, bytes] = {}
    for event in events:
        theirs = accumulate_event(event=event, current_snapshot=theirs, json_bufs=json_bufs)
    assert [_as_theirs(block) for block in ours.content] == [
        block.model_dump(include={"type", "text", "thinking", "signature", "data", "id", "name", "input"})
        for block in theirs.content
    ]
    reasons = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "toolUse"}
    assert ours.stop_reason == reasons[theirs.stop_reason]
    assert (ours.response_id, ours.response_model) == (theirs.id, theirs.model)
    counted = (ours.usage.input, ours.usage.output, ours.usage.cache_read, ours.usage.cache_write)
    assert counted == (
        theirs.usage.input_tokens,
        theirs.usage.output_tokens,
        theirs.usage.cache_read_input_tokens,
        theirs.usage.cache_creation_input_tokens,
    )


def _as_theirs(block: TextContent | ThinkingContent | ToolCall) -> dict[str, Json]:
    match block:
        case TextContent():
            return {"type": "text", "text": block.text}
        case ThinkingContent(redacted=True):
            return {"type": "redacted_thinking", "data": block.thinking_signature}
        case ThinkingContent():
            return {"type": "thinking", "thinking": block.thinking, "signature": block.thinking_signature}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments}


@pytest.mark.parametrize("endpoint", [_OPENAI, _UNKNOWN])
def test_only_openai_itself_gets_what_only_openai_understands(endpoint: Endpoint) -> None:
    model = Model("model-1", "vendor", "wire", reasoning=True)
    request = Request(model, "Be brief.", [UserMessage("hi")], session_id="session-1")

    body = completion_body(request, endpoint)

    special = {"store", "prompt_cache_key", "max_completion_tokens"} & body.keys()
    assert len(special) == (3 if endpoint is _OPENAI else 0)
    assert body["messages"][0]["role"] == ("developer" if endpoint is _OPENAI else "system")
