"""Fidelity, judged by Google's own SDK: of what we send it would send the same, and it reads replies as we do."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic.alias_generators import to_camel

from kaa.core.messages import (
    AssistantMessage,
    ImageContent,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from kaa.core.provider import Model, Request, StreamEvent, ToolSchema
from kaa.core.reply import ReplyBuilder
from kaa.llm.gemini.reply import GeminiParser
from kaa.llm.gemini.request import generate_body, generate_request
from kaa.llm.http.sse import SseDecoder
from kaa.llm.wire import Endpoint, Peer
from tests.support.model_server import Answer, Call, ModelServer, Tokens, say

if TYPE_CHECKING:  # the SDK takes seconds to import: only tests that use it do
    from google.genai import Client, types

_GOOGLE = Endpoint("https://generativelanguage.googleapis.com", "key")

_TEXT = st.text(max_size=20) | st.sampled_from(["", " ", "\n", "a\ud800b", "\ud83d\ude00", "é"])
_SIGNATURES = st.none() | st.sampled_from(["c2ln", "YS9iK2M=", "no signature"])
_IMAGES = st.just(ImageContent("aGk=", "image/png"))
_ARGUMENTS = st.dictionaries(_TEXT, _TEXT | st.integers(-5, 5) | st.lists(_TEXT, max_size=2), max_size=3)
_IDS = st.sampled_from(["gemini-3-pro-preview", "gemini-3-flash", "gemini-2.5-pro", "gemini-2.5-flash-lite"])
_MODELS = st.builds(
    Model,
    id=_IDS,
    provider=st.sampled_from(["google", "other"]),
    api=st.just("google-generative-ai"),
    reasoning=st.booleans(),
    input=st.sampled_from([("text",), ("text", "image")]),
    max_tokens=st.sampled_from([1500, 65_536]),
)


@st.composite
def _turns(draw: st.DrawFn) -> list[Message]:
    """What one user message leads to."""
    said = st.lists(st.builds(TextContent, _TEXT) | _IMAGES, min_size=1, max_size=3).map(tuple)
    messages: list[Message] = [UserMessage(draw(said | _TEXT), timestamp=0)]
    for _ in range(draw(st.integers(0, 2))):
        ids = draw(st.lists(st.text(alphabet="abc|:_-.é", min_size=1, max_size=40), max_size=2, unique=True))
        calls = [ToolCall(call_id, "bash", draw(_ARGUMENTS), None, draw(_SIGNATURES)) for call_id in ids]
        blocks = st.builds(ThinkingContent, _TEXT, _SIGNATURES, st.booleans()) | st.builds(
            TextContent, _TEXT, _SIGNATURES
        )
        spoken = draw(st.lists(blocks, max_size=3))
        model = draw(_MODELS)
        messages.append(
            AssistantMessage((*spoken, *calls), model.api, model.provider, model.id, Usage(), "stop", timestamp=0)
        )
        for call in calls:
            content = tuple(draw(st.lists(st.builds(TextContent, _TEXT) | _IMAGES, max_size=3)))
            messages.append(ToolResultMessage(call.id, "bash", content, draw(st.booleans()), timestamp=0))
    return messages


_HISTORIES = st.lists(_turns(), min_size=1, max_size=3).map(lambda turns: [m for turn in turns for m in turn])
_TOOLS = st.lists(
    st.builds(
        ToolSchema,
        name=st.sampled_from(["read", "bash"]),
        description=_TEXT,
        parameters=st.just({"properties": {"x": {"type": "string"}}, "required": ["x"], "additionalProperties": False}),
    ),
    max_size=2,
)
_REQUESTS = st.builds(
    Request,
    model=_MODELS,
    system=_TEXT,
    messages=_HISTORIES,
    tools=_TOOLS,
    thinking=st.sampled_from(["off", "minimal", "low", "medium", "high", "xhigh", "max"]),
)


def _on_the_wire(body: Json) -> dict[str, Json]:
    return msgspec.json.decode(msgspec.json.encode(body), type=dict[str, Json])


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def client(server: ModelServer) -> Iterator["Client"]:
    from google.genai import Client, types

    options = types.HttpOptions(base_url=server.url, api_version="v1beta", client_args={"trust_env": False})
    with Client(api_key="key", vertexai=False, http_options=options) as client:
        yield client


def _ask(client: "Client", model: str, body: dict[str, Json]) -> "list[types.GenerateContentResponse]":
    """Send what `body` says by the SDK's own objects; it refuses fields and values it does not know."""
    from google.genai import types

    generation = body["generationConfig"]
    config = types.GenerateContentConfig.model_validate_json(
        msgspec.json.encode(
            {
                **{key: body[key] for key in ("systemInstruction", "tools") if key in body},
                **generation,
                "automaticFunctionCalling": {"disable": True},
            }
        )
    )
    contents: Any = [types.Content.model_validate_json(msgspec.json.encode(content)) for content in body["contents"]]
    return list(client.models.generate_content_stream(model=model, contents=contents, config=config))


# Values that are the tools' and the model's own.
_OPAQUE = ("args", "response", "parametersJsonSchema")


def _alike(value: Json) -> Json:
    """`value` as Google reads it, who takes names in either style and both alphabets of base64."""
    match value:
        case dict():
            named = {to_camel(key): item for key, item in value.items()}
            return {
                key: item.replace("-", "+").replace("_", "/") if key == "thoughtSignature" else _read(key, item)
                for key, item in named.items()
            }
        case list():
            return [_alike(item) for item in value]
        case _:
            return value


def _read(key: str, value: Json) -> Json:
    return value if key in _OPAQUE else _alike(value)


# The server is the same for all examples; each begins with a new script.
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(request=_REQUESTS)
def test_googles_sdk_would_send_the_same(server: ModelServer, client: "Client", request: Request) -> None:
    ours = _on_the_wire(generate_body(request, _GOOGLE))
    if not ours["contents"]:
        return  # nothing was said, and kaa does not ask then

    server.begin([say("ok")])
    _ask(client, request.model.id, ours)

    [sent] = server.requests
    theirs = sent.json
    if "systemInstruction" in theirs:
        assert theirs["systemInstruction"].pop("role", "user") == "user"
    assert _alike(theirs) == _alike(ours)
    assert f"http://host{sent.path}" == generate_request(request, Endpoint("http://host")).url
    assert sent.header("x-goog-api-key") == "key"


@given(_REQUESTS, _turns())
def test_a_request_begins_with_the_bytes_of_the_one_before(request: Request, more: list[Message]) -> None:
    grown = msgspec.structs.replace(request, messages=[*request.messages, *more])

    first, second = generate_request(request, _GOOGLE).body, generate_request(grown, _GOOGLE).body

    assert first.endswith(b"]}")
    assert second.startswith(first.removesuffix(b"]}"))


@given(_REQUESTS)
def test_results_follow_their_calls_with_nothing_between(request: Request) -> None:
    open_calls: list[str] = []
    for content in generate_body(request, _GOOGLE)["contents"]:
        assert content["parts"]
        results = [part["functionResponse"]["id"] for part in content["parts"] if "functionResponse" in part]
        assert results == open_calls
        assert len(results) in (0, len(content["parts"]))
        calls = [part for part in content["parts"] if "functionCall" in part]
        open_calls = [part["functionCall"]["id"] for part in calls]
        if calls and request.model.id.startswith("gemini-3"):
            assert "thoughtSignature" in calls[0]
    assert not open_calls


_PIECES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
_JSON_OBJECTS = st.dictionaries(_PIECES, _PIECES | st.integers(0, 99) | st.lists(_PIECES, max_size=2), max_size=3)


@st.composite
def _responses(draw: st.DrawFn) -> "list[types.GenerateContentResponse]":
    from google.genai import types

    chunks: list[Json] = []
    for number in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["text", "thought", "call"]))
        part: dict[str, Json] = {"text": draw(_PIECES)}
        if kind == "thought":
            part["thought"] = True
        elif kind == "call":
            part = {"functionCall": {"id": f"id-{number}", "name": "bash", "args": draw(_JSON_OBJECTS)}}
        if signature := draw(st.sampled_from(["", "c2ln", "dHdv"])):
            part["thoughtSignature"] = signature
        chunks.append({"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]})
    last = {"index": 0, "content": {"role": "model"}, "finishReason": draw(st.sampled_from(["STOP", "MAX_TOKENS"]))}
    cached, thoughts = draw(st.integers(0, 100)), draw(st.integers(0, 50))
    usage = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": 107 + thoughts,
    }
    chunks.append({"candidates": [last], "usageMetadata": usage, "responseId": "r-1", "modelVersion": "m-1"})
    return [types.GenerateContentResponse.model_validate_json(msgspec.json.encode(chunk)) for chunk in chunks]


def _parse(stream: bytes, chunk_size: int) -> AssistantMessage:
    decoder, parser = SseDecoder(), GeminiParser(Peer("google", "m", "host"))
    builder = ReplyBuilder(Model("m", "google", "google-generative-ai"))
    events: list[StreamEvent] = []
    for start in range(0, len(stream), chunk_size):
        for event in decoder.feed(stream[start : start + chunk_size]):
            parser.accept(event)
        events += parser.drain()
    parser.finish()
    for folded in events + parser.drain():
        builder.fold(folded)
    assert builder.stop_reason is not None
    return builder.message(builder.stop_reason)


def _parts(chunks: "list[types.GenerateContentResponse]") -> "list[types.Part]":
    candidates = [candidate for chunk in chunks for candidate in chunk.candidates or ()]
    return [part for candidate in candidates if candidate.content for part in candidate.content.parts or ()]


def _thought(parts: "list[types.Part]") -> str:
    return "".join(part.text or "" for part in parts if part.thought)


@given(_responses(), st.sampled_from([1, 7, 100, 100_000]))
def test_we_read_a_reply_as_googles_sdk_does(chunks: "list[types.GenerateContentResponse]", chunk_size: int) -> None:
    stream = b"".join(
        f"data: {chunk.model_dump_json(by_alias=True, exclude_none=True)}\r\n\r\n".encode() for chunk in chunks
    )

    ours = _parse(stream, chunk_size)

    theirs = _parts(chunks)
    spoken = [block.text for block in ours.content if isinstance(block, TextContent)]
    reasoned = [block.thinking for block in ours.content if isinstance(block, ThinkingContent)]
    assert "".join(spoken) == "".join(part.text or "" for part in theirs if not part.thought)
    assert "".join(reasoned) == _thought(theirs)
    assert [(call.id, call.name, call.arguments) for call in ours.tool_calls] == [
        (call.id, call.name, call.args) for chunk in chunks for call in chunk.function_calls or ()
    ]
    last = chunks[-1]
    assert (ours.response_id, ours.response_model) == (last.response_id, last.model_version)
    assert last.usage_metadata is not None
    assert ours.usage.total_tokens == last.usage_metadata.total_token_count
    assert ours.usage.cache_read == last.usage_metadata.cached_content_token_count


def test_googles_sdk_understands_the_server_of_our_tests(server: ModelServer, client: "Client") -> None:
    from google.genai import types

    answer = Answer(("Hello, ", "wörld"), ("hm",), (Call("read", '{"path": "a"}'),), Tokens(100, 40, 7))
    server.begin([answer])

    chunks = _ask(client, "m", {"generationConfig": {}, "contents": [{"role": "user", "parts": [{"text": "hi"}]}]})

    parts = _parts(chunks)
    assert "".join(part.text or "" for part in parts if not part.thought) == "Hello, wörld"
    assert _thought(parts) == "hm"
    [call] = [call for chunk in chunks for call in chunk.function_calls or ()]
    assert (call.name, call.args) == ("read", {"path": "a"})
    candidates = chunks[-1].candidates
    assert candidates is not None
    assert candidates[0].finish_reason is types.FinishReason.STOP
    assert chunks[-1].usage_metadata is not None
    assert chunks[-1].usage_metadata.cached_content_token_count == 40
