"""The briefing: what models look up first in each project, and how much of a limit is used.

It is gathered while the model reads the first result of a tool, and follows a later one: a question that needs no tool
costs nothing, no result waits for it unless a setting says so, and the prompt never changes.
"""

import asyncio

import msgspec

from kaa.core import events
from kaa.core.messages import ToolResultMessage
from kaa.core.tool import ToolResult
from kaa.ext.api import ConversationContext, ExtensionAPI, SessionEnd, TextContent, ToolCall

HEADING = "[briefing by kaa]"

# Until the first result is on its way to the model.
_HEAD_START_SECONDS = 0.02
# What takes longer, such as git in a huge repository, is left out.
_MOST_SECONDS = 2.0


class _Briefing(msgspec.Struct):
    """Who has the briefing.

    Attributes:
        agents: their ids; the model of the conversation is "".
        known: whether it has is known of the model of the conversation, since it last moved in the session.
        gathered: of those who will get it, by id.
    """

    agents: set[str] = msgspec.field(default_factory=set)
    known: bool = False
    gathered: dict[str, asyncio.Task[str]] = msgspec.field(default_factory=dict)


def extend(api: ExtensionAPI) -> None:
    """Register the hooks."""
    api.after_tool(_brief)
    api.after_tool(_tell_limits)
    api.on_event(events.BranchChanged)(_forget)
    api.on_event(events.CompactionEnd)(_forget)
    api.on_session_end(_end)


async def _brief(_call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
    if not context.model_calls or not context.features.briefing or _has_briefing(context):
        return None
    briefing = context.state(_Briefing, _Briefing)
    gathered, seconds = briefing.gathered.get(context.caller), context.features.briefing_wait_ms / 1000
    if gathered is None:
        gathered = briefing.gathered[context.caller] = asyncio.create_task(_gather(context, seconds))
        if seconds:
            await asyncio.wait((gathered,), timeout=seconds)
    if not gathered.done():
        return None
    del briefing.gathered[context.caller]
    briefing.agents.add(context.caller)
    text = "" if gathered.cancelled() else gathered.result()
    return msgspec.structs.replace(result, content=(*result.content, TextContent(text))) if text else None


async def _gather(context: ConversationContext, awaited_seconds: float) -> str:
    if not awaited_seconds:
        await asyncio.sleep(_HEAD_START_SECONDS)
    from kaa.builtin.briefing.gathering import briefing_of  # lazy: once in a conversation

    return await briefing_of(context, max(_MOST_SECONDS, awaited_seconds))


def _has_briefing(context: ConversationContext) -> bool:
    state = context.state(_Briefing, _Briefing)
    if not context.caller and not state.known:
        state.known = True
        results = (one for one in context.session.messages if isinstance(one, ToolResultMessage))
        if any(HEADING in result.text for result in results):
            state.agents.add("")
    return context.caller in state.agents


def _forget(_event: object, context: ConversationContext) -> None:
    state = context.state(_Briefing, _Briefing)
    state.known = False
    state.agents.discard("")


async def _end(_end: SessionEnd, context: ConversationContext) -> None:
    gathered = context.state(_Briefing, _Briefing).gathered.values()
    for task in gathered:
        task.cancel()
    await asyncio.gather(*gathered, return_exceptions=True)


async def _tell_limits(_call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
    """Add a line to the result where half of a limit is used, and again at 80 %."""
    if not context.model_calls or not context.limits or not context.features.briefing:
        return None
    from kaa.builtin.briefing.limits import told  # lazy: few runs have limits

    return told(result, context)
