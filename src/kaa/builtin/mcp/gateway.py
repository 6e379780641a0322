"""The tool `mcp`: one small tool that reaches every server, whether its tools are known, declared or not."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from kaa.builtin.mcp.host import McpHost, ServerView
from kaa.builtin.mcp.names import GATEWAY, plain
from kaa.builtin.mcp.tools import McpTools, failure, hindrance_to_start, usable
from kaa.core.messages import Json, TextContent
from kaa.core.tool import ToolError, ToolResult, TypedTool, text_result
from kaa.ext.context import ToolContext
from kaa.ext.errors import RegistrationError
from kaa.ext.tools import RegisteredTool
from kaa.mcp.errors import McpError

_DESCRIPTION = (
    "Use MCP servers: list or search tools, describe one (parameters), call it; read a resource. auth asks the user."
)
_MOST_FOUND = 8
_MOST_LISTED = 200
_LINE_CHARACTERS = 120


class GatewayArguments(msgspec.Struct, frozen=True):
    """What to do, and with what."""

    action: Literal["status", "list", "search", "describe", "connect", "call", "read", "auth"]
    server: str = ""
    tool: Annotated[str, Meta(description="Name, words to search for, or the URI to read")] = ""
    arguments: Annotated[dict[str, Json], Meta(description="Of the called tool")] = {}


class Gateway:
    """What the tool `mcp` does.

    Args:
        renew: registers the tools that the servers offer now.
    """

    def __init__(self, host: McpHost, tools: McpTools, renew: Callable[[], None]) -> None:
        self._host = host
        self._tools = tools
        self._renew = renew

    def tool(self) -> TypedTool[GatewayArguments, ToolContext]:
        return TypedTool(GATEWAY, _DESCRIPTION, GatewayArguments, self._run)

    async def _run(self, arguments: GatewayArguments, context: ToolContext) -> ToolResult:
        actions: dict[str, Callable[[GatewayArguments, ToolContext], Awaitable[ToolResult]]] = {
            "status": self._status,
            "list": self._list,
            "search": self._search,
            "describe": self._describe,
            "connect": self._connect,
            "call": self._call,
            "read": self._read,
            "auth": self._log_in,
        }
        return await actions[arguments.action](arguments, context)

    async def _status(self, arguments: GatewayArguments, _context: ToolContext) -> ToolResult:
        views = [self._view(arguments.server)] if arguments.server else self._host.servers()
        return text_result("\n".join(map(_state, views)) or "No MCP server is configured.")

    async def _list(self, arguments: GatewayArguments, context: ToolContext) -> ToolResult:
        views = [await self._known(arguments.server, context)] if arguments.server else usable(self._host)
        lines = [line for view in views for line in (_state(view), *self._offered(view))]
        return _lines(lines or ["No MCP server can be used: see the action status."])

    async def _search(self, arguments: GatewayArguments, context: ToolContext) -> ToolResult:
        from kaa.builtin.tool_search.index import find  # lazy, as all below: few conversations use it

        if not arguments.tool.strip():
            raise ToolError("search takes what to look for in `tool`: words that the tool's name or description has.")
        views = [await self._known(arguments.server, context)] if arguments.server else usable(self._host)
        schemas = [tool.tool.schema for view in views for tool in self._tools.of_server(view.name).values()]
        found = await asyncio.to_thread(find, arguments.tool, schemas, _MOST_FOUND)
        unknown = [view.name for view in views if view.manifest is None]
        note = [f"Not searched, because their tools are not known yet: {', '.join(unknown)}. Use connect."]
        lines = [_short(tool.name, tool.description) for tool in found] or [f"No tool fits {arguments.tool!r}."]
        return _lines([*lines, *(note if unknown else [])])

    async def _describe(self, arguments: GatewayArguments, context: ToolContext) -> ToolResult:
        if arguments.tool:
            from kaa.builtin.tool_search import definition

            return text_result(definition((await self._found(arguments, context)).tool.schema))
        view = await self._known(arguments.server, context)
        advice = view.manifest.instructions if view.manifest is not None else ""
        return _lines(
            [_state(view), *([f"The server says of itself: {advice}"] if advice else []), *self._offered(view)]
        )

    async def _connect(self, arguments: GatewayArguments, context: ToolContext) -> ToolResult:
        return text_result(_state(await self._started(arguments.server, context)))

    async def _call(self, arguments: GatewayArguments, context: ToolContext) -> ToolResult:
        tool = await self._found(arguments, context)
        try:
            result = await context.call_tool(tool.name, arguments.arguments, update=context.update)
        except RegistrationError as error:
            raise ToolError(f"{tool.name} cannot be called in this conversation: {error}") from error
        if not result.is_error or result.denials:
            return result
        from kaa.builtin.mcp.results import unframed, with_notes  # lazy, as the other actions
        from kaa.builtin.tool_search import definition

        texts = (part.text for part in result.content if isinstance(part, TextContent))
        is_answer = any(unframed(text) is not None for text in texts)  # small models guess the names of arguments
        return with_notes(result, [definition(tool.tool.schema)] if is_answer else [])

    async def _read(self, arguments: GatewayArguments, context: ToolContext) -> ToolResult:
        """The content of a resource. Only what the server lists: any other address could carry what the model knows."""
        from kaa.builtin.mcp.questions import ConversationQuestions
        from kaa.builtin.mcp.results import tool_result, with_notes
        from kaa.mcp.contents import CallResult

        view, uri = await self._known(arguments.server, context), arguments.tool
        if view.manifest is None or all(resource.uri != uri for resource in view.manifest.resources):
            raise ToolError(f"{view.name} lists no resource {uri!r}: the action list shows those there are.")
        if why := hindrance_to_start(view, context):
            raise ToolError(why)
        try:
            session = await self._host.session(view.name, context.asker, context.update)
            questions = ConversationQuestions(view, context, f"resource {uri}")
            parts = await session.read(uri, questions=questions)
        except McpError as error:
            self._host.tell_of_login(view.name)
            raise ToolError(failure(view.name, error)) from error
        return with_notes(await tool_result(view.name, CallResult(parts), context.workspace), questions.refusals)

    async def _log_in(self, arguments: GatewayArguments, context: ToolContext) -> ToolResult:
        view = self._view(arguments.server)
        try:
            await self._host.log_in(view.name, context.asker)
        except McpError as error:
            raise ToolError(failure(view.name, error)) from error
        return text_result(f"Logged in to {view.name}.")

    async def _found(self, arguments: GatewayArguments, context: ToolContext) -> RegisteredTool:
        """The tool that is meant: by its own name or by that for the model."""
        views = [await self._known(arguments.server, context)] if arguments.server else usable(self._host)
        offered = [(own, tool) for view in views for own, tool in self._tools.of_server(view.name).items()]
        fitting = [tool for own, tool in offered if arguments.tool in (own, tool.name)]
        if not fitting and arguments.tool.startswith("mcp__plugin_"):  # as Claude Code has it, and hooks written for it
            fitting = [tool for own, tool in offered if arguments.tool.endswith(f"__{plain(own)}")]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            names = ", ".join(tool.name for tool in fitting)
            raise ToolError(f"Several servers have a tool {arguments.tool!r}: say which server, or use {names}.")
        from difflib import get_close_matches

        if any(view.name == arguments.tool for view in views):
            raise ToolError(f"{arguments.tool!r} is a server. Give it as server, and one of its tools as tool.")
        near = get_close_matches(arguments.tool, [own for own, _ in offered], n=5, cutoff=0.4)
        advice = f"Did you mean {', '.join(near)}?" if near else "Use the action list or search."
        raise ToolError(f"No MCP server has a tool {arguments.tool!r}. {advice}")

    async def _known(self, server: str, context: ToolContext) -> ServerView:
        """A server whose tools are known, started if they were not."""
        view = self._view(server)
        return await self._started(server, context) if view.manifest is None else view

    async def _started(self, server: str, context: ToolContext) -> ServerView:
        view = self._view(server)
        if why := hindrance_to_start(view, context):
            raise ToolError(why)
        try:
            await self._host.session(view.name, context.asker, context.update)
        except McpError as error:
            self._host.tell_of_login(view.name)
            raise ToolError(failure(view.name, error)) from error
        self._renew()
        return self._view(server)

    def _view(self, server: str) -> ServerView:
        views = self._host.servers()
        for view in views:
            if view.name == server:
                return view
        if not views:
            raise ToolError("No MCP server is configured.")
        names = ", ".join(view.name for view in views)
        example = msgspec.json.encode({"action": "list", "server": views[0].name}).decode()
        raise ToolError(f"No MCP server is named {server!r}. Servers: {names}. To see tools: {example}.")

    def _offered(self, view: ServerView) -> list[str]:
        lines = [
            _short(f"- {own}", tool.tool.schema.description) for own, tool in self._tools.of_server(view.name).items()
        ]
        manifest = view.manifest
        if manifest is not None and manifest.resources:
            lines += ["Resources:", *(_short(f"- {resource.uri}", resource.name) for resource in manifest.resources)]
        return lines


def _state(view: ServerView) -> str:
    count = "" if view.manifest is None else f", {len(view.manifest.tools)} tools"
    reason = f": {view.reason}" if view.reason else ""
    about = f". {view.description}" if view.description else ""
    return f"{view.name} ({view.state}{count}){reason}{about}"


def _short(name: str, about: str) -> str:
    line = f"{name}: {about.partition(chr(10))[0]}" if about else name
    return line if len(line) <= _LINE_CHARACTERS else f"{line[: _LINE_CHARACTERS - 1]}…"


def _lines(lines: list[str]) -> ToolResult:
    more = len(lines) - _MOST_LISTED
    note = [f"[{more} more. Use search.]"] if more > 0 else []
    return text_result("\n".join([*lines[:_MOST_LISTED], *note]))
