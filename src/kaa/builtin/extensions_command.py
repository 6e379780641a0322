"""The slash command that lists the user's extensions with their costs, and switches them on and off."""

from kaa.builtin.amounts import counted
from kaa.ext.api import CommandContext, Reply, Suggestion
from kaa.ext.errors import CommandError
from kaa.ext.reports import ExtensionReport


async def extensions(arguments: str, context: CommandContext) -> Reply:
    """List the extensions, or enable or disable one."""
    match arguments.split(None, 1):
        case []:
            listed = context.extensions.listed()
            return Reply(
                "\n".join(line for one in listed for line in lines_about(one)) or "no extensions are installed"
            )
        case ["enable", name]:
            return Reply(await context.extensions.enable(name.strip()))
        case ["disable", name]:
            return Reply(await context.extensions.disable(name.strip()))
        case _:
            raise CommandError("use /extensions, /extensions enable NAME or /extensions disable NAME")


def names_completed(typed: str, context: CommandContext) -> list[Suggestion]:
    """Complete what is to be done, and the name."""
    names = [one.name for one in context.extensions.listed()]
    texts = [f"{word} {name}" for word in ("enable", "disable") for name in names]
    return [Suggestion(text) for text in texts if text.startswith(typed)]


def lines_about(one: ExtensionReport) -> list[str]:
    """What a user is told of one extension."""
    title = " ".join(part for part in (one.name, one.version) if part)
    facts = ", ".join(part for part in (one.state, one.kind, one.interface, one.source) if part)
    lines = [f"{title}: {facts}", f"  {one.path}"]
    if one.adds:
        lines.append(f"  adds {', '.join(one.adds)}")
    if one.state != "not loaded" and one.load_seconds:
        lines.append(f"  costs {', '.join(_costs_of(one))}")
    if one.failures and one.state != "failed":
        lines.append(f"  {counted(one.failures, 'failure')}, the last one: {one.problem}")
    elif one.problem:
        lines.append(f"  {one.problem}")
    return [*lines, *(f"  {problem}" for problem in one.refused)]


def _costs_of(one: ExtensionReport) -> list[str]:
    costs = [f"{_duration(one.load_seconds)} to start"]
    if one.calls:
        costs.append(
            f"{_duration(one.call_seconds)} in {counted(one.calls, 'hook call')}"
            f" (slowest: {one.slowest}, {_duration(one.slowest_seconds)})"
        )
    if one.prompt_tokens:
        costs.append(f"{counted(one.prompt_tokens, 'token')} in each request")
    return costs


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"
