"""MCP servers as an extension: their tools, prompts and resources, by nothing but `kaa.ext` and `host.McpHost`."""

from collections.abc import Iterable, Sequence

from kaa.builtin.mcp.command import McpCommand
from kaa.builtin.mcp.exposure import choose_tools, registered
from kaa.builtin.mcp.gateway import Gateway
from kaa.builtin.mcp.host import McpHost
from kaa.builtin.mcp.mentions import McpMentions
from kaa.builtin.mcp.prewarming import Prewarming
from kaa.builtin.mcp.prompts import McpPrompts
from kaa.builtin.mcp.tools import McpTools
from kaa.core.events import MessageUpdate
from kaa.ext.api import Command, ConversationContext, Extension, ExtensionAPI, SessionStart
from kaa.ext.errors import RegistrationError
from kaa.host.log import LOG


def mcp_extension(host: McpHost) -> Extension:
    """The extension for the servers of a process."""

    def extend(api: ExtensionAPI) -> None:
        tools, prompts, mentions = McpTools(host), McpPrompts(host), McpMentions(host)

        def renew() -> None:
            """Register the tools that the servers offer now."""
            before = tools.names
            if (renewed := tools.renew(registered)) is not None:
                api.replace_tools(before, renewed)

        def renew_all() -> None:
            renew()
            _replace_commands(api, prompts.names, prompts.renew())

        async def choose(_start: SessionStart, context: ConversationContext) -> None:
            # Not before all extensions are loaded: a name that one of them has would keep this one out.
            _replace_commands(api, prompts.names, prompts.renew())
            choose_tools(host, tools, context)

        of_use = bool(host.servers())  # the user's file may have none left
        gateway = Gateway(host, tools, renew).tool()
        api.register_tool(gateway, exposure="default" if of_use else "deferred", risk="read")
        McpCommand(host).register(api)
        api.on_session_start(choose)
        if of_use:
            _tell_of_servers(api, host, tools)
        api.on_user_message(mentions.attach)
        api.complete_mentions(mentions.complete)
        api.on_event(MessageUpdate)(Prewarming(host, tools).see)
        api.on_close(host.observe(lambda _server: renew_all()))
        renew()

    return extend


def _tell_of_servers(api: ExtensionAPI, host: McpHost, tools: McpTools) -> None:
    from kaa.builtin.mcp.server_lines import ServerLines  # lazy: many conversations have no server

    lines = ServerLines(host, tools)
    api.add_prompt_section("mcp-servers", lines.section)
    api.missing_tool(lines.explain_missing)
    api.on_session_end(lines.forget)
    if lines.has_unlisted:
        api.after_tool(lines.add_listed)


def _replace_commands(api: ExtensionAPI, old: Iterable[str], new: Sequence[Command]) -> None:
    """Register commands but those whose names another extension has."""
    try:
        api.replace_commands(old, new)
    except RegistrationError:
        api.replace_commands(old, ())
        for command in new:
            try:
                api.replace_commands((), [command])
            except RegistrationError as error:
                LOG.warning("mcp: a prompt is not available: %s", error)
