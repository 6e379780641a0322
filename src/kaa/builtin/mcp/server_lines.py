"""What the model is told of the servers: a line for each in the system prompt, and later what became known since.

Servers of models keep what requests begin with: a line that followed what a server says would cost them all again. So a
conversation keeps its lines, and what a server lists later follows a result of a tool.
"""

from typing import Final

import msgspec

from kaa.builtin.mcp.host import McpHost, ServerView
from kaa.builtin.mcp.names import GATEWAY, plain, tool_prefix
from kaa.builtin.mcp.tools import McpTools, usable
from kaa.core.messages import TextContent, ToolCall
from kaa.core.tool import ToolResult
from kaa.ext.context import ConversationContext
from kaa.ext.hooks import SessionEnd
from kaa.ext.prompt_sections import PromptContext
from kaa.tui.invisible import replace_invisible

_LINE_CHARACTERS: Final = 120
_MOST_NAMED: Final = 40  # tools of a server that was listed later
_MARK: Final = "(not listed yet)"
_UNLISTED: Final = (
    f'To reach a server that is not listed yet, call {GATEWAY} with {{"action": "list", "server": NAME}}: this starts'
    " it and names its tools."
)


class ServerLines:
    """What conversations are told."""

    def __init__(self, host: McpHost, tools: McpTools) -> None:
        self._host = host
        self._tools = tools
        self._lines: dict[str, dict[str, str]] = {}  # by conversation and server
        self._unlisted: dict[str, set[str]] = {}  # servers by conversation: the model does not know their tools

    def section(self, context: PromptContext) -> str | None:
        """The section; None for a conversation whose model has no gateway."""
        if all(tool.name != GATEWAY for tool in context.tools):
            return None
        lines = self._lines.setdefault(context.conversation_id, {})
        unlisted = self._unlisted.setdefault(context.conversation_id, set())
        for view in self._host.servers():
            if view.state != "disabled" and view.name not in lines:
                lines[view.name] = _line(view)
                unlisted.update([view.name] if view.manifest is None else [])
        advice = [_UNLISTED] if any(line.endswith(_MARK) for line in lines.values()) else []
        return "\n".join([f"MCP servers, for the tool {GATEWAY}:", *lines.values(), *advice]) if lines else None

    @property
    def has_unlisted(self) -> bool:
        """Whether there are servers that have never said what they offer."""
        return any(view.manifest is None and view.state != "disabled" for view in self._host.servers())

    async def forget(self, _end: SessionEnd, context: ConversationContext) -> None:
        self._lines.pop(context.conversation_id, None)
        self._unlisted.pop(context.conversation_id, None)

    async def add_listed(self, call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
        """Name the tools of servers that were listed since the conversation began, once, behind a result."""
        unlisted = self._unlisted.get(context.conversation_id)
        if not unlisted or context.caller:
            return None
        listed = [view for view in usable(self._host) if view.name in unlisted and view.manifest is not None]
        unlisted.difference_update(view.name for view in listed)
        used = call.arguments.get("server") if call.name == GATEWAY else self._tools.server_of(call.name)
        notes = [TextContent(note) for view in listed if view.name != used and (note := _listed(view))]
        return msgspec.structs.replace(result, content=(*result.content, *notes)) if notes else None

    async def explain_missing(self, name: str, context: ConversationContext) -> str | None:
        """What the model can do instead of calling a tool of a server by a name that it cannot call."""
        if GATEWAY not in context.active_tools:
            return None
        if (server := self._tools.server_of(name)) is not None:
            return f"Call it with {GATEWAY}: {_json(action='call', server=server, tool=name, arguments={})}."
        for view in self._host.servers():
            if view.state != "disabled" and view.manifest is None and name.startswith(tool_prefix(view.name)):
                how = f"call {GATEWAY} with {_json(action='list', server=view.name)}, which starts it"
                return f"The tools of MCP server {view.name} are not known yet: {how}."
        return None


def _line(view: ServerView) -> str:
    """The user's description, or else the names of the tools: nothing of what a server says of itself."""
    about = " ".join(replace_invisible(view.description, lambda _: "").split())
    if view.manifest is None:
        room = _LINE_CHARACTERS - len(_MARK) - 1
        return f"{_shortened(f'- {view.name}: {about}' if about else f'- {view.name}', room)} {_MARK}"
    about = about or ", ".join(_names(view))
    return _shortened(f"- {view.name}: {about}" if about else f"- {view.name}", _LINE_CHARACTERS)


def _listed(view: ServerView) -> str:
    """The names of the tools of a server; empty if it has none."""
    names = _names(view)
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (
        f"[MCP server {view.name} has been listed meanwhile. Its tools, for {GATEWAY}:"
        f" {', '.join(names[:_MOST_NAMED])}{more}]"
    )


def _names(view: ServerView) -> list[str]:
    return [] if view.manifest is None else sorted(plain(tool.name) for tool in view.manifest.tools)


def _shortened(line: str, characters: int) -> str:
    return line if len(line) <= characters else f"{line[: characters - 1]}…"


def _json(**values: object) -> str:
    return msgspec.json.encode(values).decode()
