"""Real requests to real models, for those who ask for them: they cost cents.

    KAA_LIVE=1 .venv/bin/python -m pytest tests/live -v -rs
    KAA_LIVE=1 KAA_LIVE_MODELS=groq/openai/gpt-oss-120b,anthropic/claude-haiku-5-5 …

Asked are the providers with a key in the environment, each with its default model, or the models that are named.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from kaa.core.errors import ProviderError, QuotaError, RateLimitError
from kaa.llm.auth.errors import CredentialError
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import Transport
from kaa.llm.models.provider_table import BUILTINS
from kaa.llm.models.registry import ModelChoice, ModelRegistry, NoModelError
from kaa.llm.models.resolved import ResolvedModel
from tests.live import probe

Answer = TypeVar("Answer")

# Those that document a cache for prompts of this length and count what came from it.
_CACHES = {"anthropic", "openai", "azure", "google", "deepseek", "xai", "groq", "moonshotai", "amazon-bedrock"}
_ASKED_FOR = os.environ.get("KAA_LIVE") == "1"
_NAMED = tuple(name.strip() for name in os.environ.get("KAA_LIVE_MODELS", "").split(",") if name.strip())

pytestmark = pytest.mark.skipif(
    not _ASKED_FOR, reason="asks real models and costs money: set KAA_LIVE=1 and a provider's key"
)


def _candidates() -> tuple[str, ...]:
    """What the suite is about. Never empty, so that a run always says why nothing was asked."""
    keyed = (
        name
        for name, builtin in sorted(BUILTINS.items())
        if builtin.ambient or any(os.environ.get(variable) for variable, _ in builtin.key_variables)
    )
    return (_NAMED or tuple(keyed)) if _ASKED_FOR else ("any provider",)


@pytest.fixture(params=_candidates())
def model(request: pytest.FixtureRequest, tmp_path: Path) -> ResolvedModel:
    """The default model of a provider, or one that was named."""
    wanted = str(request.param)
    registry = ModelRegistry(tmp_path, os.environ)
    choice = ModelChoice(wanted) if _NAMED else ModelChoice(provider=wanted)
    if not _NAMED and all(known.provider != wanted for known in registry.available()):
        pytest.skip(f"no key for {wanted}")
    try:
        resolved = registry.resolve(choice)
    except (NoModelError, CredentialError) as error:
        pytest.skip(str(error))
    if not isinstance(resolved, ResolvedModel):
        pytest.skip(f"{wanted} has no default: name a model in KAA_LIVE_MODELS")
    return resolved


def _asked(model: ResolvedModel, question: Callable[[ResolvedModel, Transport], Awaitable[Answer]]) -> Answer:
    async def run() -> Answer:
        transport = LiveTransport()
        try:
            return await question(model, transport)
        finally:
            await transport.close()

    try:
        return asyncio.run(run())
    except (QuotaError, RateLimitError) as error:
        pytest.skip(f"the account cannot be used now: {error}")
    except ProviderError as error:
        pytest.fail(f"{model.model.provider}/{model.model.id}: {error}")


def test_text(model: ResolvedModel) -> None:
    _asked(model, probe.text)


def test_tool_round_trip(model: ResolvedModel) -> None:
    _asked(model, probe.tool)


def test_image(model: ResolvedModel) -> None:
    if "image" not in model.model.input:
        pytest.skip(f"{model.model.id} takes no images")
    _asked(model, probe.image)


def test_the_second_request_reads_from_the_cache(model: ResolvedModel) -> None:
    if model.model.provider not in _CACHES:
        pytest.skip(f"{model.model.provider} does not document a cache that it counts")
    assert _asked(model, probe.cache).cache_read > 0
