"""The built-in models: what must hold for every one of them, and that only what is asked for is read."""

import subprocess
import sys
from pathlib import Path

import pytest

from kaa.core.provider import ThinkingLevel
from kaa.llm import catalogue
from kaa.llm.catalogue import KnownModel, known_models, provider_names
from kaa.llm.compat import Compat, compat_for
from kaa.llm.models.provider_table import BUILTINS
from kaa.llm.thinking_levels import nearest_level, offered_levels

_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
_FORMATS = {
    "openai-completions",
    "anthropic-messages",
    "openai-responses",
    "google-generative-ai",
    "azure-openai-responses",
    "google-vertex",
}


def _each(provider: str) -> list[KnownModel]:
    return list(known_models(provider))


every_provider = pytest.mark.parametrize("provider", sorted(provider_names()))


def test_every_built_in_provider_has_models_of_its_own() -> None:
    assert provider_names() == set(BUILTINS)
    assert all(known.model.provider == name for name in BUILTINS for known in known_models(name))


def test_a_provider_nobody_knows_has_none() -> None:
    assert known_models("box") == ()
    assert known_models("../data/openai") == ()
    assert known_models("") == ()


@every_provider
def test_ids_are_unique_and_the_formats_are_kaa_s(provider: str) -> None:
    models = [known.model for known in _each(provider)]

    assert len({model.id for model in models}) == len(models) > 0
    assert {model.api for model in models} <= _FORMATS


@every_provider
def test_figures_are_plausible(provider: str) -> None:
    for known in _each(provider):
        model, cost = known.model, known.model.cost

        assert 0 < model.max_tokens < model.context_window, model.id
        if cost is not None and not cost.is_free:
            # A reply from the cache is never dearer than one that is not.
            assert 0 <= cost.cache_read <= cost.input, model.id
            bounds = [tier.input_tokens_above for tier in cost.tiers]
            assert bounds == sorted(set(bounds)), model.id
            assert all(tier.input_tokens_above > 0 for tier in cost.tiers), model.id


@every_provider
def test_every_level_leads_to_one_the_model_has(provider: str) -> None:
    for known in _each(provider):
        levels = {nearest_level(level, known.model, known.thinking_levels) for level in _LEVELS}

        assert levels <= set(offered_levels(known.model, known.thinking_levels)) or levels == {"off"}, known.model.id


@every_provider
def test_the_flags_are_of_the_right_type(provider: str) -> None:
    for known in _each(provider):
        assert isinstance(compat_for("https://example.org", known.model.id, known.compat), Compat)


@every_provider
def test_addresses_are_encrypted_and_no_header_poses_as_another_client(provider: str) -> None:
    for known in _each(provider):
        assert known.base_url is None or known.base_url.startswith("https://")
        assert not {name.lower() for name in known.headers} & {"user-agent", "authorization", "x-api-key"}


def test_the_first_model_is_the_one_that_pi_takes() -> None:
    first = {name: known_models(name)[0].model.id for name in ("anthropic", "openai", "google", "groq")}

    assert first == {
        "anthropic": "claude-opus-5-5",
        "openai": "gpt-6.2-sol",
        "google": "gemini-4-argon",
        "groq": "openai/gpt-oss-120b",
    }


def test_a_price_nobody_wrote_down_is_unknown_and_not_nothing() -> None:
    (auto,) = (known for known in known_models("openrouter") if known.model.id == "auto")
    free = [known.model for known in known_models("openrouter") if known.model.id.endswith(":free")]

    assert auto.model.cost is None
    assert free
    assert all(model.cost is not None and model.cost.is_free for model in free)


def test_long_prompts_have_prices_of_their_own() -> None:
    (sol,) = (known.model for known in known_models("openai") if known.model.id == "gpt-6.1-sol")

    assert sol.cost is not None
    assert sol.cost.for_prompt(272_000).input == 2
    assert sol.cost.for_prompt(272_001).input == 4


def test_only_the_file_of_the_provider_that_is_asked_for_is_read() -> None:
    code = (
        "import sys\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == 'open' else None)\n"
        "from kaa.llm.catalogue import known_models\n"
        "assert not [name for name in opened if name.endswith('.json')], 'read before it is asked for'\n"
        "known_models('groq'); known_models('groq'); known_models('nobody')\n"
        "print(*[name for name in opened if name.endswith('.json')], sep='\\n')"
    )
    opened = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert [Path(name).name for name in opened] == ["groq.json"]


def test_the_licence_of_the_data_goes_along() -> None:
    notice = (Path(catalogue.__file__).parent / "data" / "NOTICE").read_text()

    assert "@earendil-works/pi-ai" in notice
    assert "Permission is hereby granted" in notice


def test_windows_of_openai_models_are_those_of_their_input() -> None:
    """OpenAI counts 128,000 tokens of reply in a window of 400,000; kaa condenses before the prompt is refused."""
    windows = {
        known.model.qualified_id: known.model.context_window
        for provider in provider_names()
        for known in known_models(provider)
        if "gpt-5" in known.model.id
    }

    assert windows["openai/gpt-5"] == windows["openrouter/openai/gpt-5"] == windows["azure/gpt-5"] == 272_000
    assert 400_000 not in windows.values()
