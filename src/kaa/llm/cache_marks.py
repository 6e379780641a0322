"""Where Anthropic's cache marks go; also within Chat Completions, as OpenRouter takes them for Anthropic's models.

A mark asks the server to keep everything up to it, and to look there, and up to 20 content blocks before, for what it
kept earlier. There may be four. Two stand behind the tools and the system prompt, which other sessions share; two are
left for the conversation. https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

from collections.abc import Sequence

from kaa.core.messages import AssistantMessage, Message
from kaa.core.provider import Model
from kaa.llm.handoff import made_by
from kaa.llm.rendering import JsonObject
from kaa.llm.tuning import CacheRetention


def cache_mark(retention: CacheRetention) -> JsonObject:
    """The mark, as a key to add to what it stands behind; empty if nothing is to be kept."""
    match retention:
        case "none":
            return {}
        case "short":
            return {"cache_control": {"type": "ephemeral"}}
        case "long":
            return {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def marked_positions(spoken: Sequence[tuple[Message, JsonObject]], model: Model) -> set[int]:
    """Which messages to mark: the last, and where the last request that `model` has answered ended.

    That one is in the cache to its end, so the mark finds it, however many blocks of calls, results and remarks of the
    user (or words of another model) came since: searching back from the end would give up after 20.

    Args:
        spoken: the messages as they are sent, each with (the last of) what it was made of.
    """
    users = [position for position, (_, message) in enumerate(spoken) if message["role"] != "assistant"]
    replies = (position for position in range(len(spoken) - 1, -1, -1) if _is_reply(spoken[position][0], model))
    answered = next(replies, 0)
    before = [position for position in users if position < answered]
    return {*users[-1:], *before[-1:]}


def _is_reply(message: Message, model: Model) -> bool:
    return isinstance(message, AssistantMessage) and made_by(message, model)
