"""The slash commands that condense the conversation, and take that back."""

from kaa.builtin.counted import counted
from kaa.core.events import CompactionEnd
from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply
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
        "compact",
        "Condense the conversation; the text says what the summary is to look at",
        _compact,
        argument_hint="[TEXT]",
    )
    api.register_command("uncompact", "Take the last compaction on this branch back", _uncompact)


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
        f"condensed: {end.tokens_before:,} tokens → about {end.tokens_after:,}",
        f"a summary stands for {_listed(kinds)}; your own words were carried over",
        "/uncompact takes this back",
    ]
    return "\n".join([*lines, *([end.warning] if end.warning else [])])


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
