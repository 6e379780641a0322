"""Which tools a search has found, for servers that load definitions of tools themselves."""

from collections.abc import Sequence

from kaa.core.messages import Message, ToolResultMessage
from kaa.core.provider import TOOL_SEARCH, ToolSchema


def deferred_tools(tools: Sequence[ToolSchema]) -> dict[str, ToolSchema]:
    """The deferred ones of a request's tools, by name."""
    return {tool.name: tool for tool in tools if tool.deferred}


def found_tools(message: Message, deferred: dict[str, ToolSchema]) -> list[ToolSchema]:
    """The tools that a message says were found and that are still there; none if it is no result of a search."""
    if not isinstance(message, ToolResultMessage) or message.tool_name != TOOL_SEARCH or message.is_error:
        return []
    match message.details:
        case {"found": [*names]}:
            return [deferred[name] for name in names if isinstance(name, str) and name in deferred]
        case _:
            return []
