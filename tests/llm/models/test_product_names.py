"""Providers are known by the names of their models, too."""

import pytest

from kaa.llm.models.product_names import product_names, providers_of
from kaa.llm.models.provider_table import BUILTINS


@pytest.mark.parametrize(
    ("product", "provider"), [("claude", "anthropic"), ("GPT", "openai"), ("Gemini", "google"), ("grok", "xai")]
)
def test_the_first_that_is_called_so_is_the_vendor(product: str, provider: str) -> None:
    assert providers_of(product)[0] == provider
    assert product.lower() in [name.lower() for name in product_names(provider)]


def test_what_nobody_is_called_means_nobody() -> None:
    assert providers_of("anthropic") == providers_of("") == ()


def test_all_providers_with_further_names_exist() -> None:
    names = {name for provider in BUILTINS for name in product_names(provider)}

    assert {provider for name in names for provider in providers_of(name)} <= set(BUILTINS)
