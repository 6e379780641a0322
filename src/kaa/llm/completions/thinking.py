"""How reasoning is switched over Chat Completions: everybody has fields of their own for it."""

from typing import Final

from kaa.core.messages import Json
from kaa.core.provider import Request, ThinkingLevel
from kaa.llm.compat import Compat
from kaa.llm.rendering import JsonObject
from kaa.llm.thinking_levels import USUAL_EFFORTS
from kaa.llm.wire import Endpoint

_BASETEN_ARGUMENTS: Final[dict[str, Json]] = {"enable_thinking": {"$var": "thinking.enabled"}}


# Where a server takes the most tokens of reasoning, and the user has said nothing else.
_BUDGET_TOKENS: Final[dict[ThinkingLevel, int]] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 16_384,
    "max": 16_384,
}
# Reasoning and answer come out of the same limit.
_SMALLEST_ANSWER_TOKENS: Final = 1024


def thinking_fields(request: Request, endpoint: Endpoint) -> JsonObject:
    """The fields of a request that make a model think as hard as the request wants, or not think with `off`."""
    field, budget = endpoint.compat.budget_field, _budget(request, endpoint)
    limit: JsonObject = {field: budget} if field and budget else {}
    return {**_switches(request.thinking, endpoint, budget), **limit}


def _budget(request: Request, endpoint: Endpoint) -> int | None:
    """The most tokens of reasoning; None without reasoning, or where the reply has too few for it."""
    wanted = endpoint.tuning.budgets(_BUDGET_TOKENS).get(request.thinking)
    room = request.reply_limit - _SMALLEST_ANSWER_TOKENS
    return min(wanted, room) if wanted and room > 0 else None


def _switches(level: ThinkingLevel, endpoint: Endpoint, budget: int | None) -> JsonObject:
    compat, levels = endpoint.compat, endpoint.thinking_levels
    effort = levels.get(level, USUAL_EFFORTS.get(level))
    by_effort: JsonObject = {"reasoning_effort": effort} if effort and compat.supports_reasoning_effort else {}
    match compat.thinking_format:
        case "openai":
            return by_effort
        case "baseten":
            return _by_template(compat, effort, budget, enabled=level != "off") | by_effort
        case "chat-template" | "qwen-chat-template":
            return _by_template(compat, effort, budget, enabled=level != "off")
        case "ant-ling":
            # Only efforts that the model's entry names: the server refuses others.
            return {"reasoning": {"effort": named}} if level != "off" and (named := levels.get(level)) else {}
    if level != "off":
        return _switched_on(compat, effort, by_effort)
    # Where a model cannot be kept from thinking, saying so would be refused.
    return _switched_off(compat, effort) if "off" not in levels or effort else {}


def _switched_off(compat: Compat, effort: str | None) -> JsonObject:
    match compat.thinking_format:
        case "openrouter":
            return {"reasoning": {"effort": effort or "none"}}
        case "together":
            return {"reasoning": {"enabled": False}}
        case "deepseek" | "zai":
            return {"thinking": {"type": "disabled"}}
        case "qwen":
            return {"enable_thinking": False}
        case "string-thinking":
            return {"thinking": effort or "none"}
        case _:
            return {}


def _switched_on(compat: Compat, effort: str | None, by_effort: JsonObject) -> JsonObject:
    match compat.thinking_format:
        case "openrouter":
            return {"reasoning": {"effort": effort}} if effort else {}
        case "together":
            return {"reasoning": {"enabled": True}} | by_effort
        case "deepseek":
            return {"thinking": {"type": "enabled"}} | by_effort
        case "zai":
            # The reasoning of earlier turns is sent back, and shall count.
            return {"thinking": {"type": "enabled", "clear_thinking": False}} | by_effort
        case "qwen":
            return {"enable_thinking": True} | by_effort
        case "string-thinking":
            return {"thinking": effort} if effort else {}
        case _:
            return by_effort


def _by_template(compat: Compat, effort: str | None, budget: int | None, *, enabled: bool) -> JsonObject:
    """The arguments of the model's chat template."""
    if compat.thinking_format == "qwen-chat-template":
        return {"chat_template_kwargs": {"enable_thinking": enabled, "preserve_thinking": True}}
    if compat.thinking_format == "baseten":
        field, written = "chat_template_args", compat.chat_template_args or _BASETEN_ARGUMENTS
    else:
        field, written = "chat_template_kwargs", compat.chat_template_kwargs
    values = {name: _template_value(value, effort, budget, enabled=enabled) for name, value in written.items()}
    given = {name: value for name, value in values.items() if value is not None}
    return {field: given} if given else {}


def _template_value(value: Json, effort: str | None, budget: int | None, *, enabled: bool) -> Json:
    """A value as models.json has it: literal, or `{"$var": "thinking.enabled" | "thinking.effort" | …}`."""
    if not isinstance(value, dict):
        return value
    if value.get("omitWhenOff") and not enabled:
        return None
    match value.get("$var"):
        case "thinking.enabled":
            return enabled
        case "thinking.effort":
            return effort
        case "thinking.budget":
            return budget
        case _:
            return None
