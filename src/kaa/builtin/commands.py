"""The small built-in slash commands: help, the sandbox, the name, undo and redo, compaction."""

from collections.abc import Sequence

from kaa.builtin.amounts import counted
from kaa.builtin.completing import among, flags
from kaa.builtin.step_options import STEP_OPTIONS, step_option
from kaa.core.events import CompactionEnd
from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply, Suggestion
from kaa.ext.errors import CommandError

# How people call what was dropped: one, and several.
_KINDS = {
    "user": ("message of yours", "messages of yours"),
    "assistant": ("reply", "replies"),
    "toolResult": ("tool result", "tool results"),
    "other": ("note", "notes"),
}


def extend(api: ExtensionAPI) -> None:
    """Register the commands."""
    api.register_command(
        "help", "Show the keys and commands, or those about a WORD", _help, argument_hint="[WORD]", while_running=True
    )
    api.register_command(
        "session",
        "Show the session's file, id, name, messages, tokens and cost",
        _session,
        argument_hint=None,
        while_running=True,
    )
    api.register_command("sandbox", "Show how commands are confined", _sandbox, argument_hint=None, while_running=True)
    api.register_command(
        "net",
        "Show or change the hosts that commands can reach",
        _net,
        argument_hint="[off|on|registries|HOSTS]",
        complete=among("off", "on", "registries"),
        while_running=True,
    )
    api.register_command(
        "forward",
        "Open a port of a command on this machine",
        _forward,
        argument_hint="PORT [PORT HERE]",
        while_running=True,
    )
    api.register_command(
        "allow",
        "Let commands reach a port or a unix socket of this machine",
        _allow,
        argument_hint="PORT|SOCKET",
        while_running=True,
    )
    api.register_command(
        "ports", "List open ports and services, or close one", _ports, argument_hint="[close PORT]", while_running=True
    )
    api.register_command(
        "reload",
        "Read settings, rules, models, keys and changed extensions again",
        _reload,
        argument_hint=None,
        while_running=True,
    )
    api.register_command(
        "name",
        "Show or set the session's name; --suggest asks the model, --clear removes it",
        _name,
        argument_hint="[TEXT|--suggest|--clear]",
        complete=flags("--suggest", "--clear"),
        while_running=True,
    )
    api.register_command(
        "undo",
        "Undo your last message and its changes to files",
        _undo,
        argument_hint="[--all|--conversation]",
        complete=among(*STEP_OPTIONS["undo"]),
    )
    api.register_command(
        "redo",
        "Redo what /undo reverted",
        _redo,
        argument_hint="[--conversation]",
        complete=among(*STEP_OPTIONS["redo"]),
    )
    api.register_command(
        "diff", "Show what this session changed, by file", _diff, argument_hint="[PATH]", while_running=True
    )
    api.register_command(
        "review",
        "Have the model review changes, without changing files",
        _review,
        argument_hint="[uncommitted|branch NAME|commit SHA]",
        complete=_reviewable,
    )
    api.register_command(
        "init",
        "Have the model propose a short AGENTS.md, or improve the one there is",
        _init,
        argument_hint="[TEXT]",
    )
    api.register_command(
        "label",
        "Label the last entry, to find it in the tree",
        _label,
        argument_hint="[NAME]",
        while_running=True,
    )
    api.register_command(
        "compact",
        "Compact the conversation; TEXT is an instruction for the summary",
        _compact,
        argument_hint="[TEXT]",
    )
    api.register_command("uncompact", "Undo the last compaction on this branch", _uncompact, argument_hint=None)


async def _help(arguments: str, context: CommandContext) -> CommandAction:
    words = arguments.lower().split()
    width = max(len(command.name) for command in context.commands)
    lines = []
    for command in context.commands:
        hint = f"{command.argument_hint}  " if command.argument_hint else ""
        line = f"/{command.name:<{width}}  {hint}{command.description}"
        if all(word in line.lower() for word in words):
            lines.append(line)
    return Reply("\n".join(lines) or f"no command is about {arguments!r}; /help lists all")


async def _session(_arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.session_report import session_report  # lazy: only for who asks

    return Reply(await session_report(context))


async def _sandbox(_arguments: str, context: CommandContext) -> CommandAction:
    return Reply(await context.describe_sandbox())


async def _net(arguments: str, context: CommandContext) -> CommandAction:
    if arguments:
        return Reply(f"network: {context.set_network(arguments, named=True)}")
    if not context.asker.can_ask or not context.network:
        return Reply(await context.describe_sandbox())
    from kaa.builtin.network_list import check_hosts  # lazy: only for who asks

    return Reply(f"network: {await check_hosts(context)}")


async def _reload(_arguments: str, context: CommandContext) -> CommandAction:
    return Reply(await context.reload())


async def _forward(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.port_commands import forward  # lazy: only for who uses it, as the next two

    return await forward(arguments, context)


async def _allow(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.port_commands import allow

    return await allow(arguments, context)


async def _ports(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.port_commands import ports

    return await ports(arguments, context)


async def _name(arguments: str, context: CommandContext) -> CommandAction:
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


async def _undo(arguments: str, context: CommandContext) -> CommandAction:
    match step_option("undo", arguments):
        case "--all":
            return Reply(await context.navigation.undo(uncertain="restore"))
        case "--conversation":
            return Reply(await context.navigation.undo(restore="conversation"))
        case "":
            return Reply(await context.navigation.undo())


async def _redo(arguments: str, context: CommandContext) -> CommandAction:
    if step_option("redo", arguments) == "--conversation":
        return Reply(await context.navigation.redo(restore="conversation"))
    return Reply(await context.navigation.redo())


async def _diff(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.diff_command import diff  # lazy: only for who asks

    return await diff(arguments, context)


async def _review(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.review_command import review  # lazy, as above

    return await review(arguments, context)


def _reviewable(typed: str, context: CommandContext) -> Sequence[Suggestion]:
    from kaa.builtin.review_command import reviewable  # lazy, as above

    return reviewable(typed, context)


async def _init(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.init_command import initialize  # lazy, as above

    return await initialize(arguments, context)


async def _label(arguments: str, context: CommandContext) -> CommandAction:
    context.navigation.label_here(arguments)
    return Reply(f"named it {arguments}" if arguments else "it has no name now")


async def _compact(arguments: str, context: CommandContext) -> CommandAction:
    end = await context.compaction.compact(arguments)
    if end.aborted:
        return Reply("stopped: the conversation is as it was")
    if end.error is not None:
        raise CommandError(f"the conversation is as it was: {end.error}")
    return Reply(_told(end))


async def _uncompact(_arguments: str, context: CommandContext) -> CommandAction:
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
