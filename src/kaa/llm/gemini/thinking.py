"""How each generation of Gemini is told to think: 2.x by a budget of tokens, 3 and later by a level.

Sources: https://ai.google.dev/gemini-api/docs/thinking, and the tables of pi 0.74.
"""

import re
from typing import Final, NamedTuple

from kaa.core.provider import Request, ThinkingLevel
from kaa.llm.rendering import JsonObject
from kaa.llm.thinking_levels import by_nearness
from kaa.llm.tuning import SMALLEST_ANSWER_TOKENS
from kaa.llm.wire import Endpoint

# gemini-2.5-pro, gemini-3-flash-preview, google/gemini-3.1-pro, gemini-live-2.5-flash; gemini-exp-1206 has none.
_GENERATION: Final = re.compile(r"gemini-(?:[a-z]+-)*(\d{1,2})(?!\d)(?:\.(\d{1,2}))?")
_NEWEST: Final = (99, 0)  # what gemini-flash-latest means
_FIRST_WITH_LEVELS: Final = (3, 0)
_FIRST_PRO_WITH_MEDIUM: Final = (3, 1)


class _Budgets(NamedTuple):
    """The tokens a model may be given to think with, and whether it can do without."""

    least: int
    most: int
    can_be_off: bool


_PRO: Final = _Budgets(128, 32_768, can_be_off=False)
_LITE: Final = _Budgets(512, 24_576, can_be_off=True)
_FLASH: Final = _Budgets(128, 24_576, can_be_off=True)


def generation(model_id: str) -> tuple[int, int]:
    """The generation of a model, the newest for a name without a number; (0, 0) if it is no Gemini."""
    match = _GENERATION.search(model_id)
    if match:
        return int(match[1]), int(match[2] or 0)
    return _NEWEST if "gemini-" in model_id else (0, 0)


def thinking_config(request: Request, endpoint: Endpoint) -> JsonObject:
    """The `thinkingConfig` of a request to a model that can think.

    What the catalogue or the user call the level counts: a number is a budget, a word is a level. Where they say
    that the model does not have it, the nearest one is taken: kaa's own requests ask for none whatever the model.
    """
    shown = {} if request.thinking == "off" else {"includeThoughts": True}
    level, model_id = _nearest(request.thinking, endpoint), request.model.id
    named = endpoint.thinking_levels.get(level)
    if named is not None and named.lstrip("-").isdigit():
        return {**shown, "thinkingBudget": int(named)}
    if named is None and (2, 0) <= generation(model_id) < _FIRST_WITH_LEVELS:
        return {**shown, "thinkingBudget": _budget(level, request, endpoint)}
    return {**shown, "thinkingLevel": (named or _level(level, model_id)).upper()}


def _nearest(level: ThinkingLevel, endpoint: Endpoint) -> ThinkingLevel:
    """`level`, or the next higher one that the model has, or else the next lower one."""
    return next((name for name in by_nearness(level) if endpoint.thinking_levels.get(name, name) is not None), level)


def _level(level: ThinkingLevel, model_id: str) -> str:
    """What Gemini calls `level`. It cannot be switched off, and Pro lacks some levels: the nearest one is taken."""
    levels: dict[ThinkingLevel, str] = {"off": "minimal", "minimal": "minimal", "low": "low", "medium": "medium"}
    if "-pro" in model_id:
        medium = "medium" if generation(model_id) >= _FIRST_PRO_WITH_MEDIUM else "high"
        levels = {"off": "low", "minimal": "low", "low": "low", "medium": medium}
    return levels.get(level, "high")


def _budget(level: ThinkingLevel, request: Request, endpoint: Endpoint) -> int:
    model_id = request.model.id
    limits = _PRO if "-pro" in model_id else _LITE if "-lite" in model_id else _FLASH
    if level == "off":
        return 0 if limits.can_be_off else limits.least
    usual: dict[ThinkingLevel, int] = {"minimal": limits.least, "low": 2048, "medium": 8192}
    wanted = endpoint.tuning.budgets(usual).get(level, limits.most)
    return max(limits.least, min(wanted, limits.most, request.reply_limit - SMALLEST_ANSWER_TOKENS))
