"""The built-in slash commands."""

from kaa.builtin.completing import among
from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply
from kaa.ext.errors import CommandError


def extend(api: ExtensionAPI) -> None:
    """Register the commands."""
    api.register_command("help", "List the slash commands", _help, while_running=True)
    api.register_command(
        "session", "Show the session's file, id, name, messages, tokens and cost", _session, while_running=True
    )
    api.register_command("sandbox", "Show what holds commands back", _sandbox, while_running=True)
    api.register_command(
        "net",
        "Show or change what commands may reach",
        _net,
        argument_hint="[off|on|DOMAINS]",
        complete=among("off", "on"),
        while_running=True,
    )
    api.register_command(
        "forward",
        "Make a port that a command listens on reachable here",
        _forward,
        argument_hint="PORT [PORT HERE]",
        while_running=True,
    )
    api.register_command("reload", "Read settings, rules, models and keys again", _reload, while_running=True)


async def _help(_arguments: str, context: CommandContext) -> CommandAction:
    width = max(len(command.name) for command in context.commands)
    lines = (
        f"/{command.name:<{width}}  {f'{command.argument_hint}  {command.description}'.strip()}"
        for command in context.commands
    )
    return Reply("\n".join(lines))


async def _session(_arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.session_report import session_report  # lazy: only for who asks

    return Reply(await session_report(context))


async def _sandbox(_arguments: str, context: CommandContext) -> CommandAction:
    return Reply(await context.describe_sandbox())


async def _net(arguments: str, context: CommandContext) -> CommandAction:
    if not arguments:
        return Reply(await context.describe_sandbox())
    return Reply(f"network: {context.set_network(arguments)}")


async def _reload(_arguments: str, context: CommandContext) -> CommandAction:
    return Reply(await context.reload())


async def _forward(arguments: str, context: CommandContext) -> CommandAction:
    words = arguments.split()
    if not 1 <= len(words) <= 2 or not all(word.isdecimal() for word in words):
        raise CommandError("give a port: /forward 3000, or /forward 3000 8080 for another one here")
    port = await context.forward(*map(int, words))
    return Reply(f"http://127.0.0.1:{port} leads to port {words[0]} of the sandbox")
