"""models.json: what is read, and that a mistake costs only what it is in."""

from pathlib import Path

import pytest

from kaa.core.provider import Model, ModelRates
from kaa.llm.catalogue import known_models
from kaa.llm.models_file import load_models_file, models_of


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

    assert file.problems == ()
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
