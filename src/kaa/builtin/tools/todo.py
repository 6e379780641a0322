"""The model's list of steps: kept in the session, shown above the editor, and carried through compaction."""

from collections.abc import Sequence

from kaa.core.messages import Json
from kaa.core.tool import ToolError, ToolResult, text_result
from kaa.ext.api import CommandContext, ConversationContext, ToolContext

_KIND = "todos"
_MARKS = ("[ ]", "[>]", "[x]")  # open, in work, done
_MOST_ITEMS = 50
_MOST_CHARACTERS = 200
_MOST_SHOWN = 7


async def set_todo(items: Sequence[str], context: ToolContext) -> ToolResult:
    """Replace the list.

    Args:
        items: each with its mark before it, see `_MARKS`.

    Raises:
        ToolError: an item has no mark, or there are too many.
    """
    if len(items) > _MOST_ITEMS:
        raise ToolError(f"At most {_MOST_ITEMS} items: leave out what is done.")
    cleaned = [" ".join(item.split()) for item in items]
    for item in cleaned:
        if _mark(item) not in _MARKS or not _text(item):
            raise ToolError(f"{item[:_MOST_CHARACTERS]!r} is no item. Begin each with [ ], [>] or [x].")
    kept = [f"{_mark(item)} {_text(item)[:_MOST_CHARACTERS]}" for item in cleaned]
    context.session.append(list[Json](kept), _KIND)
    show(context)
    return text_result(f"{_count(kept)} done.")


def show(context: ConversationContext) -> None:
    """Show what is not done yet above the editor; nothing if all is."""
    items = current(context)
    lines = [] if _is_over(items) else _window(items)
    context.show.widget(_KIND, "\n".join(lines))


def current(context: CommandContext | ConversationContext) -> Sequence[str]:
    """The list on this branch of the session."""
    for entry in reversed(context.session.entries(_KIND)):
        if isinstance(entry.data, list):
            items = [item for item in entry.data if isinstance(item, str)]
            return [item for item in items if _mark(item) in _MARKS]
    return ()


def carried(context: ConversationContext) -> str | None:
    """What a summary has to say of it: the model does not see its calls any more."""
    items = current(context)
    return None if _is_over(items) else "\n".join(items)


def _window(items: Sequence[str]) -> list[str]:
    """The items around the first that is not done."""
    first = next((place for place, item in enumerate(items) if _mark(item) != "[x]"), 0)
    start = max(0, min(first - 1, len(items) - _MOST_SHOWN))
    shown = list(items[start : start + _MOST_SHOWN])
    left_out = len(items) - len(shown)
    return [*shown, *([f"({_count(items)} done, {left_out} more: /todos)"] if left_out else [])]


def _is_over(items: Sequence[str]) -> bool:
    return all(_mark(item) == "[x]" for item in items)


def _count(items: Sequence[str]) -> str:
    return f"{sum(_mark(item) == '[x]' for item in items)} of {len(items)}"


def _mark(item: str) -> str:
    return item[:3].lower()


def _text(item: str) -> str:
    return item[3:].strip()
