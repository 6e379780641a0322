"""From the level a user asks for to what each vendor's model is sent: a level that it has, in the vendor's words."""

from pathlib import Path

import pytest

from kaa.core.messages import Json, UserMessage
from kaa.core.provider import Model, Request, ThinkingLevel
from kaa.llm.models.registry import ModelChoice
from kaa.llm.thinking_levels import nearest_level
from kaa.llm.tuning import Tuning
from tests.support.catching import asked, body_of, resolved

_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "xhigh", "max")


def _sent(home: Path, query: str, level: ThinkingLevel, tuning: Tuning | None = None) -> Json:
    """The parameters that a request to the model has for thinking."""
    model = resolved(home, query, ModelChoice(thinking=level), tuning)
    request = Request(model.model, "", [UserMessage("q")], thinking=model.thinking)
    body = body_of(asked(model, request))
    told: dict[str, Json] = {key: body[key] for key in ("thinking", "output_config", "reasoning_effort") if key in body}
    told |= {"effort": body["reasoning"]["effort"]} if "effort" in body.get("reasoning", {}) else {}
    told |= body.get("generationConfig", {}).get("thinkingConfig", {})
    told.pop("includeThoughts", None)
    return told


def _budget(tokens: int) -> Json:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


def _adaptive(effort: str) -> Json:
    return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}


_OFF: Json = {"thinking": {"type": "disabled"}}

# What is sent at each of the seven levels. The facts are the vendors'; a model without a level gets the next higher
# one it has, or else the highest.
_TABLE: dict[str, tuple[Json, ...]] = {
    "anthropic/claude-opus-4-5": (
        _OFF,
        *(_budget(tokens) for tokens in (1024, 2048, 8192, 16_384, 16_384, 16_384)),
    ),
    "anthropic/claude-opus-4-6": (_OFF, *map(_adaptive, ("low", "low", "medium", "high", "max", "max"))),
    "anthropic/claude-opus-5": (_OFF, *map(_adaptive, ("low", "low", "medium", "high", "xhigh", "max"))),
    "openai/gpt-5": tuple({"effort": e} for e in ("minimal", "minimal", "low", "medium", "high", "high", "high")),
    "openai/gpt-5.2": tuple({"effort": e} for e in ("none", "low", "low", "medium", "high", "xhigh", "xhigh")),
    "openai/o3": tuple({"effort": e} for e in ("low", "low", "low", "medium", "high", "high", "high")),
    "openai/gpt-4.1": ({},) * 7,
    "google/gemini-2.5-pro": tuple({"thinkingBudget": n} for n in (128, 128, 2048, 8192, 32_768, 32_768, 32_768)),
    "google/gemini-2.5-flash": tuple({"thinkingBudget": n} for n in (0, 128, 2048, 8192, 24_576, 24_576, 24_576)),
    "google/gemini-3-flash-preview": tuple(
        {"thinkingLevel": level} for level in ("MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH")
    ),
}


@pytest.mark.parametrize(
    ("query", "level", "expected"),
    [(query, level, sent) for query, row in _TABLE.items() for level, sent in zip(_LEVELS, row, strict=True)],
)
def test_each_level_reaches_the_model_in_its_vendors_words(
    tmp_path: Path, query: str, level: ThinkingLevel, expected: Json
) -> None:
    assert _sent(tmp_path, query, level) == expected


@pytest.mark.parametrize(
    ("query", "level", "expected"),
    [
        ("anthropic/claude-opus-4-5", "high", _budget(30_000)),
        ("anthropic/claude-opus-4-5", "low", _budget(1024)),
        ("anthropic/claude-opus-4-5", "medium", _budget(8192)),
        ("anthropic/claude-opus-4-6", "high", _adaptive("high")),
        ("google/gemini-2.5-flash", "high", {"thinkingBudget": 24_576}),
        ("google/gemini-2.5-pro", "high", {"thinkingBudget": 30_000}),
        ("google/gemini-2.5-pro", "low", {"thinkingBudget": 128}),
    ],
)
def test_budgets_of_the_user_go_to_models_that_take_budgets_within_their_limits(
    tmp_path: Path, query: str, level: ThinkingLevel, expected: Json
) -> None:
    assert _sent(tmp_path, query, level, Tuning(thinking_budgets={"high": 30_000, "low": 100})) == expected


def test_a_model_may_have_a_level_of_its_own_in_the_settings(tmp_path: Path) -> None:
    tuning = Tuning(thinking_levels={"anthropic/claude-opus-4-5": "high", "openai/o3": "off"})
    default = ModelChoice(default_thinking="low")

    def level(query: str, choice: ModelChoice = default) -> ThinkingLevel:
        return resolved(tmp_path, query, choice, tuning).thinking

    assert level("anthropic/claude-opus-4-5") == "high"
    assert level("anthropic/claude-opus-4-6") == "low"
    assert level("openai/o3") == "low"  # it has nothing lower
    assert level("anthropic/claude-opus-4-5:minimal") == "minimal"
    assert level("anthropic/claude-opus-4-5", ModelChoice(thinking="off")) == "off"


def test_the_highest_levels_are_only_there_where_a_model_names_them() -> None:
    model = Model("m", "p", "openai-completions", reasoning=True)

    assert nearest_level("max", model, {}) == "high"
    assert nearest_level("max", model, {"xhigh": "x"}) == "xhigh"
