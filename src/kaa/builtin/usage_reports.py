"""The slash commands that say where tokens and money went, what fills the window, and what extensions cost."""

from kaa.builtin.completing import among
from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Suggestion


def extend(api: ExtensionAPI) -> None:
    """Register the commands."""
    api.register_command(
        "context", "Show the use of the context window", _context, argument_hint=None, while_running=True
    )
    api.register_command(
        "cost",
        "Show the tokens and cost of the session; misses: the causes of cache misses",
        _cost,
        argument_hint="[misses]",
        complete=among("misses"),
        while_running=True,
    )
    api.register_command(
        "extensions",
        "List the extensions with their costs, or switch one for this run of kaa",
        _extensions,
        argument_hint="[enable NAME|disable NAME]",
        complete=_extension_names,
        while_running=True,
    )


async def _context(_arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.usage_tables import context_report  # lazy: like the others, it is used seldom

    return await context_report(context)


async def _cost(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.usage_tables import cost_report

    return await cost_report(arguments, context)


async def _extensions(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.extensions_command import extensions

    return await extensions(arguments, context)


def _extension_names(typed: str, context: CommandContext) -> list[Suggestion]:
    names = [one.name for one in context.extensions.listed()]
    texts = [f"{word} {name}" for word in ("enable", "disable") for name in names]
    return [Suggestion(text) for text in texts if text.startswith(typed)]
