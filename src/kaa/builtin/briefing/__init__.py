"""The briefing: what models look up first in each project, and how much of a limit is used.

It follows the first result of a tool, so that a question that needs no tool costs nothing, and nothing waits for it
before the first request; the prompt never changes.
"""

import msgspec

from kaa.core import events
from kaa.core.messages import ToolResultMessage
from kaa.core.tool import ToolResult
from kaa.ext.api import ConversationContext, ExtensionAPI, TextContent, ToolCall

HEADING = "[briefing by kaa]"


class _Briefed(msgspec.Struct):
    """Who has the briefing.

    Attributes:
        agents: their ids; the model of the conversation is "".
        known: whether it has is known of the model of the conversation, since it last moved in the session.
    """

    agents: set[str] = msgspec.field(default_factory=set)
    known: bool = False


def extend(api: ExtensionAPI) -> None:
    """Register the hooks."""
    api.after_tool(_brief)
    api.after_tool(_tell_limits)
    api.on_event(events.BranchChanged)(_forget)
    api.on_event(events.CompactionEnd)(_forget)


async def _brief(_call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
    if not context.model_calls or not context.features.briefing or _has_briefing(context):
        return None
    context.state(_Briefed, _Briefed).agents.add(context.caller)  # before the others of this reply ask
    from kaa.builtin.briefing.gathering import briefing_of  # lazy: once in a conversation

    text = await briefing_of(context)
    return msgspec.structs.replace(result, content=(*result.content, TextContent(text))) if text else None


def _has_briefing(context: ConversationContext) -> bool:
    state = context.state(_Briefed, _Briefed)
    if not context.caller and not state.known:
        state.known = True
        results = (one for one in context.session.messages if isinstance(one, ToolResultMessage))
        if any(HEADING in result.text for result in results):
            state.agents.add("")
    return context.caller in state.agents


def _forget(_event: object, context: ConversationContext) -> None:
    state = context.state(_Briefed, _Briefed)
    state.known = False
    state.agents.discard("")


async def _tell_limits(_call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
    """Add a line to the result where half of a limit is used, and again at 80 %."""
    if not context.model_calls or not context.limits or not context.features.briefing:
        return None
    from kaa.builtin.briefing.limits import told  # lazy: few runs have limits

    return told(result, context)
