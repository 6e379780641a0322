"""Which tools a search has found, for servers that load definitions of tools themselves."""

from collections.abc import Sequence

from kaa.core.messages import Message, ToolResultMessage
from kaa.core.provider import TOOL_SEARCH, ToolSchema


def deferred_tools(tools: Sequence[ToolSchema]) -> dict[str, ToolSchema]:
    """The deferred ones of a request's tools, by name."""
    return {tool.name: tool for tool in tools if tool.deferred}


def found_tools(message: Message, deferred: dict[str, ToolSchema]) -> list[ToolSchema] | None:
    """The tools that a message says were found; None if it is no result of a search, or one of them is gone."""
    if not isinstance(message, ToolResultMessage) or message.tool_name != TOOL_SEARCH or message.is_error:
        return None
    match message.details:
        case {"found": [*names]} if names and all(isinstance(name, str) and name in deferred for name in names):
            return [deferred[name] for name in names]
        case _:
            return None
