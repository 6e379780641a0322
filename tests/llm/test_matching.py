"""What people type and which models they mean."""

import pytest

from kaa.core.provider import Model
from kaa.llm.matching import best_matches, split_thinking, suggestions

_MODELS = [
    Model("claude-opus-5-5", "anthropic", "anthropic-messages", "Claude Opus 5.5"),
    Model("claude-opus-5", "anthropic", "anthropic-messages", "Claude Opus 5"),
    Model("claude-sonnet-5-5", "anthropic", "anthropic-messages", "Claude Sonnet 5.5"),
    Model("gpt-5.2", "openai", "openai-completions", "GPT-5.2"),
    Model("gpt-5-mini", "openai", "openai-completions", "GPT-5 mini"),
    Model("claude-opus-5", "proxy", "openai-completions", "Opus by proxy"),
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("gpt-5.2", ["openai/gpt-5.2"]),
        ("GPT 5.2", ["openai/gpt-5.2"]),
        ("gpt-5-2", ["openai/gpt-5.2"]),
        ("mini", ["openai/gpt-5-mini"]),
        ("sonnet", ["anthropic/claude-sonnet-5-5"]),
        ("opus", ["anthropic/claude-opus-5-5", "proxy/claude-opus-5"]),
        ("opus-5", ["anthropic/claude-opus-5", "proxy/claude-opus-5"]),
        ("opus-5.5", ["anthropic/claude-opus-5-5"]),
        ("gpt-5", ["openai/gpt-5.2", "openai/gpt-5-mini"]),
        ("llama", []),
        ("-", []),
        ("", []),
    ],
)
def test_the_best_fitting_models_are_found(query: str, found: list[str]) -> None:
    assert [f"{model.provider}/{model.id}" for model in best_matches(query, _MODELS)] == found


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("sonnet", ("sonnet", None)),
        ("sonnet:high", ("sonnet", "high")),
        ("openai/gpt-5.2:off", ("openai/gpt-5.2", "off")),
        ("qwen3:8b", ("qwen3:8b", None)),
        ("qwen3:8b:low", ("qwen3:8b", "low")),
        (":high", (":high", None)),
        ("", ("", None)),
    ],
)
def test_the_thinking_level_is_split_off(query: str, parts: tuple[str, str | None]) -> None:
    assert split_thinking(query) == parts


def test_close_names_are_suggested() -> None:
    assert suggestions("anthropic/claude-sonet-5-5", _MODELS)[0] == "anthropic/claude-sonnet-5-5"
    assert suggestions("zzz", _MODELS) == []
