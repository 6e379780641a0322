"""How each generation of Claude is told to think: up to 4.5 by a budget of tokens, later by an effort.

Sources: https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting, which lists what each model
takes, and https://platform.claude.com/docs/en/build-with-claude/effort.
"""

import re
from collections.abc import Iterable
from typing import Final

from kaa.core.messages import AssistantMessage, Message, ToolResultMessage
from kaa.core.provider import Request, ThinkingLevel
from kaa.llm.rendering import JsonObject
from kaa.llm.wire import Endpoint

_BUDGET_TOKENS: Final[dict[ThinkingLevel, int]] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 16_384,
    "max": 16_384,
}
_SMALLEST_BUDGET_TOKENS: Final = 1024
_SMALLEST_ANSWER_TOKENS: Final = 1024

# claude-opus-4-6, us.anthropic.claude-sonnet-4-6-v1:0, claude-opus-4-20250514 (a date is no minor version).
_GENERATION: Final = re.compile(r"claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_FIRST_ADAPTIVE: Final = (4, 6)
_FIRST_WITH_XHIGH: Final = (4, 7)
_OFF: Final[JsonObject] = {"thinking": {"type": "disabled"}}


def thinking_fields(request: Request, endpoint: Endpoint, *, broken_in: bool, adaptive_only: bool) -> JsonObject:
    """The parameters that switch reasoning.

    Args:
        request: what is asked, of a model that can think.
        endpoint: whom.
        broken_in: the turn that goes on has begun without thinking; see `begun_without_thinking`.
        adaptive_only: the server has said that the model decides for itself, and always thinks.
    """
    level, model, levels = request.thinking, request.model, endpoint.thinking_levels
    if level == "off":
        if not adaptive_only and levels.get("off", "") is not None:
            return _OFF
        level = "minimal"  # kaa's own requests ask for none whatever the model
    generation = _generation(model.id)
    adaptive = adaptive_only or endpoint.compat.force_adaptive_thinking
    if adaptive is None:
        adaptive = generation >= _FIRST_ADAPTIVE
    if adaptive:
        effort = levels.get(level) or _effort(level, generation)
        return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}
    if broken_in and "claude" in model.id:
        return _OFF
    # Both the reasoning and the answer come out of max_tokens.
    wanted = max(_SMALLEST_BUDGET_TOKENS, endpoint.tuning.budgets(_BUDGET_TOKENS)[level])
    budget = min(wanted, request.reply_limit - _SMALLEST_ANSWER_TOKENS)
    if budget < _SMALLEST_BUDGET_TOKENS:
        return _OFF
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def begun_without_thinking(spoken: Iterable[tuple[Message, JsonObject]]) -> bool:
    """Whether the turn that goes on has begun without thinking: another model began it, or thinking was off.

    A turn lasts until its model calls no tool any more. One that is told to think by a budget has to begin with
    thinking; otherwise the server refuses the request ("Expected `thinking` or `redacted_thinking`, but found …")
    and advises to switch thinking off. https://platform.claude.com/docs/en/build-with-claude/extended-thinking

    Args:
        spoken: the messages as they are sent, each with (the last of) what it was made of.
    """
    missing, begins, after_results = False, True, False
    for message, sent in spoken:
        if not isinstance(message, AssistantMessage):
            results = isinstance(message, ToolResultMessage)
            # What the user says between results and the reply to them may or may not begin a turn.
            begins = begins or not results
            missing = missing and (results or after_results)
            after_results = results
        else:
            missing = missing or (begins and "thinking" not in sent["content"][0]["type"])
            begins = after_results = False
    return missing


def _generation(model_id: str) -> tuple[int, int]:
    match = _GENERATION.search(model_id)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def _effort(level: ThinkingLevel, generation: tuple[int, int]) -> str:
    if level == "minimal":
        return "low"
    if level == "xhigh" and generation < _FIRST_WITH_XHIGH:
        return "high"
    return level
