"""What `/session` tells: where the session is, where it came from, and how much has been said in it."""

import time

from kaa.builtin.amounts import dollars
from kaa.builtin.columns import aligned
from kaa.core.usage import prompt_tokens
from kaa.ext.api import CommandContext
from kaa.session.figures import SessionFigures
from kaa.session.naming import unix_milliseconds

_SPEAKERS = {
    "user": "yours",
    "assistant": "replies",
    "tool": "tool results",
    "command": "your commands",
    "note": "notes",
    "compaction": "compactions",
    "branch_summary": "branch summaries",
}


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
