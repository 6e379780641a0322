"""What is made of a conversation for Gemini. That Google accepts it is judged by its SDK elsewhere."""

from typing import Literal

import msgspec
import pytest

from kaa.core.messages import (
    AssistantContent,
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
from kaa.core.provider import Model, Request, ToolSchema
from kaa.llm.gemini.request import generate_body, generate_request, renderer
from kaa.llm.wire import Endpoint

_IMAGE = ImageContent("aGk=", "image/png")
_INLINE = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
_SEES: tuple[Literal["text", "image"], ...] = ("text", "image")
_THREE = Model("gemini-3-pro", "google", "google-generative-ai", reasoning=True, input=_SEES)
_TWO = msgspec.structs.replace(_THREE, id="gemini-2.5-pro")
_BLIND = msgspec.structs.replace(_THREE, input=("text",))
_VERTEX = msgspec.structs.replace(_THREE, api="google-vertex", provider="google-vertex")
_GOOGLE = Endpoint("https://generativelanguage.googleapis.com", "key")
_DUMMY = "skip_thought_signature_validator"


def _assistant(*content: AssistantContent, model: Model = _THREE) -> AssistantMessage:
    return AssistantMessage(content, model.api, model.provider, model.id, Usage(), "stop")


def _result(call_id: str, *content: TextContent | ImageContent, is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(call_id, "read", content, is_error)


def _contents(*messages: Message, model: Model = _THREE) -> list[Json]:
    body: list[Json] = generate_body(Request(model, "", messages), _GOOGLE)["contents"]
    return body


def _parts(*messages: Message, model: Model = _THREE) -> list[Json]:
    [content] = _contents(*messages, model=model)
    parts: list[Json] = content["parts"]
    return parts


def test_where_the_key_and_the_model_go() -> None:
    request = generate_request(Request(_THREE, "", [UserMessage("hi")]), _GOOGLE)

    assert request.url.endswith("/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse")
    assert ("x-goog-api-key", "key") in request.headers
    assert "key" not in request.url


def test_system_and_tools_come_before_the_contents() -> None:
    tool = ToolSchema("read", "Reads a file.", {"properties": {"path": {"type": "string"}}, "required": ["path"]})

    body = generate_body(Request(_THREE, "Be brief.", [UserMessage("hi")], [tool], max_tokens=2000), _GOOGLE)

    assert list(body) == ["systemInstruction", "tools", "generationConfig", "contents"]
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    [declared] = body["tools"][0]["functionDeclarations"]
    assert declared == {
        "name": "read",
        "description": "Reads a file.",
        "parametersJsonSchema": {"type": "object", **tool.parameters},
    }
    assert body["generationConfig"]["maxOutputTokens"] == 2000


def test_nothing_is_said_of_what_is_not_there() -> None:
    model = msgspec.structs.replace(_THREE, reasoning=False)

    body = generate_body(Request(model, " ", [UserMessage("hi")]), _GOOGLE)

    assert body == {
        "generationConfig": {"maxOutputTokens": model.max_tokens},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    }


def test_what_the_user_says_and_shows() -> None:
    message = UserMessage((TextContent("see"), TextContent(" "), _IMAGE, TextContent("a\ud800b")))

    assert _parts(message) == [{"text": "see"}, _INLINE, {"text": "a\ufffdb"}]
    assert _parts(message, model=_BLIND)[1] == {"text": "(image omitted: no images can be sent to this model)"}
    assert _contents(UserMessage(" ")) == []


def test_all_results_of_a_turn_are_in_one_content() -> None:
    calls = _assistant(ToolCall("a", "read", {"path": "x"}), ToolCall("b", "read", {}))

    contents = _contents(
        UserMessage("q"), calls, _result("a", TextContent("1")), _result("b", TextContent("2")), UserMessage("more")
    )

    assert [content["role"] for content in contents] == ["user", "model", "user", "user"]
    assert [part["functionResponse"] for part in contents[2]["parts"]] == [
        {"id": "a", "name": "read", "response": {"output": "1"}},
        {"id": "b", "name": "read", "response": {"output": "2"}},
    ]


def test_failures_and_silence_of_tools_are_told() -> None:
    parts = _parts(_result("a", TextContent("no such file"), is_error=True), _result("b"))

    assert [part["functionResponse"]["response"] for part in parts] == [
        {"error": "no such file"},
        {"output": "(no output)"},
    ]


def test_images_of_results_are_within_them_for_generation_three() -> None:
    [part] = _parts(_result("a", TextContent("t"), _IMAGE))

    assert part["functionResponse"]["response"] == {"output": "t"}
    assert part["functionResponse"]["parts"] == [_INLINE]


def test_images_of_results_follow_after_all_results_for_generation_two() -> None:
    contents = _contents(_result("a", _IMAGE), _result("b", TextContent("t"), _IMAGE), UserMessage("more"), model=_TWO)

    assert [list(part) for part in contents[0]["parts"]] == [["functionResponse"], ["functionResponse"]]
    assert contents[0]["parts"][0]["functionResponse"]["response"] == {"output": "(see the attached image)"}
    assert contents[1]["parts"][1:] == [_INLINE, _INLINE]
    assert contents[2]["parts"] == [{"text": "more"}]


def test_images_of_results_are_named_to_models_that_see_nothing() -> None:
    [part] = _parts(_result("a", _IMAGE), model=_BLIND)

    assert part["functionResponse"]["response"] == {"output": "(image omitted: no images can be sent to this model)"}
    assert "parts" not in part["functionResponse"]


def test_signatures_go_back_to_the_model_that_gave_them() -> None:
    own = _assistant(
        ThinkingContent("hm", "dGhpbms="),
        TextContent("I read", "dGV4dA=="),
        ToolCall("a", "read", {}, thought_signature="Y2FsbA=="),
        ToolCall("b", "read", {}),
    )

    assert _parts(own) == [
        {"thought": True, "text": "hm", "thoughtSignature": "dGhpbms="},
        {"text": "I read", "thoughtSignature": "dGV4dA=="},
        {"functionCall": {"name": "read", "args": {}, "id": "a"}, "thoughtSignature": "Y2FsbA=="},
        {"functionCall": {"name": "read", "args": {}, "id": "b"}},
    ]


@pytest.mark.parametrize("other", [_TWO, _VERTEX, Model("gpt-5", "openai", "openai-responses")])
def test_what_another_model_made_is_unsigned(other: Model) -> None:
    foreign = _assistant(
        ThinkingContent("hm", "dGhpbms="),
        ThinkingContent("", "c2VjcmV0", redacted=True),
        TextContent("I read", "dGV4dA=="),
        ToolCall("a", "read", {}, thought_signature="Y2FsbA=="),
        ToolCall("b", "read", {}, thought_signature="Y2FsbA=="),
        model=other,
    )

    assert _parts(foreign) == [
        {"text": "hm"},
        {"text": "I read"},
        {"functionCall": {"name": "read", "args": {}, "id": "a"}, "thoughtSignature": _DUMMY},
        {"functionCall": {"name": "read", "args": {}, "id": "b"}},
    ]


def test_generation_two_wants_no_mark_on_unsigned_calls() -> None:
    assert _parts(_assistant(ToolCall("a", "read", {})), model=_TWO) == [
        {"functionCall": {"name": "read", "args": {}, "id": "a"}}
    ]


def test_a_signature_that_cannot_be_one_is_not_sent() -> None:
    parts = _parts(_assistant(TextContent("t", "not base64!"), ToolCall("a", "read", {}, thought_signature="§")))

    assert parts[0] == {"text": "t"}
    assert parts[1]["thoughtSignature"] == _DUMMY


def test_names_that_google_refuses_are_mended_alike_in_call_and_result() -> None:
    call = _assistant(ToolCall("a", "read file(s)", {}))
    result = ToolResultMessage("a", "read file(s)", (TextContent("x"),), is_error=True)

    contents = _contents(call, result)

    assert contents[0]["parts"][0]["functionCall"]["name"] == "read_file_s_"
    assert contents[1]["parts"][0]["functionResponse"]["name"] == "read_file_s_"


def test_vertex_goes_by_name_and_order_instead_of_ids() -> None:
    contents = _contents(_assistant(ToolCall("a", "read", {})), _result("a", TextContent("x")), model=_VERTEX)

    assert "id" not in contents[0]["parts"][0]["functionCall"]
    assert "id" not in contents[1]["parts"][0]["functionResponse"]


def test_a_reply_of_nothing_is_left_out() -> None:
    contents = _contents(UserMessage("a"), _assistant(TextContent(" "), ThinkingContent("")), UserMessage("b"))

    assert [content["parts"] for content in contents] == [[{"text": "a"}], [{"text": "b"}]]


def test_what_was_sent_is_not_rendered_again() -> None:
    kept = renderer()
    messages: list[Message] = [UserMessage("a"), _assistant(ToolCall("a", "read", {"path": "x"}))]

    first = generate_body(Request(_THREE, "", messages), _GOOGLE, kept)["contents"]
    second = generate_body(Request(_THREE, "", [*messages, _result("a")]), _GOOGLE, kept)["contents"]

    assert [again["parts"] is before["parts"] for again, before in zip(second, first, strict=False)] == [True, True]
