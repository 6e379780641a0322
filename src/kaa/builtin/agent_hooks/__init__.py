"""Hooks of Claude Code, Codex and Gemini CLI as an extension: what they want, by kaa's own hooks.

They can refuse more than kaa does, and never permit more: kaa's approvals judge each call after them.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kaa.builtin.agent_hooks.around_runs import RunHooks
from kaa.builtin.agent_hooks.handlers import Handlers, KeptByPlugin, UsersRights
from kaa.components.hooks import TOOL_EVENTS, HookDefinition
from kaa.ext.api import CommandContext, Extension, ExtensionAPI, Reply

if TYPE_CHECKING:
    from kaa.builtin.agent_hooks.hidden_scripts import ShowScripts
    from kaa.components.agent_definition import ModelRole


def agent_hooks_extension(
    hooks: Sequence[HookDefinition],
    problems: Sequence[str],
    users_rights: UsersRights,
    models: "Mapping[ModelRole, str] | None" = None,
    kept_by_plugin: KeptByPlugin = lambda workspace, _folder: workspace,
    show_scripts: "ShowScripts" = lambda workspace, _paths: workspace,
) -> Extension:
    """The extension for the hooks of a conversation.

    Args:
        hooks: those of the user and the project that are used.
        problems: what is not used and why, in sentences.
        users_rights: gives the project with the user's rights, for the user's own hooks.
        models: the user's, by what they are for; prompts of hooks name them.
        kept_by_plugin: gives the project with what a plugin keeps, for hooks of plugins.
        show_scripts: gives the project with scripts of the user's that the sandbox hides, for hooks that execute them.
    """
    events = {hook.event for hook in hooks}

    def extend(api: ExtensionAPI) -> None:
        handlers = Handlers(users_rights, models or {}, kept_by_plugin, show_scripts)
        runs = RunHooks(hooks, handlers)
        api.on_session_start(runs.start)
        api.on_session_end(runs.end)
        api.on_user_message(runs.prompt)
        if events.intersection(TOOL_EVENTS):
            from kaa.builtin.agent_hooks.around_calls import CallHooks  # lazy: not all hooks are around calls

            calls = CallHooks(hooks, handlers)
            api.before_tool(calls.before)
            api.after_tool(calls.after)
        else:
            api.before_tool(runs.halt)
        if "Stop" in events:
            api.before_end(runs.stop)
        if "PreCompact" in events:
            api.before_compaction(runs.before_compaction)
        if events & {"PostCompact", "SessionStart"}:
            api.after_compaction(runs.after_compaction)
        if "Notification" in events:
            api.on_notification(runs.notify)

        async def show(_arguments: str, context: CommandContext) -> Reply:
            from kaa.builtin.agent_hooks.listing import listing  # lazy: few look at it

            return Reply(await listing(hooks, problems, context.workspace))

        about = "Show the hooks of other agents, where they are, and what kaa does not use of them"
        api.register_command("hooks", about, show, argument_hint=None, while_running=True)

    return extend
