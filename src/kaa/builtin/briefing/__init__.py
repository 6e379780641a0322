"""The briefing: what the model would look up first in each project, and how much of a limit is left."""

from kaa.core.messages import UserMessage
from kaa.core.tool import ToolResult
from kaa.ext.api import ConversationContext, ExtensionAPI, ToolCall

_KIND = "briefing"


def extend(api: ExtensionAPI) -> None:
    """Register the hooks."""
    api.on_user_message(_brief)
    api.after_tool(_tell_limits)


async def _brief(_message: UserMessage, context: ConversationContext) -> None:
    """Add the briefing before the first message of the conversation, and of what a compaction left of it."""
    if not context.features.briefing or any(map(_is_briefing, context.session.messages)):
        return
    from kaa.builtin.briefing.gathering import briefing_of  # lazy: once in a conversation

    if text := await briefing_of(context):
        context.session.add_message(text, _KIND, display=False)


def _is_briefing(message: object) -> bool:
    return isinstance(message, UserMessage) and message.note is not None and message.note.kind == _KIND


async def _tell_limits(_call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
    """Add a line to the result where half of a limit is used, and again at 80 %."""
    if not context.limits or not context.features.briefing:
        return None
    from kaa.builtin.briefing.limits import told  # lazy: few runs have limits

    return told(result, context)
