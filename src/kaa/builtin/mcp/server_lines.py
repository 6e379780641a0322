"""What the system prompt says of the servers: a line for each, which stays the same as long as kaa runs.

Servers of models keep what requests begin with: a line that followed what a server says would cost them all again.
"""

from typing import Final

from kaa.builtin.mcp.host import McpHost, ServerView
from kaa.builtin.mcp.names import GATEWAY, plain
from kaa.ext.prompt_sections import PromptContext
from kaa.tui.invisible import replace_invisible

_LINE_CHARACTERS: Final = 120


class ServerLines:
    """Lines of a system prompt.

    Args:
        host: runs the servers.
    """

    def __init__(self, host: McpHost) -> None:
        self._host = host
        self._lines: dict[str, str] = {}

    def section(self, context: PromptContext) -> str | None:
        """The section; None for a conversation whose model has no gateway."""
        if all(tool.name != GATEWAY for tool in context.tools):
            return None
        for view in self._host.servers():
            if view.state != "disabled" and view.name not in self._lines:
                self._lines[view.name] = _line(view)
        return "\n".join([f"MCP servers, for the tool {GATEWAY}:", *self._lines.values()]) if self._lines else None


def _line(view: ServerView) -> str:
    """The user's description, or else the names of the tools: nothing of what a server says of itself."""
    tools = () if view.manifest is None else sorted(plain(tool.name) for tool in view.manifest.tools)
    about = " ".join(replace_invisible(view.description, lambda _: "").split()) or ", ".join(tools)
    line = f"- {view.name}: {about}" if about else f"- {view.name}"
    return line if len(line) <= _LINE_CHARACTERS else f"{line[: _LINE_CHARACTERS - 1]}…"
