"""Wire fidelity, judged by OpenAI's SDK: it accepts what we send, and we read what it reads as it does."""

import functools
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from kaa.core.messages import AssistantMessage, Json, Message, TextContent, ThinkingContent, ToolCall, Usage
from kaa.core.provider import Model, Request, StreamEvent
from kaa.core.reply import ReplyBuilder
from kaa.llm.compat import compat_for
from kaa.llm.http.sse import SseDecoder
from kaa.llm.responses.reply import ResponseParser
from kaa.llm.responses.request import responses_body, responses_request
from kaa.llm.wire import Endpoint, Peer
from tests.support.conversations import REQUESTS, turns
from tests.support.model_script import Answer, Call, Tokens
from tests.support.model_server import ModelServer
from tests.support.model_wire import render
from tests.support.sdk_types import misfits

if TYPE_CHECKING:  # the SDK takes seconds to import: only tests that use it do
    from openai.types.responses import Response, ResponseStreamEvent

_OFFICIAL = "https://api.openai.com/v1"
_OPENAI = Endpoint(_OFFICIAL, "key", compat=compat_for(_OFFICIAL))
_UNKNOWN = Endpoint("http://localhost:8000/v1")
_ENDPOINTS = st.sampled_from([_OPENAI, _UNKNOWN])
_MODEL = Model("model-1", "vendor", "wire")


# ---- requests -----------------------------------------------------------------------------------------


@given(REQUESTS, _ENDPOINTS)
def test_openai_accepts_what_we_send(request: Request, endpoint: Endpoint) -> None:
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    body = msgspec.json.decode(msgspec.json.encode(responses_body(request, endpoint)))

    assert misfits(body, ResponseCreateParamsStreaming) == []
    open_calls: list[str] = []
    for item, following in itertools.pairwise([*body["input"], {}]):
        match item.get("type"):
            case "function_call":
                open_calls.append(item["call_id"])
            case "function_call_output":
                open_calls.remove(item["call_id"])
                assert item["output"]
            case "reasoning":
                assert item.get("encrypted_content") or item["content"]
                assert following.get("type") in ("reasoning", "message", "function_call")
            case "message":
                assert item["content"][0]["text"].strip()
            case _:
                assert item["role"] in ("user", "system", "developer")
                assert item["content"]
    assert not open_calls


@given(REQUESTS, turns(), _ENDPOINTS)
def test_a_request_begins_with_the_bytes_of_the_one_before(
    request: Request, more: list[Message], endpoint: Endpoint
) -> None:
    grown = msgspec.structs.replace(request, messages=[*request.messages, *more])

    first = responses_request(request, endpoint).body
    second = responses_request(grown, endpoint).body

    assert first.endswith(b"]}")
    assert second.startswith(first.removesuffix(b"]}"))


# ---- streams ------------------------------------------------------------------------------------------

_PIECES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
_JSON_OBJECTS = st.dictionaries(_PIECES, _PIECES | st.integers(0, 99) | st.lists(_PIECES, max_size=2), max_size=3)
_FRAME = {"id": "resp_1", "object": "response", "created_at": 1, "model": "model-1", "parallel_tool_calls": True}
_FRAME |= {"tool_choice": "auto", "tools": []}
_USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 5},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 107,
}


@functools.cache
def _event() -> "TypeAdapter[ResponseStreamEvent]":
    from openai.types.responses import ResponseStreamEvent

    return TypeAdapter(ResponseStreamEvent)


_PARTS = st.lists(st.lists(_PIECES, min_size=1, max_size=3), max_size=3)


def _reasoning(draw: st.DrawFn, number: int) -> tuple[list[Json], Json, Json]:
    kind, parts = "response.reasoning_summary", draw(_PARTS)
    events: list[Json] = []
    summary: list[Json] = []
    for index, pieces in enumerate(parts):
        place = {"summary_index": index}
        summary.append({"type": "summary_text", "text": "".join(pieces)})
        events.append({"type": f"{kind}_part.added", **place, "part": {**summary[-1], "text": ""}})
        events += [{"type": f"{kind}_text.delta", **place, "delta": piece} for piece in pieces]
        events.append({"type": f"{kind}_text.done", **place, "text": "".join(pieces)})
    item: Json = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
    return events, item, {**item, "summary": summary, "encrypted_content": draw(_PIECES)}


def _said(draw: st.DrawFn, number: int) -> tuple[list[Json], Json, Json]:
    kind, parts = "response.output_text", draw(_PARTS)
    events: list[Json] = []
    content: list[Json] = []
    for index, pieces in enumerate(parts):
        place = {"content_index": index}
        content.append({"type": "output_text", "text": "".join(pieces), "annotations": []})
        events.append({"type": "response.content_part.added", **place, "part": {**content[-1], "text": ""}})
        events += [{"type": f"{kind}.delta", **place, "delta": piece, "logprobs": []} for piece in pieces]
        events.append({"type": f"{kind}.done", **place, "text": "".join(pieces), "logprobs": []})
    item: Json = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "in_progress", "content": []}
    return events, item, {**item, "status": "completed", "content": content}


def _called(draw: st.DrawFn, number: int) -> tuple[list[Json], Json, Json]:
    arguments = msgspec.json.encode(draw(_JSON_OBJECTS)).decode()
    cut = draw(st.integers(0, len(arguments)))
    kind = "response.function_call_arguments"
    events: list[Json] = [{"type": f"{kind}.delta", "delta": piece} for piece in (arguments[:cut], arguments[cut:])]
    events.append({"type": f"{kind}.done", "arguments": arguments, "name": "bash"})
    item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "bash", "arguments": ""}
    return events, item, {**item, "arguments": arguments}


@st.composite
def _streams(draw: st.DrawFn) -> "list[ResponseStreamEvent]":
    events: list[Json] = [{"type": "response.created", "response": {**_FRAME, "output": []}}]
    output: list[Json] = []
    for number, make in enumerate(draw(st.lists(st.sampled_from([_reasoning, _said, _called]), max_size=4))):
        inner, begun, whole = make(draw, number)
        place = {"output_index": number}
        events.append({"type": "response.output_item.added", **place, "item": begun})
        events += [{**event, **place, "item_id": begun["id"]} for event in inner]
        events.append({"type": "response.output_item.done", **place, "item": whole})
        output.append(whole)
    ended = {**_FRAME, "status": "completed", "output": output, "usage": _USAGE}
    events.append({"type": "response.completed", "response": ended})
    return [_event().validate_python({**event, "sequence_number": n}) for n, event in enumerate(events)]


def _parse(stream: bytes, chunk_size: int) -> AssistantMessage:
    parser, decoder, builder = ResponseParser(Peer("vendor", "model-1", "host")), SseDecoder(), ReplyBuilder(_MODEL)
    events: list[StreamEvent] = []
    for start in range(0, len(stream), chunk_size):
        for event in decoder.feed(stream[start : start + chunk_size]):
            parser.accept(event)
        events += parser.drain()
    parser.finish()
    for part in (*events, *parser.drain()):
        builder.fold(part)
    assert builder.stop_reason is not None
    return builder.message(builder.stop_reason)


@given(_streams(), st.sampled_from([1, 7, 100, 100_000]))
def test_we_read_a_response_as_openais_sdk_does(events: "list[ResponseStreamEvent]", chunk_size: int) -> None:
    from openai import omit
    from openai.lib.streaming.responses._responses import ResponseStreamState

    stream = b"".join(f"event: {event.type}\ndata: {event.model_dump_json()}\n\n".encode() for event in events)

    ours = _parse(stream, chunk_size)

    state: ResponseStreamState[None] = ResponseStreamState(input_tools=omit, text_format=omit)
    for event in events:
        state.handle_event(event)
    theirs = state._completed_response
    assert theirs is not None
    assert list(_ours(ours)) == list(_theirs(theirs))
    assert ours.stop_reason == ("toolUse" if ours.tool_calls else "stop")
    assert (ours.response_id, ours.response_model) == (theirs.id, theirs.model)
    assert ours.usage == Usage(55, 7, 40, 5, total_tokens=107)


def _ours(message: AssistantMessage) -> Iterator[Json]:
    for block in message.content:
        match block:
            case TextContent():
                yield msgspec.json.decode(block.text_signature or "")["id"], block.text
            case ThinkingContent():
                item = msgspec.json.decode(block.thinking_signature or "")
                yield item["id"], block.thinking, item["encrypted_content"]
            case ToolCall():
                yield block.id, block.name, block.arguments


def _theirs(response: "Response") -> Iterator[Json]:
    item: Any
    for item in response.output:
        match item.type:
            case "message":
                if text := "".join(part.text for part in item.content):
                    yield item.id, text
            case "reasoning":
                yield item.id, "\n\n".join(part.text for part in item.summary), item.encrypted_content
            case "function_call":
                yield f"{item.call_id}|{item.id}", item.name, msgspec.json.decode(item.arguments)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(text=("he", "llo"), usage=Tokens(100, 40, 7)),
        Answer(text=("a",), thinking=("h", "m"), calls=(Call("bash", '{"command":"ls"}'), Call("read"))),
    ],
)
def test_the_model_server_of_the_tests_speaks_so_that_the_sdk_understands(answer: Answer) -> None:
    from openai import OpenAI

    with (
        ModelServer([answer]) as server,
        OpenAI(base_url=f"{server.url}/v1", api_key="key") as client,
        client.responses.stream(model="model-1", input="hi") as stream,
    ):
        theirs = stream.get_final_response()

    ours = _parse(b"".join(event.data for event in render(answer, "openai-responses")), 100)
    assert list(_ours(ours)) == list(_theirs(theirs))
