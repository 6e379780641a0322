"""Adds up what requests used, by what they were for."""

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

import msgspec

from kaa.core.events import AgentStart, CacheMiss, Event, MessageEnd
from kaa.core.messages import AssistantMessage, Usage
from kaa.core.usage import Spent, prompt_tokens

# Whether a model, by provider and id, is known to cost nothing.
IsFree: TypeAlias = Callable[[str, str], bool]

# What a request was for: the conversation itself, a summary, a name for the session, a tool, an extension, or something
# else.
Purpose: TypeAlias = Literal["reply", "summary", "title", "tool", "extension", "other"]


def is_price_unknown(is_free: IsFree, provider: str, model: str, *, tokens: int, cost: float) -> bool:
    """Whether a cost of nothing means that nobody knows the price. In usage, as pi keeps it, both look alike."""
    return bool(tokens) and not cost and not is_free(provider, model)


class RequestCharge(msgspec.Struct, frozen=True):
    """What one request used, of which model. `failed`: it was refused or got lost before a word of an answer came."""

    purpose: Purpose
    usage: Usage
    provider: str
    model: str
    failed: bool = False


class Spending(msgspec.Struct, frozen=True):
    """Where the tokens and the money of a session went.

    Attributes:
        turn: the last run, and what was asked beside it since.
        branch: on the way from the session's beginning to where it goes on now.
        total: on all branches.
        by_model: all of it by `provider/id`, the dearest first.
        by_purpose: all of it by what it was for.
        misses: of the provider's cache, the newest last.
    """

    turn: Spent
    branch: Spent
    total: Spent
    by_model: dict[str, Spent]
    by_purpose: dict[Purpose, Spent]
    misses: tuple[CacheMiss, ...]


class UsageTally:
    """Adds up what replies use; subscribe `observe`.

    Args:
        is_free: tells prices of nothing from unknown ones.

    Attributes:
        has_run: something was asked of the model in the conversation since this one adds up; otherwise `turn` does not
            know the last run.
    """

    def __init__(self, is_free: IsFree) -> None:
        self._is_free = is_free
        self.has_run = False
        self.reply = self.turn = self.total = Spent()

    def observe(self, event: Event) -> None:
        """Take what happens in the conversation."""
        match event:
            case AgentStart():
                self.turn, self.has_run = Spent(), True
            case MessageEnd(message=AssistantMessage(usage=usage, provider=provider, model=model) as reply):
                failed = reply.stop_reason == "error" and not reply.content
                self.reply = self.spent(RequestCharge("reply", usage, provider, model, failed))
                self.turn += self.reply
                self.total += self.reply
            case _:
                pass

    def aside(self, use: RequestCharge) -> None:
        """Add a request that was made beside the conversation, now."""
        spent = self.spent(use)
        self.turn += spent
        self.total += spent

    def recall(self, uses: Iterable[RequestCharge]) -> None:
        """Add what earlier runs used."""
        for use in uses:
            spent = self.spent(use)
            self.total += spent
            if use.purpose == "reply":
                self.reply = spent

    def spent(self, use: RequestCharge) -> Spent:
        """What a request counts."""
        tokens, cost = prompt_tokens(use.usage) + use.usage.output, use.usage.cost.total
        if not tokens:
            return Spent() if use.failed else Spent(use.usage, unmeasured=1, replies=1)
        unpriced = is_price_unknown(self._is_free, use.provider, use.model, tokens=tokens, cost=cost)
        return Spent(use.usage, unpriced=int(unpriced), replies=1)
