"""What the small slash commands do: help, the sandbox, its hosts, the session, its name, undo, redo, compaction."""

import time
from collections.abc import Sequence

from kaa.builtin.amounts import counted, dollars
from kaa.builtin.columns import aligned
from kaa.builtin.picking import pick
from kaa.builtin.step_options import step_option
from kaa.core.events import CompactionEnd
from kaa.core.usage import prompt_tokens
from kaa.ext.api import CommandAction, CommandContext, Reply
from kaa.ext.errors import CommandError
from kaa.session.figures import SessionFigures
from kaa.session.naming import unix_milliseconds
from kaa.workspace.network.registries import ALL, hosts_of, words

# How people call what was dropped: one, and several.
_KINDS = {
    "user": ("message of yours", "messages of yours"),
    "assistant": ("reply", "replies"),
    "toolResult": ("tool result", "tool results"),
    "other": ("note", "notes"),
}
_SPEAKERS = {
    "user": "yours",
    "assistant": "replies",
    "tool": "tool results",
    "command": "your commands",
    "note": "notes",
    "compaction": "compactions",
    "branch_summary": "branch summaries",
}
_WORDS = {"off": "no host", "on": "the public internet"}
_CHECKED, _UNCHECKED = "[x] ", "[ ] "


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


async def session_report(context: CommandContext) -> str:
    """The session in some lines."""
    figures = await context.accounting.figures()
    spent = context.usage.total
    tokens = prompt_tokens(spent.usage)
    rows = [
        ("file", context.session_path or "none (not kept)"),
        ("id", context.session_id),
        ("name", figures.name or "none: /name TEXT gives it one"),
        *([("parent", figures.parent)] if figures.parent else []),
        ("created", _local_time(figures.created)),
        ("model", context.model_name),
        ("tools", ", ".join(context.active_tools) or "none"),
        ("branches", f"{figures.branches}"),
        ("tokens", f"{tokens:,} in, {spent.usage.output:,} out"),
        ("cost", "not known: see /cost" if spent.cost is None else dollars(spent.cost)),
    ]
    return "\n".join([*(f"{name:<9} {value}" for name, value in rows), *_messages(figures)])


def _messages(figures: SessionFigures) -> list[str]:
    """Who said how much."""
    if not figures.everywhere:
        return ["", "nothing has been said yet"]
    said = [
        (name, f"{figures.here.get(kind, 0):,}", f"{figures.everywhere[kind]:,}")
        for kind, name in _SPEAKERS.items()
        if kind in figures.everywhere
    ]
    here, everywhere = sum(figures.here.values()), sum(figures.everywhere.values())
    table = [("messages", "here", "all branches"), *said, ("together", f"{here:,}", f"{everywhere:,}")]
    if here == everywhere:
        table = [(name, count, "") for name, count, _ in table]
    return ["", *aligned(table)]


def _local_time(timestamp: str) -> str:
    milliseconds = unix_milliseconds(timestamp)
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(milliseconds / 1000)) if milliseconds else "not known"


async def check_hosts(context: CommandContext) -> str:
    """Let the person check and uncheck until they close the list. Returns what commands can reach then."""
    offered = words()
    while True:
        now = context.network
        chosen = _chosen(now)
        offered = tuple(dict.fromkeys((*offered, *chosen)))  # what was unchecked can be checked again
        current = now if now in _WORDS else None
        option = await pick(
            context.asker, "Which hosts can commands reach?", _options(offered, chosen), "/net HOSTS", current
        )
        if option is None:
            return now
        if option in _WORDS:
            return context.set_network(option)
        word = option[len(_CHECKED) :]
        after = [one for one in chosen if one != word] if word in chosen else [*chosen, word]
        context.set_network(",".join(after) or "off")


def _options(offered: Sequence[str], chosen: Sequence[str]) -> dict[str, str]:
    boxes = {(_CHECKED if word in chosen else _UNCHECKED) + word: ", ".join(hosts_of(word) or ()) for word in offered}
    return {**_WORDS, **boxes}


def _chosen(network: str) -> list[str]:
    """The parts of a list that are permitted, each group of registries by itself."""
    parts = [word for part in network.split(",") for word in (words() if part == ALL else (part,))]
    return [] if parts in (["off"], ["on"]) else parts
