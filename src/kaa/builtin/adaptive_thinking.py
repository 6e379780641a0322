"""Thinks a level harder where work is planned and where something went wrong, and a level less in between.

Only for models whose provider keeps the prompt whatever the level is; off unless the user wants it.
"""

from collections.abc import Sequence
from itertools import takewhile

from kaa.core.messages import Message, ToolResultMessage
from kaa.core.provider import Request
from kaa.ext.api import ConversationContext, ExtensionAPI, UseThinking


def extend(api: ExtensionAPI) -> None:
    """Register the hook."""
    api.before_request(_adapt)


async def _adapt(request: Request, context: ConversationContext) -> UseThinking | None:
    if not context.features.adaptive_thinking or request.thinking == "off":
        return None
    from kaa.core.prefix import keeps_thinking  # lazy: few users want this

    if keeps_thinking(request.model):
        return None
    levels = [level for level in context.models.current.levels if level != "off"]
    if request.thinking not in levels:
        return None
    place = levels.index(request.thinking) + (1 if _is_decisive(request.messages) else -1)
    level = levels[min(max(place, 0), len(levels) - 1)]
    return None if level == request.thinking else UseThinking(level)


def _is_decisive(messages: Sequence[Message]) -> bool:
    """Whether the model plans, as somebody has just said something, or has to find out why a call failed."""
    results = list(takewhile(lambda message: isinstance(message, ToolResultMessage), reversed(messages)))
    return not results or any(isinstance(one, ToolResultMessage) and one.is_error for one in results)
