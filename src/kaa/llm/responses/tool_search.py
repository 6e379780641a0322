"""Searches for tools that the client executes: https://developers.openai.com/api/docs/guides/tools-tool-search.

A search is a call of the tool `tool_search` everywhere else in kaa; here it has items of its own. The definitions that
it finds are part of its result, so that what a request begins with stays the same.
"""

from collections.abc import Callable

import msgspec

from kaa.core.messages import Json, Message, ToolResultMessage
from kaa.core.provider import TOOL_SEARCH, ToolSchema
from kaa.llm.rendering import JsonObject, found_tools
from kaa.llm.responses.events import OutputItem
from kaa.llm.unicode_text import clean


def definition(function: JsonObject) -> JsonObject:
    """The search as a tool of a request, from its definition as a function."""
    described = {key: function[key] for key in ("description", "parameters")}
    return {"type": "tool_search", "execution": "client", **described}


def searches(
    message: Message,
    items: list[JsonObject],
    deferred: dict[str, ToolSchema],
    render: Callable[[ToolSchema], JsonObject],
) -> list[JsonObject]:
    """The items of a message, with those of searches in the place of calls of the tool, and of their results."""
    if isinstance(message, ToolResultMessage):
        if message.tool_name != TOOL_SEARCH:
            return items
        found = [{**render(tool), "defer_loading": True} for tool in found_tools(message, deferred)]
        output = {**_search_item("tool_search_output", items[0]), "tools": found}
        # The item has no place for a text, which says why nothing was found.
        reason = {"type": "input_text", "text": f"[tool_search] {clean(message.text)}"}
        return [output] if found else [output, {"role": "user", "content": [reason]}]
    return [_call(item) if item.get("name") == TOOL_SEARCH else item for item in items]


def as_function_call(item: OutputItem) -> OutputItem:
    """A search of a reply as a call of the tool."""
    return msgspec.structs.replace(item, type="function_call", name=TOOL_SEARCH)


def _call(item: JsonObject) -> JsonObject:
    known: dict[str, Json] = {"id": item["id"]} if "id" in item else {}
    arguments = msgspec.json.decode(item["arguments"])
    return {**_search_item("tool_search_call", item), **known, "arguments": arguments}


def _search_item(kind: str, item: JsonObject) -> JsonObject:
    return {"type": kind, "call_id": item["call_id"], "execution": "client", "status": "completed"}
