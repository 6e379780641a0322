"""models.json: what is read, and that a mistake costs only what it is in."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kaa.core.provider import Model, ModelRates
from kaa.llm.catalogue import known_models
from kaa.llm.models.models_file import load_models_file, models_of


def _load(tmp_path: Path, text: str) -> tuple[Path, list[str], list[str]]:
    path = tmp_path / "models.json"
    path.write_text(text)
    file = load_models_file(path)
    return path, list(file.providers), list(file.problems)


def test_no_file_means_nothing(tmp_path: Path) -> None:
    file = load_models_file(tmp_path / "models.json")

    assert (file.providers, file.problems) == ({}, ())


def test_models_have_pi_s_defaults_and_the_provider_s_format(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    path.write_text(
        """{ // mine
          "providers": {
            "box": {
              "baseUrl": "http://box:8080/v1", "api": "anthropic-messages", "futureKey": 1,
              "models": [
                {"id": "small"},
                {"id": "big", "name": "Big", "api": "openai-completions", "reasoning": true, "input": ["text", "image"],
                 "contextWindow": 9000, "maxTokens": 700, "cost": {"input": 1, "output": 2.5},
                 "thinkingLevelMap": {"off": "none", "max": null}, "baseUrl": "http://big/v1",
                 "headers": {"x-a": "b"}, "compat": {"supportsStore": true, "unknown": {}}},
              ],
            },
          },
        }"""
    )
    file = load_models_file(path)

    small, big = models_of("box", file.providers["box"], ())

    (problem,) = file.problems
    assert problem == f"{path}: providers.box: kaa does not support and ignores futureKey, models.big.compat.unknown"
    assert small.model == Model("small", "box", "anthropic-messages", "small")
    assert (small.model.context_window, small.model.max_tokens, small.model.cost) == (128_000, 16_384, None)
    assert big.model == Model(
        "big", "box", "openai-completions", "Big", True, ("text", "image"), 9000, 700, ModelRates(1, 2.5)
    )
    assert (big.base_url, big.headers, big.compat["supportsStore"]) == ("http://big/v1", {"x-a": "b"}, True)
    assert big.thinking_levels == {"off": "none", "max": None}


def test_built_in_models_are_changed_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    path.write_text(
        """{"providers": {"openai": {
            "modelOverrides": {"gpt-5.2": {"contextWindow": 5, "cost": {"output": 99},
                                           "thinkingLevelMap": {"low": null}},
                               "no-such-model": {"name": "x"}},
            "models": [{"id": "gpt-4.1", "name": "mine"}, {"id": "new"}]}}}"""
    )
    builtin = known_models("openai")

    models = {
        known.model.id: known for known in models_of("openai", load_models_file(path).providers["openai"], builtin)
    }

    assert [*models] == [*(known.model.id for known in builtin), "new"]
    changed = models["gpt-5.2"]
    assert changed.model.context_window == 5
    assert changed.model.cost == ModelRates(1.75, 99, 0.175, 0)
    assert changed.thinking_levels["low"] is None
    assert changed.thinking_levels["off"] == "none"
    assert models["gpt-4.1"].model == Model("gpt-4.1", "openai", "openai-responses", "mine")


def test_a_price_that_was_unknown_can_be_given_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    path.write_text('{"providers": {"openrouter": {"modelOverrides": {"auto": {"cost": {"input": 1}}}}}}')
    config = load_models_file(path).providers["openrouter"]

    (auto,) = (
        known for known in models_of("openrouter", config, known_models("openrouter")) if known.model.id == "auto"
    )

    assert auto.model.cost == ModelRates(1)


def test_prices_of_long_prompts_are_read_and_stay_with_a_changed_price(tmp_path: Path) -> None:
    tier = {"inputTokensAbove": 1000, "input": 4, "output": 8, "cacheRead": 0, "cacheWrite": 0}
    own = {"id": "m", "cost": {"input": 2, "output": 6, "tiers": [tier]}}
    path = tmp_path / "models.json"
    path.write_text(
        json.dumps(
            {"providers": {"openai": {"modelOverrides": {"gpt-6.1-sol": {"cost": {"input": 9}}}, "models": [own]}}}
        )
    )
    config = load_models_file(path).providers["openai"]

    models = {known.model.id: known.model for known in models_of("openai", config, known_models("openai"))}

    mine, changed = models["m"].cost, models["gpt-6.1-sol"].cost
    assert mine is not None
    assert (mine.for_prompt(1000).input, mine.for_prompt(1001).input) == (2, 4)
    assert changed is not None
    assert (changed.for_prompt(1).input, changed.for_prompt(1).output, changed.for_prompt(300_000).input) == (9, 10, 4)


def test_objects_among_the_flags_are_joined_key_by_key(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    path.write_text(
        """{"providers": {"box": {
            "baseUrl": "http://box/v1",
            "compat": {"openRouterRouting": {"only": ["a"], "allow_fallbacks": true}, "supportsStore": true},
            "models": [{"id": "m", "compat": {"openRouterRouting": {"only": ["b"]}, "supportsStore": false}}]}}}"""
    )

    (known,) = models_of("box", load_models_file(path).providers["box"], ())

    assert known.compat == {"openRouterRouting": {"only": ["b"], "allow_fallbacks": True}, "supportsStore": False}


def test_what_only_newer_programs_know_is_reported_and_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    path.write_text(
        """{"$schema": "x", "providers": {"box": {"baseUrl": "http://box/v1", "future": {}, "models": [
            {"id": "m", "reasoning": true, "thinkingLevelMap": {"max": "extreme", "beyond": "all"},
             "promptCache": {"short": 300}, "inputLimits": {}, "samplingParams": {"temperature": 1}}]}}}"""
    )
    file = load_models_file(path)

    (known,) = models_of("box", file.providers["box"], ())

    (problem,) = file.problems
    assert problem.endswith("ignores future, models.m.inputLimits")
    assert known.thinking_levels == {"max": "extreme"}


@pytest.mark.parametrize(
    ("text", "providers", "problem"),
    [
        ('{"providers": ', [], "models.json, line 1, column 15: the text ends too early"),
        ("[]", [], "models.json: Expected `object`, got `array`"),
        ('{"providers": []}', [], "models.json: providers: Expected `object`, got `array`"),
        ('{"providers": {"a": 1, "b": {}}}', ["b"], "models.json: providers.a: Expected `object`, got `int`"),
        (
            '{"providers": {"a": {"baseUrl": 1}, "b": {}}}',
            ["b"],
            "models.json: providers.a.baseUrl: Expected `str | null`, got `int`",
        ),
        (
            '{"providers": {"a": {"compat": {"supportsStore": "yes"}}, "b": {}}}',
            ["b"],
            "models.json: providers.a.compat.supportsStore: Expected `bool`, got `str`",
        ),
        (
            '{"providers": {"a": {"models": [{"id": "x"}, {"name": "y"}]}}}',
            ["a"],
            "models.json: providers.a.models[1]: Object missing required field `id`",
        ),
        (
            '{"providers": {"a": {"models": [{"id": "x", "input": ["smell"]}]}}}',
            ["a"],
            "models.json: providers.a.models[0].input[0]: Invalid enum value 'smell'",
        ),
        (
            '{"providers": {"a": {"modelOverrides": {"m": {"cost": {"input": "free"}}}}}}',
            ["a"],
            "models.json: providers.a.modelOverrides.m.cost.input: Expected `float`, got `str`",
        ),
        (
            '{"providers": {"a": {"models": [{"id": "x"}, {"id": "y", "contextWindow": 0}]}}}',
            ["a"],
            "models.json: providers.a.models[1].contextWindow: Expected `int` >= 1",
        ),
        (
            '{"providers": {"a": {"models": [{"id": "x", "cost": {"tiers": [{"input": 1}]}}]}}}',
            ["a"],
            "models.json: providers.a.models[0].cost.tiers[0]: Object missing required field `inputTokensAbove`",
        ),
    ],
)
def test_a_mistake_is_located_and_costs_only_what_it_is_in(
    tmp_path: Path, text: str, providers: list[str], problem: str
) -> None:
    path, sound, problems = _load(tmp_path, text)

    assert sound == providers
    assert len(problems) == 1
    assert problems[0].startswith(f"{path.parent}/{problem}")


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "models.json").mkdir()

    assert "cannot be read" in load_models_file(tmp_path / "models.json").problems[0]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = [
    *("name", "baseUrl", "api", "apiKey", "headers", "authHeader", "compat", "models", "modelOverrides", "id", "cost"),
    *("reasoning", "thinkingLevelMap", "input", "contextWindow", "maxTokens", "tiers"),
]
_ENTRY = st.dictionaries(st.sampled_from(_FIELDS), _JSON, max_size=6)
_PROVIDER = st.fixed_dictionaries(
    {},
    optional={
        "models": st.lists(_ENTRY, max_size=3),
        "modelOverrides": st.dictionaries(st.sampled_from(["gpt-5.2", "gpt-4.1", "other"]), _ENTRY, max_size=3),
        "compat": _JSON,
        "api": _JSON,
        "headers": _JSON,
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(providers=st.dictionaries(st.sampled_from(["openai", "box", "other"]), _PROVIDER | _JSON, max_size=3))
def test_whatever_is_written_there_the_rest_can_be_used(tmp_path: Path, providers: dict[str, object]) -> None:
    path = tmp_path / "models.json"
    path.write_text(json.dumps({"providers": {**providers, "sound": {"models": [{"id": "m"}]}}}))

    file = load_models_file(path)

    for name, config in file.providers.items():
        models_of(name, config, known_models(name))
    assert [known.model.id for known in models_of("sound", file.providers["sound"], ())] == ["m"]
    assert all(problem.startswith(f"{path}: providers.") for problem in file.problems)


_PRIVATE = {"openRouterRouting": {"zdr": True}}


@pytest.mark.parametrize(
    ("provider", "ignored"),
    [
        ({"compat": _PRIVATE}, "compat.openRouterRouting"),
        ({"models": [{"id": "m", "compat": _PRIVATE}]}, "models.m.compat.openRouterRouting"),
        ({"modelOverrides": {"m": {"compat": _PRIVATE}}}, "modelOverrides.m.compat.openRouterRouting"),
    ],
)
def test_fields_are_judged_by_the_built_in_format_where_none_is_written(
    tmp_path: Path, provider: dict[str, object], ignored: str
) -> None:
    path, _, problems = _load(tmp_path, json.dumps({"providers": {"google": provider}}))

    assert problems == [f"{path}: providers.google: kaa does not support and ignores {ignored}"]


def test_every_field_of_pi_s_schema_is_supported_or_reported_or_a_mere_permission(tmp_path: Path) -> None:
    model: dict[str, object] = {
        "id": "m",
        "samplingParams": {"temperature": 0.5, "stream": False},
        "samplingParamsByThinkingLevel": {"high": {"top_p": 0.9, "model": "x"}},
        "compat": {
            "openRouterRouting": {"zdr": True},
            "supportsTemperature": False,
            "thinkingTokenBudgetField": "thinking_budget",
            "promptCacheKeyMode": "enabled",
            "vllmPriority": 1,
            "supportsFinishReason": False,
            "supportsMaxOutputTokens": False,
            "supportsToolSearch": True,
            "allowedFallbackModels": [],
            "imageInput": "assets",
        },
    }
    box = {"baseUrl": "http://box/v1", "api": "google-generative-ai", "models": [model]}
    path, _, problems = _load(tmp_path, json.dumps({"$schema": "x", "providers": {"box": box}}))

    (problem,) = problems
    assert problem.removeprefix(f"{path}: providers.box: kaa does not support and ignores ").split(", ") == [
        "models.m.compat.allowedFallbackModels",
        "models.m.compat.imageInput",
        "models.m.compat.openRouterRouting",
        "models.m.samplingParams.stream",
        "models.m.samplingParamsByThinkingLevel.high.model",
    ]


def test_overrides_hold_for_the_user_s_own_models(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    box = {
        "compat": {"supportsStore": True},
        "models": [{"id": "m"}, {"id": "other"}],
        "modelOverrides": {"m": {"contextWindow": 9000, "compat": {"supportsStore": False}}},
    }
    path.write_text(json.dumps({"providers": {"box": box}}))
    file = load_models_file(path)

    overridden, other = models_of("box", file.providers["box"], ())

    assert (overridden.model.context_window, overridden.compat) == (9000, {"supportsStore": False})
    assert (other.model.context_window, other.compat) == (128_000, {"supportsStore": True})


def test_unknown_keys_of_the_file_are_reported(tmp_path: Path) -> None:
    path, providers, problems = _load(
        tmp_path, '{"$schema": "x", "models": [], "provider": {}, "providers": {"a": {}}}'
    )

    assert providers == ["a"]
    assert problems == [f"{path}: kaa does not support and ignores models, provider"]
