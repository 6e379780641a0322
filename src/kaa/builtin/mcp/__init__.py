"""MCP servers as an extension: their tools, prompts and resources, by nothing but `kaa.ext` and `host.McpHost`."""

from kaa.builtin.mcp.command import McpCommand
from kaa.builtin.mcp.exposure import choose_tools, registered
from kaa.builtin.mcp.gateway import Gateway
from kaa.builtin.mcp.host import McpHost
from kaa.builtin.mcp.prewarming import Prewarming
from kaa.builtin.mcp.server_lines import ServerLines
from kaa.builtin.mcp.tools import McpTools
from kaa.core.events import MessageUpdate
from kaa.ext.api import ConversationContext, Extension, ExtensionAPI, SessionStart


def mcp_extension(host: McpHost) -> Extension:
    """The extension for the servers of a process."""

    def extend(api: ExtensionAPI) -> None:
        tools = McpTools(host)

        def renew() -> None:
            """Register the tools that the servers offer now."""
            api.replace_tools(tools.names, tools.renew(registered))

        async def choose(_start: SessionStart, context: ConversationContext) -> None:
            choose_tools(host, tools, context)

        api.register_tool(Gateway(host, tools, renew).tool(), risk="read")
        McpCommand(host).register(api)
        api.add_prompt_section("mcp-servers", ServerLines(host).section)
        api.on_session_start(choose)
        api.on_event(MessageUpdate)(Prewarming(host, tools).see)
        api.on_close(host.observe(lambda _server: renew()))
        renew()

    return extend
