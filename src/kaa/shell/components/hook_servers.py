"""Which MCP servers hooks of plugins and projects may call: those of the same plugin or project.

A call of a confined server, or of a tool that only reads, asks nobody. So a hook that nobody but its author chose must
not reach the user's own servers, which may have keys.
"""

import os
from collections.abc import Iterable, Sequence

import msgspec

from kaa.components.hooks import HookDefinition
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.plugins.use import server_name


def with_own_servers(
    hooks: Iterable[HookDefinition], servers: Sequence[ConfiguredServer]
) -> tuple[HookDefinition, ...]:
    """The hooks with kaa's names of the servers that they call, and marked where they may not call one."""
    return tuple(
        _limited(hook, servers) if hook.handler == "mcp_tool" and (hook.of_project or hook.may_be_of_commands) else hook
        for hook in hooks
    )


def _limited(hook: HookDefinition, servers: Sequence[ConfiguredServer]) -> HookDefinition:
    scope = "plugin" if hook.plugin else "project"
    names = {hook.server, server_name(hook.plugin, hook.server)} if hook.plugin else {hook.server}
    for server in servers:
        is_there = server.source.scope == scope and os.path.basename(server.source.data) == hook.plugin
        if is_there and names & {server.name, server.name.removesuffix(f"-{scope}")}:
            return msgspec.structs.replace(hook, server=server.name)
    return msgspec.structs.replace(hook, may_call=False)
