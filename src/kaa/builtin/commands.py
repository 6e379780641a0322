"""What the small slash commands do: help, the sandbox, the name, undo and redo, compaction."""

from kaa.builtin.amounts import counted
from kaa.builtin.step_options import step_option
from kaa.core.events import CompactionEnd
from kaa.ext.api import CommandAction, CommandContext, Reply
from kaa.ext.errors import CommandError

# How people call what was dropped: one, and several.
_KINDS = {
    "user": ("message of yours", "messages of yours"),
    "assistant": ("reply", "replies"),
    "toolResult": ("tool result", "tool results"),
    "other": ("note", "notes"),
}


async def show_help(arguments: str, context: CommandContext) -> CommandAction:
    """List the commands, or those about a word."""
    words = arguments.lower().split()
    width = max(len(command.name) for command in context.commands)
    lines = []
    for command in context.commands:
        hint = f"{command.argument_hint}  " if command.argument_hint else ""
        line = f"/{command.name:<{width}}  {hint}{command.description}"
        if all(word in line.lower() for word in words):
            lines.append(line)
    return Reply("\n".join(lines) or f"no command is about {arguments!r}; /help lists all")


async def session(_arguments: str, context: CommandContext) -> CommandAction:
    """Report on the session."""
    from kaa.builtin.session_report import session_report  # lazy: the other commands need none of it

    return Reply(await session_report(context))


async def sandbox(_arguments: str, context: CommandContext) -> CommandAction:
    """Describe how commands are confined."""
    return Reply(await context.describe_sandbox())


async def net(arguments: str, context: CommandContext) -> CommandAction:
    """Show or change the hosts that commands can reach."""
    if arguments:
        return Reply(f"network: {context.set_network(arguments, named=True)}")
    if not context.asker.can_ask or not context.network:
        return Reply(await context.describe_sandbox())
    from kaa.builtin.network_list import check_hosts  # lazy: only for who asks

    return Reply(f"network: {await check_hosts(context)}")


async def reload(_arguments: str, context: CommandContext) -> CommandAction:
    """Read what files say again."""
    return Reply(await context.reload())


async def name(arguments: str, context: CommandContext) -> CommandAction:
    """Show or change the session's name."""
    naming = context.naming
    match arguments.strip():
        case "":
            if naming.name is None:
                return Reply("this session has no name; give it one: /name TEXT, or /name --suggest")
            return Reply(naming.name)
        case "--clear":
            naming.set_name("")
            return Reply("this session has no name any more")
        case "--suggest":
            name = naming.set_name(await naming.suggest())
        case option if option.startswith("--"):
            raise CommandError(f"{option} is not an option of /name: use --suggest or --clear, or give a name")
        case text:
            name = naming.set_name(text)
    return Reply(f"named: {name}")


async def undo(arguments: str, context: CommandContext) -> CommandAction:
    """Undo the last message."""
    match step_option("undo", arguments):
        case "--all":
            return Reply(await context.navigation.undo(uncertain="restore"))
        case "--conversation":
            return Reply(await context.navigation.undo(restore="conversation"))
        case "":
            return Reply(await context.navigation.undo())


async def redo(arguments: str, context: CommandContext) -> CommandAction:
    """Redo what was undone."""
    if step_option("redo", arguments) == "--conversation":
        return Reply(await context.navigation.redo(restore="conversation"))
    return Reply(await context.navigation.redo())


async def label(arguments: str, context: CommandContext) -> CommandAction:
    """Label the last entry."""
    context.navigation.label_here(arguments)
    return Reply(f"named it {arguments}" if arguments else "it has no name now")


async def compact(arguments: str, context: CommandContext) -> CommandAction:
    """Compact the conversation."""
    end = await context.compaction.compact(arguments)
    if end.aborted:
        return Reply("stopped: the conversation is as it was")
    if end.error is not None:
        raise CommandError(f"the conversation is as it was: {end.error}")
    return Reply(_told(end))


async def uncompact(_arguments: str, context: CommandContext) -> CommandAction:
    """Undo the last compaction."""
    return Reply(await context.compaction.uncompact())


def _told(end: CompactionEnd) -> str:
    kinds = [counted(end.kinds[kind], *names) for kind, names in _KINDS.items() if end.kinds.get(kind)]
    lines = [
        f"compacted: {end.tokens_before:,} tokens → about {end.tokens_after:,}",
        f"a summary stands for {_listed(kinds)}; your own words were carried over",
        "/uncompact takes this back",
    ]
    return "\n".join([*lines, *([end.warning] if end.warning else [])])


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
