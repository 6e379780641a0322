"""The models kaa knows without being told: a short list, kept by hand until there is a generated one.

Figures: the catalogue of `@earendil-works/pi-ai` 1.5.2 (MIT; generated 2026-11-10), compared on 2026-11-20 with
`genai-prices` 0.2.3 and the vendors' model pages (platform.claude.com, developers.openai.com). Where a vendor
charges more for long prompts, the price is the one for short prompts and, with OpenAI, the window ends where
the higher price begins (272,000 tokens).

Over Chat Completions OpenAI's models from GPT-5.4 on take tools only with `reasoning_effort` "none". They are
listed with that one level; models that can do both come first.
"""

import msgspec

from kaa.core.messages import Json
from kaa.core.provider import Model, ModelRates, ThinkingLevel

ThinkingLevels = dict[ThinkingLevel, str | None]


class KnownModel(msgspec.Struct, frozen=True):
    """A model with what its endpoint needs to know of it.

    Attributes:
        thinking_levels: see `kaa.llm.wire.Endpoint`.
        compat: overrides with the names of models.json, see `kaa.llm.compat.Compat`.
        base_url: where this model is served, if not where its provider's other models are.
        headers: more headers for this model.
    """

    model: Model
    thinking_levels: ThinkingLevels = {}
    compat: dict[str, Json] = {}
    base_url: str | None = None
    headers: dict[str, str] = {}


_ALWAYS_THINKS: ThinkingLevels = {"off": None, "minimal": None, "xhigh": "xhigh", "max": "max"}
_ANY_LEVEL: ThinkingLevels = {"xhigh": "xhigh", "max": "max"}
_NONE_WITH_TOOLS: ThinkingLevels = {
    "off": "none",
    "minimal": None,
    "low": None,
    "medium": None,
    "high": None,
    "xhigh": None,
    "max": None,
}


def _claude(
    model_id: str,
    name: str,
    rates: tuple[float, float, float, float],
    levels: ThinkingLevels,
    *,
    window: int = 1_000_000,
    output: int = 128_000,
    adaptive: bool = True,
) -> KnownModel:
    model = Model(
        id=model_id,
        provider="anthropic",
        api="anthropic-messages",
        name=name,
        reasoning=True,
        input=("text", "image"),
        context_window=window,
        max_tokens=output,
        cost=ModelRates(*rates),
    )
    return KnownModel(model, levels, {"forceAdaptiveThinking": adaptive})


def _gpt(
    model_id: str,
    name: str,
    rates: tuple[float, float, float, float],
    levels: ThinkingLevels | None,
    *,
    window: int,
    output: int = 128_000,
) -> KnownModel:
    model = Model(
        id=model_id,
        provider="openai",
        api="openai-completions",
        name=name,
        reasoning=levels is not None,
        input=("text", "image"),
        context_window=window,
        max_tokens=output,
        cost=ModelRates(*rates),
    )
    return KnownModel(model, levels or {})


# Each provider's models in order of preference: the first is taken when none is asked for.
# Rates: dollars per million tokens of input, output, cache read, cache write.
CATALOGUE: dict[str, tuple[KnownModel, ...]] = {
    "anthropic": (
        _claude("claude-opus-5-5", "Claude Opus 5.5", (4, 20, 0.2, 5), _ALWAYS_THINKS),
        _claude("claude-sonnet-5-5", "Claude Sonnet 5.5", (2, 10, 0.1, 2.5), _ALWAYS_THINKS),
        _claude("claude-haiku-5-5", "Claude Haiku 5.5", (0.1, 0.5, 0.01, 0.125), {"minimal": None, **_ANY_LEVEL}),
        _claude("claude-fable-5-2", "Claude Fable 5.2", (8, 40, 0.2, 10), {"off": None, **_ANY_LEVEL}),
        _claude("claude-opus-5", "Claude Opus 5", (5, 25, 0.5, 6.25), _ANY_LEVEL),
        _claude("claude-sonnet-5", "Claude Sonnet 5", (2, 10, 0.2, 2.5), _ANY_LEVEL),
        _claude(
            "claude-haiku-4-5", "Claude Haiku 4.5", (1, 5, 0.1, 1.25), {}, window=200_000, output=64_000, adaptive=False
        ),
    ),
    "openai": (
        _gpt(
            "gpt-5.2",
            "GPT-5.2",
            (1.75, 14, 0.175, 0),
            {"off": "none", "minimal": None, "xhigh": "xhigh", "max": None},
            window=400_000,
        ),
        _gpt(
            "gpt-5-mini",
            "GPT-5 mini",
            (0.25, 2, 0.025, 0),
            {"off": None, "xhigh": None, "max": None},
            window=400_000,
        ),
        _gpt("gpt-6-sol", "GPT-6 Sol", (2, 10, 0.2, 2.5), _NONE_WITH_TOOLS, window=272_000),
        _gpt("gpt-6-luna", "GPT-6 Luna", (0.1, 0.5, 0.01, 0.125), _NONE_WITH_TOOLS, window=272_000),
        _gpt("gpt-4.1", "GPT-4.1", (2, 8, 0.5, 0), None, window=1_047_576, output=32_768),
    ),
}
