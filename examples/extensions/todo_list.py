"""To-do list: a tool for the model, a widget above the editor, and `/todo` for the user.

The list is kept in the session, so it is right after a resume and after `/rewind`.
"""

from typing import Literal

import msgspec

from kaa.ext.api import CommandContext, ConversationContext, ExtensionAPI, SessionStart, Text, ToolContext

_MARKS = {"open": "☐", "active": "▶", "done": "☑"}


class Item(msgspec.Struct):
    """One thing to do."""

    text: str
    state: Literal["open", "active", "done"] = "open"


def current(context: ConversationContext | CommandContext) -> list[Item]:
    """The list as the current branch of the session has it."""
    entries = context.session.entries("list")
    return msgspec.convert(entries[-1].data, list[Item]) if entries else []


def show(context: ConversationContext | CommandContext) -> str:
    """Draw the list above the editor; it disappears when everything is done."""
    items = current(context)
    lines = [f"{_MARKS[item.state]} {item.text}" for item in items]
    is_over = all(item.state == "done" for item in items)
    context.show.widget("list", "" if is_over else Text("\n".join(lines)))
    return "\n".join(lines) or "There is nothing to do."


def extend(kaa: ExtensionAPI) -> None:
    @kaa.tool(risk="read", snippet="keep a to-do list for work of several steps")
    async def todo(items: list[Item], context: ToolContext) -> str:
        """Replace the to-do list that the user sees. Mark one item active before you begin it, and done after.

        Args:
            items: the whole list, in order.
        """
        context.session.append(msgspec.to_builtins(items), "list")
        return show(context)

    @kaa.command(name="todo", argument_hint=None)
    async def show_list(arguments: str, context: CommandContext) -> str:
        """Show the to-do list"""
        return show(context)

    @kaa.on_session_start
    async def restore(start: SessionStart, context: ConversationContext) -> None:
        show(context)
