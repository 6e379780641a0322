"""Searches for tools in the format of Responses: items of their own, with the definitions that were found."""

import json

import pytest

from kaa.core.messages import (
    AssistantMessage,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
)
from kaa.core.messages import user_message as said
from kaa.core.provider import ArgumentsChunk, CallChunkStart, Model, Request, StreamDone, ToolSchema
from kaa.llm.compat import compat_for
from kaa.llm.http.sse import SseEvent
from kaa.llm.responses.reply import ResponseParser
from kaa.llm.responses.request import responses_body
from kaa.llm.wire import Endpoint, Peer
from tests.support.sdk_types import misfits

_URL = "https://api.openai.com/v1"
_ENDPOINT = Endpoint(_URL, "key", compat=compat_for(_URL, "gpt-5.4"))
_MODEL = Model("gpt-5.4", "openai", "openai-responses", reasoning=True, defers_tools=True)
_SCHEMA: dict[str, Json] = {"type": "object", "properties": {"query": {"type": "string"}}}
_READ = ToolSchema("read", "Read.", _SCHEMA)
_SEARCH = ToolSchema("tool_search", "Find tools.", _SCHEMA)
_FOUND = ToolSchema("mcp__db__query", "Ask the database.", _SCHEMA, deferred=True)
_REASONING = json.dumps({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"})


def _history(found: Json) -> list[Message]:
    call = ToolCall("call_1|tsc_1", "tool_search", {"query": "database"})
    content = (ThinkingContent("", _REASONING), call)
    reply = AssistantMessage(content, "openai-responses", "openai", "gpt-5.4", Usage(), "toolUse")
    result = ToolResultMessage(call.id, "tool_search", (TextContent("…"),), is_error=False, details=found)
    return [said("Look."), reply, result]


def _body(history: list[Message], *tools: ToolSchema, model: Model = _MODEL) -> Json:
    # Lazy: the import takes half a second, and each test process collects all tests.
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    body = responses_body(Request(model, "", history, tools), _ENDPOINT)
    assert misfits(body, ResponseCreateParamsStreaming) == []
    return body


def test_the_search_is_executed_by_the_client_and_deferred_tools_are_not_sent() -> None:
    tools = _body([said("Hi.")], _READ, _SEARCH, _FOUND)["tools"]

    assert [tool["type"] for tool in tools] == ["function", "tool_search"]
    assert tools[1] == {
        "type": "tool_search",
        "execution": "client",
        "description": "Find tools.",
        "parameters": _SCHEMA,
    }


def test_a_search_and_what_it_found_are_items_of_their_own() -> None:
    _, reasoning, call, output = _body(_history({"found": ["mcp__db__query"]}), _SEARCH, _FOUND)["input"]

    assert reasoning["type"] == "reasoning"
    assert call == {
        "type": "tool_search_call",
        "id": "tsc_1",
        "call_id": "call_1",
        "execution": "client",
        "status": "completed",
        "arguments": {"query": "database"},
    }
    assert (output["type"], output["call_id"]) == ("tool_search_output", "call_1")
    assert [(tool["name"], tool["defer_loading"]) for tool in output["tools"]] == [("mcp__db__query", True)]


@pytest.mark.parametrize("found", [None, {"found": []}, {"found": ["gone", 1]}, {"found": "gone"}])
def test_a_search_that_found_nothing_has_no_tools_and_says_why(found: Json) -> None:
    output, reason = _body(_history(found), _SEARCH, _FOUND)["input"][3:]

    assert output["tools"] == []
    assert reason == {"role": "user", "content": [{"type": "input_text", "text": "[tool_search] …"}]}


def test_a_found_tool_stays_when_another_one_is_gone() -> None:
    (output,) = _body(_history({"found": ["mcp__db__gone", "mcp__db__query"]}), _SEARCH, _FOUND)["input"][3:]

    assert [tool["name"] for tool in output["tools"]] == ["mcp__db__query"]


def test_a_model_without_search_gets_a_function() -> None:
    model = Model("gpt-5.2", "openai", "openai-responses", reasoning=True)

    body = _body(_history({"found": ["mcp__db__query"]}), _SEARCH, model=model)

    assert [tool["type"] for tool in body["tools"]] == ["function"]
    assert [item["type"] for item in body["input"][1:]] == ["function_call", "function_call_output"]


def test_a_search_in_a_reply_is_a_call_of_the_tool() -> None:
    parser = ResponseParser(Peer("openai", "gpt-5.4", "host"))
    item = {"type": "tool_search_call", "id": "tsc_1", "call_id": "call_1", "execution": "client"}
    done = item | {"status": "completed", "arguments": {"query": "database"}}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"arguments": {}}},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": {"status": "completed", "output": [done]}},
    ]

    for event in events:
        parser.accept(SseEvent("", json.dumps(event).encode()))
    parser.finish()

    got = parser.drain()
    assert [event for event in got if isinstance(event, CallChunkStart)] == [
        CallChunkStart(1, "call_1|tsc_1", "tool_search")
    ]
    arguments = "".join(event.json for event in got if isinstance(event, ArgumentsChunk))
    assert json.loads(arguments) == {"query": "database"}
    assert got[-1] == StreamDone("toolUse")
