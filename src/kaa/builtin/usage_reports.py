"""The slash commands that say where tokens and money went."""

from kaa.core.usage import Spent
from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply

_ROWS = (
    ("system_prompt", "system prompt"),
    ("tools", "tools"),
    ("user", "your messages"),
    ("replies", "replies"),
    ("thinking", "thinking"),
    ("tool_calls", "tool calls"),
    ("tool_results", "tool results"),
    ("images", "images"),
)


def extend(api: ExtensionAPI) -> None:
    """Register the commands."""
    api.register_command("context", "Show what the model's context window is filled with", _context)
    api.register_command("cost", "Show the tokens and the money that this session took", _cost)


async def _context(_arguments: str, context: CommandContext) -> CommandAction:
    use, parts = context.usage.context, context.context_parts()
    free = max(use.window - use.tokens, 0)
    origin = "as the server counted, and what came since estimated" if use.measured else "estimated"
    lines = [
        f"{context.model_name}: {use.tokens:,} of {use.window:,} tokens, {use.share:.0%} ({origin})",
        "",
        "of which, estimated from lengths (4 characters are about a token):",
    ]
    sizes = [(name, getattr(parts, field)) for field, name in _ROWS]
    width = max(len(f"{size:,}") for _, size in [*sizes, ("", free)])
    lines += [
        f"  {name:<13} {size:>{width},}  {_share(size, use.window)}" for name, size in sizes if size or name != "images"
    ]
    lines.append(f"  {'free':<13} {free:>{width},}  {_share(free, use.window)}")
    return Reply("\n".join(lines))


async def _cost(_arguments: str, context: CommandContext) -> CommandAction:
    usage = context.usage
    columns = [
        ["", "input", "output", "cache read", "cache write", "cost"],
        _column("last turn", usage.turn),
        _column("session", usage.total),
    ]
    rows = [f"{label:<11}  {turn:>12}  {session:>12}" for label, turn, session in zip(*columns, strict=True)]
    return Reply("\n".join([*rows, *_remarks(usage.total)]))


def _column(title: str, spent: Spent) -> list[str]:
    usage = spent.usage
    tokens = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    return [title, *(f"{size:,}" for size in tokens), "?" if spent.cost is None else f"${spent.cost:.4f}"]


def _remarks(total: Spent) -> list[str]:
    remarks = []
    if total.cache_hit_rate is not None:
        remarks.append(f"{total.cache_hit_rate:.0%} of the input came from the provider's cache.")
    if total.unpriced:
        known = f" The others cost ${total.usage.cost.total:.4f}." if total.usage.cost.total else ""
        remarks.append(f"The price of {_replies(total.unpriced)} is not known.{known}")
    if total.unmeasured:
        remarks.append(f"Of {_replies(total.unmeasured)} the server did not say what it took; it is not counted.")
    return ["", *remarks] if remarks else []


def _replies(count: int) -> str:
    return "1 reply" if count == 1 else f"{count} replies"


def _share(size: int, window: int) -> str:
    return f"{size / window:>5.1%}" if window else ""
