"""Loop detection: calls that lead nowhere are told to the model, then to the user, and then the run pauses."""

from typing import TYPE_CHECKING

from kaa.core.events import (
    AgentEnd,
    AgentStart,
    CompactionEnd,
    MessageEnd,
    ResultsShortened,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from kaa.core.hooks import GiveUp
from kaa.core.messages import ToolCall, UserMessage
from kaa.core.provider import Request
from kaa.core.tool import ToolResult
from kaa.ext.api import ConversationContext, ExtensionAPI

if TYPE_CHECKING:
    from kaa.builtin.loop_detection.watching import CallWatch


# From here on calls do not count as repeated; what the model no longer has, it may well look at again.
_BEGINNINGS = (AgentStart, AgentEnd, CompactionEnd, ResultsShortened)


class Watched:
    """What is known of the calls of a conversation; nothing before the first call."""

    def __init__(self) -> None:
        self.watch: CallWatch | None = None


def extend(api: ExtensionAPI) -> None:
    """Register the hooks."""
    api.on_event(*_BEGINNINGS, MessageEnd, ToolExecutionStart, ToolExecutionEnd)(_observe)
    api.after_tool(_look)
    api.before_request(_escalate)


def _observe(
    event: AgentStart
    | AgentEnd
    | CompactionEnd
    | ResultsShortened
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionEnd,
    context: ConversationContext,
) -> None:
    watched = context.state(Watched, Watched)
    match event:
        case ToolExecutionStart() if context.features.loop_detection:
            if watched.watch is None:
                from kaa.builtin.loop_detection.watching import CallWatch  # lazy: it waits for the first call

                watched.watch = CallWatch()
            watched.watch.begin(event)
        case ToolExecutionEnd() if watched.watch is not None:
            watched.watch.end(event, context)
        case MessageEnd() if not isinstance(event.message, UserMessage) or event.message.origin != "person":
            pass
        case _ if watched.watch is not None:
            watched.watch.forget(event.agent or "")
        case _:
            pass


async def _look(call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
    watch = context.state(Watched, Watched).watch
    return None if watch is None else watch.look(call, result, context)


async def _escalate(_request: Request, context: ConversationContext) -> GiveUp | None:
    watch = context.state(Watched, Watched).watch
    return None if watch is None else await watch.escalate(context)
