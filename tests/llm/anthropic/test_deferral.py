"""Deferred tools in Anthropic's format: marked, never with a cache mark, and referred to where they were found."""

from kaa.core.messages import AssistantMessage, Json, Message, TextContent, ToolCall, ToolResultMessage, Usage
from kaa.core.messages import user_message as said
from kaa.core.provider import Model, Request, ToolSchema
from kaa.llm.anthropic.request import messages_body
from kaa.llm.compat import compat_for
from kaa.llm.wire import Endpoint
from tests.support.sdk_types import misfits

_URL = "https://api.anthropic.com"
_ENDPOINT = Endpoint(_URL, "key", compat=compat_for(_URL, "claude-opus-5"))
_MODEL = Model("claude-opus-5", "anthropic", "anthropic-messages", defers_tools=True)
_SCHEMA: dict[str, Json] = {"type": "object", "properties": {}}
_READ = ToolSchema("read", "Read.", _SCHEMA)
_SEARCH = ToolSchema("tool_search", "Find tools.", _SCHEMA)
_FOUND = ToolSchema("mcp__db__query", "Ask the database.", _SCHEMA, deferred=True)
_OTHER = ToolSchema("mcp__db__drop", "Drop a table.", _SCHEMA, deferred=True)


def _history(found: Json, tool: str = "tool_search") -> list[Message]:
    call = ToolCall("call_1", tool, {"query": "database"})
    reply = AssistantMessage((call,), "anthropic-messages", "anthropic", "claude-opus-5", Usage(), "toolUse")
    result = ToolResultMessage("call_1", tool, (TextContent("mcp__db__query: …"),), is_error=False, details=found)
    return [said("Look."), reply, result]


def _body(history: list[Message], *tools: ToolSchema) -> Json:
    # Lazy: the import takes a second, and each test process collects all tests.
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    body = messages_body(Request(_MODEL, "Be brief.", history, tools), _ENDPOINT)
    assert misfits(body, MessageCreateParamsStreaming) == []
    return body


def _result(body: Json) -> Json:
    return body["messages"][2]["content"][0]["content"]


def test_a_deferred_tool_carries_no_cache_mark() -> None:
    tools = _body([said("Hi.")], _READ, _SEARCH, _FOUND, _OTHER)["tools"]

    assert [tool.get("defer_loading", False) for tool in tools] == [False, False, True, True]
    assert ["cache_control" in tool for tool in tools] == [False, True, False, False]


def test_a_request_of_deferred_tools_alone_marks_none() -> None:
    assert "cache_control" not in str(_body([said("Hi.")], _FOUND)["tools"])


def test_found_tools_are_referred_to() -> None:
    result = _result(_body(_history({"found": ["mcp__db__query"]}), _SEARCH, _FOUND, _OTHER))

    assert result == [{"type": "tool_reference", "tool_name": "mcp__db__query"}]


def test_a_found_tool_stays_when_another_one_is_gone() -> None:
    result = _result(_body(_history({"found": ["mcp__db__gone", "mcp__db__query"]}), _SEARCH, _FOUND))

    assert result == [{"type": "tool_reference", "tool_name": "mcp__db__query"}]


def test_the_mark_of_the_conversation_stays_beside_references() -> None:
    body = _body(_history({"found": ["mcp__db__query"]}), _SEARCH, _FOUND)

    assert "cache_control" in body["messages"][2]["content"][0]


def test_text_stands_where_all_found_tools_are_gone_or_nothing_was_found() -> None:
    text = [{"type": "text", "text": "mcp__db__query: …"}]

    assert _result(_body(_history({"found": ["mcp__db__gone"]}), _SEARCH, _FOUND)) == text
    assert _result(_body(_history({"found": []}), _SEARCH, _FOUND)) == text
    assert _result(_body(_history({"found": [3]}), _SEARCH, _FOUND)) == text
    assert _result(_body(_history("found"), _SEARCH, _FOUND)) == text
    assert _result(_body(_history({"found": ["mcp__db__query"]}), _SEARCH)) == text


def test_another_tool_cannot_refer_to_definitions() -> None:
    result = _result(_body(_history({"found": ["mcp__db__query"]}, tool="mcp__db__drop"), _SEARCH, _FOUND))

    assert result[0]["type"] == "text"


def test_a_server_adds_tools_and_what_was_sent_stays_the_same() -> None:
    before = _body(_history({"found": ["mcp__db__query"]}), _SEARCH, _FOUND)
    after = _body(_history({"found": ["mcp__db__query"]}), _SEARCH, _FOUND, _OTHER)

    assert after["messages"] == before["messages"]
    assert after["tools"][:2] == before["tools"]
