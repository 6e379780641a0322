"""The tool `tool_search`: the model looks for tools whose definitions it does not have, whatever model it is.

A model whose server loads definitions itself (`ToolSchema.deferred`) gets those that are found. Any other model reads
them as text, and calls the tool through a tool that it has, such as `mcp`, or directly.
"""

import asyncio

import msgspec

from kaa.builtin.tool_search.index import find
from kaa.core.provider import TOOL_SEARCH, ToolSchema
from kaa.core.tool import ToolResult, text_result
from kaa.ext.context import ToolContext

_MOST = 5


async def search_tools(query: str, context: ToolContext) -> ToolResult:
    """The tools of the conversation that are not active and fit the query; their names are in `details`."""
    tools = [tool.tool.schema for name, tool in context.deferred_tools.items() if name != TOOL_SEARCH]
    found = await asyncio.to_thread(find, query, tools, _MOST)
    if not found:
        return text_result(f"None of {len(tools)} tools fits {query!r}: use other words.")
    return text_result("\n".join(map(definition, found)), details={"found": [tool.name for tool in found]})


def definition(tool: ToolSchema) -> str:
    """What a model must know of a tool to call it, as text."""
    return f"{tool.name}: {tool.description}\n{msgspec.json.encode(tool.parameters).decode()}"
