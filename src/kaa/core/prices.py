"""What a request costs at most, before it is sent, so that limits of money hold for it; and what a reply did cost."""

from collections.abc import Sequence
from typing import Final

import msgspec

from kaa.core.messages import AssistantMessage, Cost, Message, Usage
from kaa.core.provider import ModelRates, Rates, Request
from kaa.core.usage import context_parts, estimate, measured_prompt, prompt_tokens

LEAST_REPLY_TOKENS: Final = 1024
"""A reply that may not even have these is not worth asking for: one edit takes several hundred."""
# Four characters are a token on average; code, numbers and other scripts have more tokens than that.
_CAUTION: Final = 2
# Prompts that are kept for an hour cost so many times the price of input, wherever that is offered.
# https://platform.claude.com/docs/en/build-with-claude/prompt-caching
_KEPT_LONG: Final = 2
_MILLION: Final = 1_000_000


def price(usage: Usage, rates: ModelRates | None) -> Usage:
    """The same usage with its cost; unchanged when the model's prices are unknown.

    A total that the server reported stays, and the prices only tell its parts.
    """
    if rates is None:
        return usage
    asked = rates.for_prompt(prompt_tokens(usage))
    kept_long = usage.cache_write_1h or 0
    kept = (usage.cache_write - kept_long) * asked.cache_write + kept_long * _KEPT_LONG * asked.input
    parts = (
        usage.input * asked.input / _MILLION,
        usage.output * asked.output / _MILLION,
        usage.cache_read * asked.cache_read / _MILLION,
        kept / _MILLION,
    )
    total = usage.cost.total or sum(parts)
    share = total / sum(parts) if any(parts) else 0.0
    fresh, output, read, written = (part * share for part in parts)
    return msgspec.structs.replace(usage, cost=Cost(fresh, output, read, written, total))


class Quote(msgspec.Struct, frozen=True):
    """The most that a request costs, as far as that can be known before it is answered.

    Attributes:
        input_tokens: what the server measured of the conversation, and twice the estimate of what is new.
        input_cost: US dollars, if nothing of it comes out of the provider's cache.
        output_rate: US dollars for a token of the reply.
        output_tokens: the most that the reply may have.
    """

    input_tokens: int
    input_cost: float
    output_rate: float
    output_tokens: int

    @property
    def least_reply(self) -> int:
        """The tokens without which the reply is not worth asking for."""
        return min(LEAST_REPLY_TOKENS, self.output_tokens)

    @property
    def least(self) -> float:
        """US dollars that must be there for the request to be sent."""
        return self.input_cost + self.least_reply * self.output_rate

    def reply_tokens(self, dollars: float) -> int:
        """The most tokens that the reply may have, so that the request costs no more than `dollars`.

        Fewer than `least_reply`, or less than nothing, where they are not enough.
        """
        if dollars - self.input_cost >= self.output_tokens * self.output_rate:
            return self.output_tokens
        return int((dollars - self.input_cost) / self.output_rate) if self.output_rate else -1

    def cost(self, reply_tokens: int) -> float:
        """US dollars, with a reply of so many tokens."""
        return self.input_cost + reply_tokens * self.output_rate


def quote(request: Request) -> Quote | None:
    """The most that `request` costs; None if the model's price is not known."""
    if request.model.cost is None:
        return None
    tokens = _input_tokens(request)
    rates = request.model.cost.for_prompt(tokens)
    cost = tokens * _dearest_input(rates, request.messages) / _MILLION
    return Quote(tokens, cost, rates.output / _MILLION, request.reply_limit)


def _input_tokens(request: Request) -> int:
    measured, new = measured_prompt(request.messages)
    if measured:
        return measured + _CAUTION * sum(map(estimate, new))
    return _CAUTION * context_parts(request.system, request.tools, request.messages).total


def _dearest_input(rates: Rates, messages: Sequence[Message]) -> float:
    """What a token of input costs at most: nothing is in the cache any more, and all of it is written there anew."""
    last = next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
    long = last is not None and bool(last.usage.cache_write_1h)
    return max(rates.input * (_KEPT_LONG if long else 1), rates.cache_write)
