"""The texts of /context and /cost."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kaa.builtin.amounts import counted, dollars
from kaa.builtin.columns import aligned
from kaa.core.events import CacheMiss
from kaa.core.largest import ToolShare
from kaa.core.spending import Purpose, Spending
from kaa.core.usage import Spent, prompt_tokens
from kaa.ext.api import CommandAction, CommandContext, Reply
from kaa.ext.errors import CommandError
from kaa.session.edits import Shortened

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
# What is smaller is not worth a line.
_NAMED_TOKENS = 100
_MOST_TOOLS = 12
_NAME_LENGTH = 40
_ASIDE: Mapping[Purpose, str] = {
    "summary": "summaries",
    "title": "names",
    "tool": "tools",
    "extension": "extensions",
    "other": "other",
}
_CAUSES: Mapping[str, str] = {
    "model": "model switched",
    "tools": "tools changed",
    "system_prompt": "system prompt changed",
    "thinking": "thinking level switched",
    "message": "conversation changed",
    "expired": "expired",
    "first_request": "session opened anew",
    "too_small": "too small to be kept",
    "not_cached": "nothing kept by the server",
    "unknown": "dropped by the server",
}


async def context_report(_arguments: str, context: CommandContext) -> CommandAction:
    """Return what fills the context window."""
    use, parts = context.usage.context, context.context_parts()
    free = max(use.window - use.tokens, 0)
    origin = "as the server counted, and what came since estimated" if use.measured else "estimated"
    lines = [f"{context.model_name}: {use.tokens:,} of {use.window:,} tokens, {use.share:.0%} ({origin})"]
    threshold = context.compaction.threshold
    if threshold is None:
        lines.append("kaa does not compact this conversation by itself: enter /compact")
    else:
        left = threshold - use.tokens
        lines.append(
            f"kaa compacts the conversation at {threshold:,} tokens: "
            + (f"{left:,} to go, {left / threshold:.0%}" if left > 0 else "with the next request")
        )
    sizes = [(name, getattr(parts, field)) for field, name in _ROWS]
    lines += ["", "of which, estimated from lengths (4 characters are about a token):"]
    width = max(len(f"{size:,}") for _, size in [*sizes, ("", free)])
    lines += [_sized(name, size, width, use.window) for name, size in sizes if size or name != "images"]
    lines.append(_sized("free", free, width, use.window))
    accounts = context.accounting
    lines += _by_tool(accounts.by_tool())
    lines += _shorter(await accounts.shortened())
    large = [item for item in accounts.largest_items() if item.tokens >= _NAMED_TOKENS]
    for title, items in (("system prompt:", accounts.prompt_items()), ("largest messages and results:", large)):
        lines += ["", title] if items else []
        lines += [f"  {item.tokens:>{width},}  {item.label}" for item in items]
    return Reply("\n".join(lines))


def _by_tool(shares: Sequence[ToolShare]) -> list[str]:
    """What each tool takes of the window."""
    if not shares:
        return []
    rows = [("by tool", "calls", "call tokens", "result tokens")]
    rows += [_tool_row(_on_one_line(share.name), [share]) for share in shares[:_MOST_TOOLS]]
    if more := shares[_MOST_TOOLS:]:
        rows.append(_tool_row(f"{len(more)} more", more))
    return ["", *aligned(rows)]


def _tool_row(name: str, shares: Sequence[ToolShare]) -> tuple[str, str, str, str]:
    calls, called, given = zip(*((one.calls, one.call_tokens, one.result_tokens) for one in shares), strict=True)
    return f"  {name}", f"{sum(calls):,}", f"{sum(called):,}", f"{sum(given):,}"


def _on_one_line(name: str) -> str:
    """A name that a model made up may be anything."""
    return " ".join(name[:_NAME_LENGTH].split())


def _shorter(shortened: Shortened) -> list[str]:
    if not shortened.results:
        return []
    results = "1 old result is" if shortened.results == 1 else f"{shortened.results:,} old results are"
    return [
        "",
        f"{results} shortened for the model: about {shortened.tokens_saved:,} tokens less in each request, "
        f"{shortened.tokens_saved_since:,} so far.",
    ]


def _sized(name: str, size: int, width: int, window: int) -> str:
    share = f"{size / window:>5.1%}" if window else ""
    return f"  {name:<13} {size:>{width},}  {share}".rstrip()


async def cost_report(arguments: str, context: CommandContext) -> CommandAction:
    """Return where tokens and money went.

    Raises:
        CommandError: there is no such report.
    """
    spending = await context.accounting.spending()
    match arguments.strip():
        case "":
            return Reply("\n".join(_summary(spending)))
        case "misses":
            return Reply("\n".join(_listed(spending.misses)))
        case other:
            raise CommandError(f"/cost has no {other!r}: use /cost, or /cost misses")


def _summary(spending: Spending) -> list[str]:
    columns = [
        ["", "input", "output", "cache read", "cache write", "cost"],
        _column("last turn", spending.turn),
        *([_column("this branch", spending.branch)] if spending.branch != spending.total else []),
        _column("session", spending.total),
    ]
    lines = [
        "  ".join([f"{label:<11}", *(f"{cell:>12}" for cell in cells)]) for label, *cells in zip(*columns, strict=True)
    ]
    asked = [(name, spending.by_purpose[purpose]) for purpose, name in _ASIDE.items() if purpose in spending.by_purpose]
    if len(spending.by_model) > 1:
        lines += ["", *_table("by model", spending.by_model.items())]
    if asked:
        lines += ["", *_table("of which", asked)]
    return [*lines, *_remarks(spending)]


def _column(title: str, spent: Spent) -> list[str]:
    usage = spent.usage
    tokens = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    return [title, *(f"{size:,}" for size in tokens), dollars(spent.cost)]


def _table(title: str, rows: Iterable[tuple[str, Spent]]) -> list[str]:
    """Rows of figures under their titles."""
    cells = [(title, "requests", "input", "output", "cached", "cost")]
    for name, spent in rows:
        usage, rate = spent.usage, spent.cache_hit_rate
        whole, cached = prompt_tokens(usage), "" if rate is None else f"{rate:.0%}"
        cells.append((name, f"{spent.replies:,}", f"{whole:,}", f"{usage.output:,}", cached, dollars(spent.cost)))
    return aligned(cells)


def _remarks(spending: Spending) -> list[str]:
    total = spending.total
    remarks = []
    if total.cache_hit_rate is not None:
        remarks.append(f"{total.cache_hit_rate:.0%} of the input came from the provider's cache.")
    remarks += _misses_in_short(spending.misses)
    if total.unpriced:
        known = f" The others cost {dollars(total.usage.cost.total)}." if total.usage.cost.total else ""
        remarks.append(f"The price of {counted(total.unpriced, 'reply', 'replies')} is not known.{known}")
    if total.unmeasured:
        replies = counted(total.unmeasured, "reply", "replies")
        remarks.append(f"Of {replies} the server did not say what it took; it is not counted.")
    return ["", *remarks] if remarks else []


def _misses_in_short(misses: Sequence[CacheMiss]) -> list[str]:
    if not misses:
        return []
    causes = Counter(_CAUSES[miss.cause] for miss in misses)
    told = ", ".join(cause if count == 1 else f"{cause} {count} times" for cause, count in causes.most_common())
    tokens = sum(miss.tokens for miss in misses)
    count = "Once" if len(misses) == 1 else f"{len(misses)} times"
    return [
        f"{count} the cache missed ({told}): {tokens:,} tokens were paid for again{_more(misses)}. See /cost misses."
    ]


def _more(misses: Sequence[CacheMiss]) -> str:
    """What misses cost more than out of the cache, as far as prices are known."""
    known = [miss.cost for miss in misses if miss.cost is not None]
    if not known:
        return ", at a price that is not known"
    least = "" if len(known) == len(misses) else "at least "
    return f", {least}{dollars(sum(known))} more than from the cache"


def _listed(misses: Sequence[CacheMiss]) -> list[str]:
    if not misses:
        return ["the provider's cache gave what it could"]
    # Words come last, so that the figures stand one below the other.
    figures = aligned([("tokens", "cost more"), *((f"{miss.tokens:,}", dollars(miss.cost)) for miss in misses)], left=0)
    return [f"{row}  {detail}" for row, detail in zip(figures, ["why", *(m.detail for m in misses)], strict=True)]
