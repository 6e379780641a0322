"""New errors follow the result of an edit: syntax errors, and what linters and language servers find."""

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from kaa.core.messages import ToolCall
from kaa.core.tool import ToolResult, TypedTool
from kaa.ext.api import (
    AssistantMessage,
    CommandContext,
    Continue,
    ConversationContext,
    Extension,
    ExtensionAPI,
    Reply,
    SessionEnd,
    SessionStart,
    ToolContext,
)

if TYPE_CHECKING:
    from kaa.builtin.diagnostics.checking import Checks
    from kaa.components.plugins.lsp import LanguageServer

_LSP = (
    "Ask the language server of a file: where a name is defined or used, what is known of it, which names a file or "
    "the project has; or rename it everywhere."
)
Operation: TypeAlias = Literal["definition", "references", "hover", "symbols", "workspace_symbols", "rename"]
# How long the end of a run waits for what checks find in its last edits.
_LAST_SECONDS = 1.0
_EDIT_TOOLS = ("write", "edit", "apply_patch")


class LspArguments(msgspec.Struct, rename="camel", frozen=True):
    """What to ask about which name in which file."""

    operation: Operation
    path: Annotated[str, Meta(description="A file; of workspace_symbols: any of that language")]
    line: Annotated[int | None, Meta(description="From 1; not for symbols")] = None
    symbol: Annotated[str, Meta(description="A name in that line; of workspace_symbols: what to find")] = ""
    new_name: str = ""


def extend(api: ExtensionAPI) -> None:
    """Register the hooks around edits, the tool and the command."""
    api.before_tool(_before)
    api.after_tool(_after)
    api.before_end(_finish)
    api.on_session_end(_end)
    tool = TypedTool("lsp", _LSP, LspArguments, _ask)
    title = "{operation} {path} {symbol}"
    api.register_tool(tool, snippet="ask language servers", exposure="deferred", risk="read", title=title)
    about = "Show the language servers of the conversation"
    api.register_command("lsp", about, _show, argument_hint=None, while_running=True)


class Watch(msgspec.Struct):
    """What a conversation checks with.

    Attributes:
        checks: None before the first edit.
        configured: the language servers of the user, plugins and the project.
    """

    checks: "Checks | None" = None
    configured: "tuple[LanguageServer, ...]" = ()


def language_servers_extension(servers: "tuple[LanguageServer, ...]") -> Extension:
    """An extension that has conversations use language servers, besides those that kaa knows.

    Args:
        servers: the most important first.
    """

    async def start(_start: SessionStart, context: ConversationContext) -> None:
        await _use(servers, context)

    async def end(_end: SessionEnd, context: ConversationContext) -> None:
        if context.state(Watch, Watch).configured is servers:
            await _use((), context)

    def extend(api: ExtensionAPI) -> None:
        api.on_session_start(start)
        api.on_session_end(end)

    return extend


async def _before(call: ToolCall, context: ConversationContext) -> None:
    if call.name in _EDIT_TOOLS and context.features.diagnostics != "off":
        is_full = context.features.diagnostics == "full"
        await _checks(context).before(call, context.workspace, caller=context.caller, is_full=is_full)


async def _after(call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
    features = context.features
    if features.diagnostics == "off":
        return None
    if call.name not in _EDIT_TOOLS:
        checks = context.state(Watch, Watch).checks
        return None if checks is None else await checks.with_late(result, context.workspace, caller=context.caller)
    is_full, seconds = features.diagnostics == "full", features.diagnostics_wait_ms / 1000
    return await _checks(context).after(
        call, result, context.workspace, caller=context.caller, is_full=is_full, seconds=seconds
    )


async def _finish(_reply: AssistantMessage, context: ConversationContext) -> Continue | None:
    """Errors of edits that came too late for their results, when no other result follows that could bring them."""
    checks = context.state(Watch, Watch).checks
    if checks is None or context.features.diagnostics == "off":
        return None
    found = await checks.left(context.workspace, seconds=_LAST_SECONDS)
    return Continue(found, progress=True) if found else None


async def _ask(arguments: LspArguments, context: ToolContext) -> ToolResult:
    from kaa.builtin.diagnostics.lsp_tool import ask_server  # lazy: few conversations ask language servers

    return await ask_server(arguments, _checks(context).pool(context.workspace), context)


async def _show(_arguments: str, context: CommandContext) -> Reply:
    watch = context.state(Watch, Watch)
    servers = watch.checks.servers if watch.checks is not None else []
    lines = [f"{server.name}: {server.state}{server.reason and f' ({server.reason})'}" for server in servers]
    began = {server.name for server in servers}
    lines += [
        f"{one.name}: {'not started' if one.enabled else 'off'}" for one in watch.configured if one.name not in began
    ]
    if not lines:
        lines.append("No language server was needed yet: they start with the first edit of a file of theirs.")
    return Reply("\n".join(lines))


async def _end(_end: SessionEnd, context: ConversationContext) -> None:
    if (checks := context.state(Watch, Watch).checks) is not None:
        await checks.close()


async def _use(servers: "tuple[LanguageServer, ...]", context: ConversationContext) -> None:
    watch = context.state(Watch, Watch)
    watch.configured = servers
    if watch.checks is not None:
        await watch.checks.configure(servers)


def _checks(context: ConversationContext) -> "Checks":
    watch = context.state(Watch, Watch)
    if watch.checks is None:
        from kaa.builtin.diagnostics.checking import Checks  # lazy: many conversations edit nothing

        def notice(told: str) -> None:
            context.show.notice(told)  # which few checks need, so it is loaded then

        watch.checks = Checks(notice)
        watch.checks.configured = watch.configured
    return watch.checks
