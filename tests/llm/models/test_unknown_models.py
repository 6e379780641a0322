"""What kaa takes for granted of models that are newer than its catalogue."""

from pathlib import Path

import pytest

from kaa.core.messages import UserMessage
from kaa.core.provider import Request
from kaa.llm.catalogue import known_models
from kaa.llm.models.registry import ModelChoice, ModelRegistry
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.models.unknown_models import likely_model
from kaa.llm.responses.request import responses_body

_KEYS = {
    "OPENAI_API_KEY": "k",
    "GEMINI_API_KEY": "k",
    "AZURE_OPENAI_API_KEY": "k",
    "AZURE_OPENAI_RESOURCE_NAME": "mine",
    "XAI_API_KEY": "k",
}


def _resolve(home: Path, query: str, environ: dict[str, str] | None = None) -> ResolvedModel:
    resolved = ModelRegistry(home, environ or _KEYS).resolve(ModelChoice(query))
    assert isinstance(resolved, ResolvedModel)
    assert resolved.model.cost is None
    return resolved


@pytest.mark.parametrize(
    ("query", "thinks", "window", "output"),
    [
        ("google/gemini-9-pro", True, 1_048_576, 32_768),
        ("google/gemini-9.1-flash-lite-preview-01-2030", True, 1_048_576, 32_768),
        ("google/gemini-ultra-latest", True, 1_048_576, 32_768),
        ("google/gemini-2.0-flash-thinking", False, 1_048_576, 8_192),
        ("google/gemma-9", False, 128_000, 16_384),
        ("openai/gpt-9", True, 272_000, 128_000),
        ("openai/gpt-10.5-sol", True, 272_000, 128_000),
        ("openai/gpt-9-chat-latest", False, 128_000, 16_384),
        ("openai/o9-mini", True, 200_000, 100_000),
        ("openai/gpt-4.9", False, 128_000, 16_384),
        ("openai/gpt-3.5-turbo-2030", False, 128_000, 16_384),
        ("openai/ft:gpt-4.1:mine", False, 128_000, 16_384),
        ("azure/gpt-9", True, 272_000, 128_000),
        ("azure/my-deployment", False, 128_000, 16_384),
        ("xai/o9", False, 128_000, 16_384),
    ],
)
def test_the_name_says_what_a_new_model_can_do(
    tmp_path: Path, query: str, thinks: bool, window: int, output: int
) -> None:
    model = _resolve(tmp_path, query).model

    assert (model.reasoning, model.context_window, model.max_tokens) == (thinks, window, output)
    assert model.input == ("text", "image")


@pytest.mark.parametrize(("query", "effort"), [("openai/gpt-9:off", "low"), ("openai/gpt-9:xhigh", "high")])
def test_openai_is_only_sent_efforts_that_all_its_models_have(tmp_path: Path, query: str, effort: str) -> None:
    resolved = _resolve(tmp_path, query)
    request = Request(resolved.model, "", [UserMessage("q")], thinking=resolved.thinking)

    assert responses_body(request, resolved.endpoint)["reasoning"]["effort"] == effort


def test_what_may_not_think_is_not_told_how(tmp_path: Path) -> None:
    resolved = _resolve(tmp_path, "openai/gpt-4.9:high")
    request = Request(resolved.model, "", [UserMessage("q")], thinking=resolved.thinking)

    assert "reasoning" not in responses_body(request, resolved.endpoint)


def test_behind_another_address_nothing_is_assumed(tmp_path: Path) -> None:
    model = _resolve(tmp_path, "openai/gpt-9", {"OPENAI_BASE_URL": "http://localhost:8080/v1"}).model

    assert (model.reasoning, model.input) == (False, ("text",))


@pytest.mark.parametrize(
    ("provider", "name"), [("openai", "gpt-9"), ("openai", "o9"), ("google", "gemini-9-pro"), ("anthropic", "claude-9")]
)
def test_the_figures_are_not_larger_than_what_the_vendors_newest_models_have(provider: str, name: str) -> None:
    api = known_models(provider)[0].model.api
    likely = likely_model(provider, name, api)
    newest = known_models(provider)[0].model

    assert likely is not None
    assert likely.model.context_window <= newest.context_window
    assert likely.model.max_tokens <= newest.max_tokens
