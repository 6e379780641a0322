import pytest

from kaa.core.messages import Json
from kaa.core.provider import Model, Request, ThinkingLevel
from kaa.llm.gemini.thinking import generation, thinking_config
from kaa.llm.tuning import Tuning
from kaa.llm.wire import Endpoint
from tests.support.tables import each

_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
_GOOGLE = Endpoint("https://generativelanguage.googleapis.com")


def _config(
    model_id: str, level: ThinkingLevel, endpoint: Endpoint = _GOOGLE, max_tokens: int = 65_536
) -> dict[str, Json]:
    model = Model(model_id, "google", "google-generative-ai", reasoning=True, max_tokens=max_tokens)
    return thinking_config(Request(model, "", [], thinking=level), endpoint)


@each(
    ("model_id", "expected"),
    [
        ("gemini-2.5-pro", (2, 5)),
        ("gemini-3-flash-preview", (3, 0)),
        ("google/gemini-3.1-pro-preview", (3, 1)),
        ("gemini-live-2.5-flash", (2, 5)),
        ("gemini-12-pro", (12, 0)),
        ("gemini-flash-latest", (99, 0)),
        ("gemini-exp-1206", (99, 0)),
        ("gemma-3-27b-it", (0, 0)),
        ("claude-3-opus", (0, 0)),
    ],
)
def test_generations(model_id: str, expected: tuple[int, int]) -> None:
    assert generation(model_id) == expected


@pytest.mark.parametrize(
    ("model_id", "expected"),
    [
        ("gemini-3-pro-preview", ["LOW", "LOW", "LOW", "HIGH", "HIGH", "HIGH", "HIGH"]),
        ("gemini-3.1-pro-preview", ["LOW", "LOW", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH"]),
        ("gemini-3-flash-preview", ["MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH"]),
        ("gemini-flash-latest", ["MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH"]),
    ],
)
def test_levels_of_generation_three(model_id: str, expected: list[str]) -> None:
    configs = [_config(model_id, level) for level in _LEVELS]

    assert [config["thinkingLevel"] for config in configs] == expected
    assert not any("thinkingBudget" in config for config in configs)


@pytest.mark.parametrize(
    ("model_id", "expected"),
    [
        ("gemini-2.5-pro", [128, 128, 2048, 8192, 32_768, 32_768, 32_768]),
        ("gemini-2.5-flash", [0, 128, 2048, 8192, 24_576, 24_576, 24_576]),
        ("gemini-2.5-flash-lite", [0, 512, 2048, 8192, 24_576, 24_576, 24_576]),
    ],
)
def test_budgets_of_generation_two(model_id: str, expected: list[int]) -> None:
    configs = [_config(model_id, level) for level in _LEVELS]

    assert [config["thinkingBudget"] for config in configs] == expected
    assert not any("thinkingLevel" in config for config in configs)


def test_reasoning_is_asked_for_unless_it_is_off() -> None:
    shown = [_config("gemini-2.5-flash", level).get("includeThoughts", False) for level in _LEVELS]

    assert shown == [False, *[True] * 6]


def test_a_budget_leaves_room_for_an_answer() -> None:
    assert _config("gemini-2.5-pro", "high", max_tokens=4096)["thinkingBudget"] == 3072
    assert _config("gemini-2.5-pro", "high", max_tokens=1000)["thinkingBudget"] == 128


def test_what_the_model_calls_its_levels_counts() -> None:
    named = Endpoint(_GOOGLE.base_url, thinking_levels={"high": "xhigh", "low": "4000", "minimal": "-1"})

    assert _config("gemini-2.5-pro", "high", named) == {"includeThoughts": True, "thinkingLevel": "XHIGH"}
    assert _config("gemini-3-pro", "low", named) == {"includeThoughts": True, "thinkingBudget": 4000}
    assert _config("gemini-2.5-pro", "minimal", named) == {"includeThoughts": True, "thinkingBudget": -1}


def test_the_users_budgets_count_within_what_the_model_takes() -> None:
    tuned = Endpoint(_GOOGLE.base_url, tuning=Tuning(thinking_budgets={"low": 5000, "high": 60_000}))

    assert _config("gemini-2.5-pro", "low", tuned)["thinkingBudget"] == 5000
    assert _config("gemini-2.5-pro", "high", tuned)["thinkingBudget"] == 32_768


@pytest.mark.parametrize(
    ("asked", "expected"), [("off", "LOW"), ("minimal", "LOW"), ("medium", "HIGH"), ("max", "HIGH")]
)
def test_a_level_that_the_model_does_not_have_becomes_the_nearest(asked: ThinkingLevel, expected: str) -> None:
    levels: dict[ThinkingLevel, str | None] = {
        "off": None,
        "minimal": None,
        "low": "low",
        "medium": None,
        "high": "high",
    }
    named = Endpoint(_GOOGLE.base_url, thinking_levels={**levels, "max": None})

    config = _config("gemini-3.8-flash", asked, named)

    assert config["thinkingLevel"] == expected
    assert config.get("includeThoughts", False) == (asked != "off")
