"""Our prices against a second source that is maintained by others: `genai-prices` (MIT). Both are data in packages.

A difference that is not in the table below fails, and so does a line of the table that does not hold any more. What
to do: look the price up at the vendor. If ours is wrong, regenerate the catalogue; if theirs is, add a line here.
"""

import datetime
from collections.abc import Iterator

from genai_prices import Usage as TheirUsage
from genai_prices import calc_price

from kaa.core.messages import Usage
from kaa.core.prices import price
from kaa.core.provider import Model
from kaa.llm.catalogue import known_models

# Our provider and theirs. Left out: gateways such as OpenRouter, where the price is that of whichever host is the
# cheapest when the list is made, so that no two lists agree; and plans, which have no prices.
_PROVIDERS = {
    "amazon-bedrock": "aws",
    "anthropic": "anthropic",
    "azure": "azure",
    "baseten": "baseten",
    "cerebras": "cerebras",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "google": "google",
    "groq": "groq",
    "meta": "meta",
    "minimax": "minimax",
    "mistral": "mistral",
    "moonshotai": "moonshotai",
    "openai": "openai",
    "together": "together",
    "xai": "x-ai",
    "zai": "zai",
}

# When: a working hour of DeepSeek's, which asks half the price at night. Of prices that change on a known day the one
# of this day is compared.
_WHEN = datetime.datetime(2026, 11, 20, 6, tzinfo=datetime.UTC)
_TOLERANCE = 0.001  # prices are rounded in different places

_MOVED = "an alias: the two sources were made when it meant different models"
_CACHE = "theirs has no price for what is read from Mistral's cache"
_GOVERNMENT = "theirs has no prices of their own for the regions of the government"
_KNOWN_DIFFERENCES = {
    "azure/deepseek-v4-pro": "theirs takes DeepSeek's own price; Azure asks another one",
    "fireworks/accounts/fireworks/routers/deepseek-v4p1-flash-1017-ultrafast": "theirs is from before it was halved",
    "google/gemini-flash-latest": _MOVED,
    "google/gemini-flash-lite-latest": _MOVED,
    "mistral/mistral-large-latest": _MOVED,
    "mistral/codestral-latest": _CACHE,
    "mistral/magistral-medium-latest": _CACHE,
    "mistral/mistral-small-2506": _CACHE,
    "mistral/open-mistral-nemo": _CACHE,
    "mistral/pixtral-12b": _CACHE,
    "amazon-bedrock/us-gov.openai.gpt-oss-120b-1:0": _GOVERNMENT,
    "amazon-bedrock/us-gov.openai.gpt-oss-20b-1:0": _GOVERNMENT,
}

_PROMPT = 1000
_REPLY = 1000


def test_prices_agree_with_a_second_source() -> None:
    compared = dict(_compared())
    different = {name: found for name, found in compared.items() if found}

    new = {name: found for name, found in different.items() if name not in _KNOWN_DIFFERENCES}
    assert new == {}, "look these prices up at the vendor (ours, theirs)"
    assert set(_KNOWN_DIFFERENCES) - set(different) == set(), "these agree now: take them out of the table"


def test_most_models_are_known_to_both() -> None:
    """Otherwise one of the sources calls its models by other names, and nothing is compared any more."""
    priced = [known for ours in _PROVIDERS for known in known_models(ours) if known.model.cost is not None]
    compared = list(_compared())

    assert len(compared) > 0.85 * len(priced)
    assert {name.partition("/")[0] for name, _ in compared} == set(_PROVIDERS)


def _compared() -> Iterator[tuple[str, dict[str, tuple[float, float]]]]:
    """Each model that both know, with what it is that they have different prices for."""
    for ours, theirs in _PROVIDERS.items():
        for known in known_models(ours):
            if known.model.cost is None:
                continue
            try:
                yield known.model.qualified_id, _differences(known.model, theirs)
            except LookupError:
                continue  # they do not know it


def _differences(model: Model, their_provider: str) -> dict[str, tuple[float, float]]:
    different = {}
    for what, ours, theirs in _requests(model):
        our_price = price(ours, model.cost).cost.total
        their_price = float(
            calc_price(theirs, model.id, provider_id=their_provider, genai_request_timestamp=_WHEN).total_price
        )
        if abs(our_price - their_price) > _TOLERANCE * max(our_price, their_price):
            different[what] = (our_price, their_price)
    return different


def _requests(model: Model) -> Iterator[tuple[str, Usage, TheirUsage]]:
    """Requests of which each costs what one price says, for a short prompt and for one above every limit."""
    assert model.cost is not None
    limits = [tier.input_tokens_above for tier in model.cost.tiers]
    for size in (_PROMPT, max(limits) + _PROMPT) if limits else (_PROMPT,):
        yield f"input of {size}", Usage(input=size), TheirUsage(input_tokens=size)
        yield (
            f"output after {size}",
            Usage(input=size, output=_REPLY),
            TheirUsage(input_tokens=size, output_tokens=_REPLY),
        )
        # Where either has no price for the cache, there is nothing to compare.
        if model.cost.cache_read:
            yield f"{size} read", Usage(cache_read=size), TheirUsage(input_tokens=size, cache_read_tokens=size)
        if model.cost.cache_write:
            yield f"{size} written", Usage(cache_write=size), TheirUsage(input_tokens=size, cache_write_tokens=size)
