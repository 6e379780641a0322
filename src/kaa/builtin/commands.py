"""The built-in slash commands."""

from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply


def extend(api: ExtensionAPI) -> None:
    """Register the commands."""
    api.register_command("help", "List the slash commands", _help)
    api.register_command("session", "Show the session's file, id, model and tools", _session)


async def _help(_arguments: str, context: CommandContext) -> CommandAction:
    width = max(len(command.name) for command in context.commands)
    return Reply("\n".join(f"/{command.name:<{width}}  {command.description}" for command in context.commands))


async def _session(_arguments: str, context: CommandContext) -> CommandAction:
    rows = {
        "file": context.session_path or "none (not kept)",
        "id": context.session_id,
        "model": context.model_name,
        "tools": ", ".join(context.active_tools) or "none",
    }
    return Reply("\n".join(f"{name:<6} {value}" for name, value in rows.items()))
