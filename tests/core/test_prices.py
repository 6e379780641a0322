"""What a request costs: prices of long prompts, and the difference between free and unknown."""

import pytest

from kaa.core.messages import AssistantMessage, Cost, Message, Usage, UserMessage
from kaa.core.prices import price, quote
from kaa.core.provider import Model, ModelRates, RatesAbove, Request
from tests.support.tables import each

_TIERED = ModelRates(
    input=2,
    output=10,
    cache_read=0.2,
    cache_write=2.5,
    tiers=(
        RatesAbove(input_tokens_above=500_000, input=8, output=40, cache_read=0.8, cache_write=10),
        RatesAbove(input_tokens_above=200_000, input=4, output=20, cache_read=0.4, cache_write=5),
    ),
)


@each(
    ("usage", "dollars"),
    [
        (Usage(input=200_000, output=1_000), 0.4 + 0.01),
        (Usage(input=200_001, output=1_000), 0.800004 + 0.02),
        (Usage(input=1, cache_read=99_999, cache_write=100_000), 0.000002 + 0.0199998 + 0.25),
        (Usage(input=1, cache_read=99_999, cache_write=100_000, output=500_000), 0.000002 + 0.0199998 + 0.25 + 5),
        (Usage(input=1, cache_read=100_000, cache_write=100_000), 0.000004 + 0.04 + 0.5),
        (Usage(input=500_000), 2.0),
        (Usage(input=500_001), 4.000008),
    ],
)
def test_the_whole_request_costs_what_prompts_of_its_length_cost(usage: Usage, dollars: float) -> None:
    assert price(usage, _TIERED).cost.total == pytest.approx(dollars)


def test_what_nobody_knows_the_price_of_is_not_priced() -> None:
    usage = Usage(input=1_000, output=1_000)

    assert price(usage, None) is usage


@pytest.mark.parametrize(
    ("rates", "free"),
    [
        (ModelRates(), True),
        (ModelRates(output=0.1), False),
        (ModelRates(tiers=(RatesAbove(input_tokens_above=10),)), True),
        (ModelRates(tiers=(RatesAbove(input_tokens_above=10, input=1),)), False),
    ],
)
def test_free_is_what_never_costs_anything(rates: ModelRates, free: bool) -> None:
    assert rates.is_free == free


def test_a_model_is_called_by_its_provider_and_id() -> None:
    assert Model("vendor/m:1", "gateway", "any").qualified_id == "gateway/vendor/m:1"


def test_a_cost_that_the_server_reported_stays_and_the_prices_tell_its_parts() -> None:
    reported = Usage(input=1000, output=500, cost=Cost(total=3.0))

    cost = price(reported, ModelRates(input=1.0, output=4.0)).cost

    assert (cost.input, cost.output, cost.total) == (1.0, 2.0, 3.0)
    assert price(reported, None) == reported
    assert price(reported, ModelRates()).cost == Cost(total=3.0)


@pytest.mark.parametrize(
    ("written_for_an_hour", "dollars_per_million"),
    [([], 5.0), ([0], 5.0), ([9], 8.0), ([0, 9], 8.0), ([9, 0], 5.0)],
)
def test_a_prompt_that_is_kept_for_an_hour_is_quoted_at_twice_the_input(
    written_for_an_hour: list[int], dollars_per_million: float
) -> None:
    rates = ModelRates(input=4, output=1, cache_write=5)
    replies = [
        AssistantMessage((), "a", "p", "m", Usage(cache_write=9, cache_write_1h=tokens), "stop")
        for tokens in written_for_an_hour
    ]
    messages: tuple[Message, ...] = (UserMessage("hi"), *replies, UserMessage("and then?"))

    quoted = quote(Request(Model("m", "p", "a", cost=rates), "", messages))

    assert quoted is not None
    assert quoted.input_cost == pytest.approx(quoted.input_tokens * dollars_per_million / 1_000_000)
