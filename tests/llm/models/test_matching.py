"""What people type and which models they mean."""

from kaa.core.provider import Model
from kaa.llm.models.matching import best_matches, split_level, split_thinking, suggestions
from tests.support.tables import each

_MODELS = [
    Model("claude-opus-5-5", "anthropic", "anthropic-messages", "Claude Opus 5.5"),
    Model("claude-opus-5", "anthropic", "anthropic-messages", "Claude Opus 5"),
    Model("claude-sonnet-5-5", "anthropic", "anthropic-messages", "Claude Sonnet 5.5"),
    Model("gpt-5.2", "openai", "openai-completions", "GPT-5.2"),
    Model("gpt-5-mini", "openai", "openai-completions", "GPT-5 mini"),
    Model("claude-opus-5", "proxy", "openai-completions", "Opus by proxy"),
]


@each(
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


@each(
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


@each(
    ("query", "parts"),
    [
        ("odd:high", ("odd:high", None)),
        ("box/odd:high", ("box/odd:high", None)),
        ("odd:high:low", ("odd:high", "low")),
        ("other:high", ("other", "high")),
        ("qwen3:8b", ("qwen3:8b", None)),
        ("vendor/free:free", ("vendor/free:free", None)),
    ],
)
def test_an_id_may_end_like_a_thinking_level(query: str, parts: tuple[str, str | None]) -> None:
    assert split_level(query, [Model("odd:high", "box", "any"), Model("qwen3:8b", "box", "any")]) == parts


def test_the_models_are_not_looked_at_where_there_is_no_level() -> None:
    models = iter(_MODELS)

    assert split_level("qwen3:8b", models) == ("qwen3:8b", None)
    assert next(models) == _MODELS[0]


def test_a_vendor_s_own_model_comes_before_a_gateway_s() -> None:
    gateway = Model("anthropic/claude-sonnet-5.5", "router", "any", "Claude Sonnet 5.5")

    assert [model.provider for model in best_matches("sonnet", [gateway, *_MODELS])] == ["anthropic"]
    assert best_matches("sonnet", [gateway]) == (gateway,)


def test_close_names_are_suggested() -> None:
    assert suggestions("anthropic/claude-sonet-5-5", _MODELS)[0] == "anthropic/claude-sonnet-5-5"
    assert suggestions("zzz", _MODELS) == []
