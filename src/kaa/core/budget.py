"""What may be used, and what was: money, tokens, requests to the model, and time.

A `Ledger` counts for a run or a session. Ledgers form a tree: what a child is charged, its parents are charged too, and
the limits of all of them hold. So work that is given to others is paid out of the same purse.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from kaa.core.messages import Usage
from kaa.core.prices import Quote, quote
from kaa.core.provider import Model, Request

BudgetScope: TypeAlias = Literal["run", "session"]
Measure: TypeAlias = Literal["cost", "tokens", "turns", "seconds"]

MEASURES: Final[tuple[Measure, ...]] = ("cost", "tokens", "turns", "seconds")
MEASURE_WORDS: Final[dict[str, Measure]] = {"cost": "cost", "tokens": "tokens", "turns": "turns", "time": "seconds"}
BUDGET_SCOPES: Final[tuple[BudgetScope, ...]] = ("run", "session")
LEAST: Final[dict[Measure, float]] = {"cost": 0.0001, "seconds": 0.1}
"""The smallest limits of what is no whole number. As much again must be more, or one would be asked for ever."""
WARNING_SHARE: Final = 0.8
"""The part of a limit from which on it is told that it is near."""


class BudgetExhaustedError(Exception):
    """Nothing more may be used; the message says of what, and what to do."""


class Budget(msgspec.Struct, frozen=True):
    """Limits; None where there is none.

    Attributes:
        cost: in US dollars.
        tokens: that models read and wrote; what came out of a provider's cache is not counted.
        turns: requests that were answered.
        seconds: while the agent worked.
    """

    cost: float | None = None
    tokens: int | None = None
    turns: int | None = None
    seconds: float | None = None

    def limit(self, measure: Measure) -> float | None:
        """The limit of one measure."""
        limit: float | None = getattr(self, measure)
        return limit

    def with_limit(self, measure: Measure, limit: float | None) -> "Budget":
        """The same with another limit of one measure."""
        whole = limit if limit is None or measure in ("cost", "seconds") else int(limit)
        return msgspec.structs.replace(self, **{measure: whole})


class BudgetUsage(msgspec.Struct, frozen=True):
    """What was used, in the units of `Budget`.

    Attributes:
        unpriced: requests of which nobody knows what they cost; `cost` is that of the others.
    """

    cost: float = 0.0
    tokens: int = 0
    turns: int = 0
    seconds: float = 0.0
    unpriced: int = 0

    def amount(self, measure: Measure) -> float:
        """One measure of it."""
        amount: float = getattr(self, measure)
        return amount


class LimitUsage(msgspec.Struct, frozen=True):
    """How much of one limit is used."""

    scope: BudgetScope
    measure: Measure
    used: float
    limit: float

    @property
    def reached(self) -> bool:
        """Whether nothing is left."""
        return self.used >= self.limit

    @property
    def near(self) -> bool:
        """Whether little is left."""
        return self.used >= WARNING_SHARE * self.limit

    @property
    def text(self) -> str:
        """In words, as in `$0.41 of the $0.50 for this run`."""
        return f"{amount(self.measure, self.used)} of the {amount(self.measure, self.limit)} for this {self.scope}"


class Shortage(msgspec.Struct, frozen=True):
    """A request that a limit of money leaves too little for.

    Attributes:
        left: US dollars, beside what requests under way can still cost.
        needed: US dollars, with a reply of `output_tokens`.
    """

    standing: LimitUsage
    left: float
    needed: float
    input_tokens: int
    output_tokens: int

    @property
    def text(self) -> str:
        """In words."""
        limit = amount("cost", self.standing.limit)
        return (
            f"it can cost {amount('cost', self.needed)} (about {self.input_tokens:,} tokens of input, not cached, and "
            f"{self.output_tokens:,} of reply), and {amount('cost', max(0.0, self.left))} of the {limit} for this "
            f"{self.standing.scope} are left"
        )


class _Funds(NamedTuple):
    ledger: "Ledger"
    standing: LimitUsage
    left: float


class Allowance(Protocol):
    """Lets requests pass, or does not. The loop asks it; so must whoever asks a model beside the loop."""

    async def admit(self, *, ask: bool = True, model: Model | None = None) -> None:
        """A request is about to be made.

        Args:
            ask: a person may be asked for more, which takes as long as it takes. Not for what is made beside the
                conversation.
            model: that the request goes to, if it is another one than that of the conversation.

        Raises:
            BudgetExhaustedError: it must not be made.
        """

    def reserve(self, request: Request, *, ask: bool = True) -> AbstractAsyncContextManager[Request]:
        """Set aside `request` and what it can cost, while it is under way. Charge what it used before the end.

        Args:
            request: that is about to be sent.
            ask: as in `admit`.

        Returns:
            A context with the request to send: the same, or with a shorter reply where a limit of money leaves less.

        Raises:
            BudgetExhaustedError: on entering; not even a short reply could be paid for.
        """

    def charge(self, usage: Usage, model: Model) -> None:
        """A request to this model was answered, and used this."""

    def seconds_left(self) -> float | None:
        """How long a reply may still take; None for as long as it wants. Never negative."""

    def cut_off(self) -> str | None:
        """Return why work that was given to others ended early, if a limit of the one who gave it did that."""


class Ledger:
    """Counts what is used, and knows the limits. It is an `Allowance` for work that nobody can be asked about.

    Args:
        scope: what it is for.
        budget: its limits.
        parent: is charged whatever this one is; its limits hold too. Time is not charged: each counts its own, as those
            who work at the same time share the clock.
        used: before now.
        clock: seconds, going up.

    Attributes:
        budget: the limits; may be changed at any time.
    """

    def __init__(
        self,
        scope: BudgetScope,
        budget: Budget | None = None,
        *,
        parent: "Ledger | None" = None,
        used: BudgetUsage | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.scope: BudgetScope = scope
        self.budget = budget or Budget()
        self._parent = parent
        self._used = used or BudgetUsage()
        self._clock = clock
        self._since: float | None = None
        self._reserved: list[float] = []  # US dollars, for each request under way; 0 where its price does not matter
        self._waiting: set[asyncio.Future[None]] = set()  # those of all its children, for a request to end
        self._cut_off: str | None = None

    @property
    def used(self) -> BudgetUsage:
        """What was used so far."""
        if self._since is None:
            return self._used
        return msgspec.structs.replace(self._used, seconds=self._used.seconds + self._clock() - self._since)

    def child(self, budget: Budget | None = None, scope: BudgetScope = "run") -> "Ledger":
        """A ledger for a part of the work."""
        return Ledger(scope, budget, parent=self, clock=self._clock)

    def charge(self, usage: Usage, model: Model) -> None:
        """See `Allowance`. The parent is charged too."""
        used, is_priced = self._used, model.cost is not None or usage.cost.total > 0
        self._used = msgspec.structs.replace(
            used,
            cost=used.cost + usage.cost.total,
            tokens=used.tokens + usage.input + usage.cache_write + usage.output,
            turns=used.turns + 1,
            unpriced=used.unpriced + (not is_priced),
        )
        if self._parent is not None:
            self._parent.charge(usage, model)

    def start_clock(self) -> None:
        """Time counts from now on."""
        if self._since is None:
            self._since = self._clock()

    def stop_clock(self) -> None:
        """Time counts no longer."""
        self._used, self._since = self.used, None

    def standings(self) -> list[LimitUsage]:
        """How much of each limit is used, its own first."""
        return [standing for ledger in self._lineage() for standing in ledger.own_standings()]

    def own_standings(self) -> list[LimitUsage]:
        """The same without the limits of its parents."""
        if self.budget == Budget():  # as mostly, and each request asks often
            return []
        used = self.used
        return [
            LimitUsage(self.scope, measure, used.amount(measure), limit)
            for measure in MEASURES
            if (limit := self.budget.limit(measure)) is not None
        ]

    def reached(self) -> LimitUsage | None:
        """A limit that leaves nothing beside the requests under way; None if none does."""
        found = self._reached()
        return None if found is None else found[1]

    async def admit(self, *, ask: bool = True, model: Model | None = None) -> None:
        """See `Allowance`; nobody is asked."""
        if (found := self._reached()) is not None:
            ledger, reached = found
            raise self._ended(ledger, f"the budget is used up: {reached.text}")

    @asynccontextmanager
    async def reserve(self, request: Request, *, ask: bool = True) -> AsyncIterator[Request]:
        """See `Allowance`; nobody is asked."""
        async with self.set_aside(request, self.quote(request)) as affordable:
            yield affordable

    def quote(self, request: Request) -> Quote | None:
        """What `request` can cost; None where no limit of money holds, or the price is not known."""
        return None if self._funds() is None else quote(request)

    @asynccontextmanager
    async def set_aside(self, request: Request, quoted: Quote | None) -> AsyncIterator[Request]:
        """As `reserve`, for what was quoted."""
        await self.wait_for_others(quoted)
        await self.admit()  # requests that began since the last look count too
        shortage = self.shortage(quoted)
        funds = self._funds()
        if shortage is not None and funds is not None:
            raise self._ended(funds.ledger, f"the budget is too small for the next request: {shortage.text}")
        cost, tokens, lineage = 0.0, request.reply_limit, [*self._lineage()]
        if quoted is not None and funds is not None:
            tokens = quoted.reply_tokens(funds.left)
            cost = quoted.cost(tokens)
        for ledger in lineage:
            ledger._reserved.append(cost)
        try:
            yield request if tokens == request.reply_limit else msgspec.structs.replace(request, max_tokens=tokens)
        finally:
            for ledger in lineage:
                ledger._reserved.remove(cost)
            for waiting in lineage[-1]._waiting:
                if not waiting.done():
                    waiting.set_result(None)

    async def wait_for_others(self, quoted: Quote | None) -> None:
        """Wait while requests under way hold money that a request would have without them: they use little of it.

        Raises:
            BudgetExhaustedError: a limit is reached meanwhile.
        """
        while quoted is not None and self._is_held_up(quoted):
            *_, top = self._lineage()
            ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            top._waiting.add(ended)
            try:
                await asyncio.wait((ended,), timeout=self.seconds_left())
            finally:
                top._waiting.discard(ended)
            await self.admit()

    def _is_held_up(self, quoted: Quote) -> bool:
        """True if the end of requests under way would leave a request more, and enough."""
        now, later = self._funds(), self._funds(beside=False)
        if now is None or later is None:
            return False
        possible = quoted.reply_tokens(later.left)
        return possible >= quoted.least_reply and quoted.reply_tokens(now.left) < possible

    def shortage(self, quoted: Quote | None) -> "Shortage | None":
        """Which limit of money leaves too little for what was quoted; None if none does."""
        funds = self._funds()
        if funds is None or quoted is None or quoted.reply_tokens(funds.left) >= quoted.least_reply:
            return None
        return Shortage(funds.standing, funds.left, quoted.least, quoted.input_tokens, quoted.least_reply)

    def _funds(self, *, beside: bool = True) -> "_Funds | None":
        """The limit of money that leaves least, and what it leaves beside the requests under way, or without them."""
        return min(
            (
                _Funds(ledger, standing, standing.limit - standing.used - beside * sum(ledger._reserved))
                for ledger in self._lineage()
                for standing in ledger.own_standings()
                if standing.measure == "cost"
            ),
            key=lambda funds: funds.left,
            default=None,
        )

    def _lineage(self) -> "Iterator[Ledger]":
        """This one, its parent, and so on."""
        ledger: Ledger | None = self
        while ledger is not None:
            yield ledger
            ledger = ledger._parent

    def _reached(self) -> "tuple[Ledger, LimitUsage] | None":
        for ledger in self._lineage():
            for standing in ledger.own_standings():
                under_way = len(ledger._reserved) if standing.measure == "turns" else 0
                taken = msgspec.structs.replace(standing, used=standing.used + under_way)
                if taken.reached:
                    return ledger, taken
        return None

    def _ended(self, limited: "Ledger", problem: str) -> BudgetExhaustedError:
        """The error for a request that a limit of a ledger does not let pass; noted by those who gave the work."""
        ledger = self
        while ledger is not limited and ledger._parent is not None:
            ledger = ledger._parent
            ledger._cut_off = problem
        return BudgetExhaustedError(problem)

    def cut_off(self) -> str | None:
        """See `Allowance`."""
        return self._cut_off

    def seconds_left(self) -> float | None:
        """See `Allowance`."""
        left = [standing.limit - standing.used for standing in self.standings() if standing.measure == "seconds"]
        return max(0.0, min(left)) if left else None


def amount(measure: Measure, value: float) -> str:
    """A quantity for people, with its unit."""
    match measure:
        case "cost":
            return f"${value:,.2f}" if value >= 1 or abs(round(value, 2) - value) < 1e-9 else f"${value:.4f}"
        case "tokens":
            return f"{value:,.0f} tokens"
        case "turns":
            return f"{value:,.0f} {'request' if value == 1 else 'requests'}"
        case "seconds":
            return duration(value)


def duration(seconds: float) -> str:
    """A time for people, as in `1 h 5 min`, `10 min`, `1.5 s`."""
    if seconds < 60:
        return f"{round(seconds, 1):g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{count} {unit}" for count, unit in ((hours, "h"), (minutes, "min"), (rest, "s")) if count]
    return " ".join(parts[:2])


def parse_amount(measure: Measure, text: str) -> float:
    """What a person writes for a limit: `0.50` or `$0.50`, `200k` or `1.5m`, `12`, `90s`, `10m`, `1.5h`.

    Raises:
        ValueError: it is none, or less than `LEAST`; the message shows what one looks like.
    """
    example, units = _SPELLINGS[measure]
    number = text.strip().lower().removeprefix("$" if measure == "cost" else "").replace(",", "")
    unit = next((unit for unit in units if unit and number.endswith(unit)), "")
    try:
        value = float(number.removesuffix(unit)) * units[unit]
    except (ValueError, KeyError):
        value = 0.0
    if measure in ("tokens", "turns"):
        value = float(int(value)) if value < float("inf") else 0.0
    if not LEAST.get(measure, 1) <= value < float("inf"):
        raise ValueError(f"{text!r} is no limit of {_NOUNS[measure]}: write one such as {example}")
    return value


_NOUNS: Final[dict[Measure, str]] = {"cost": "money", "tokens": "tokens", "turns": "requests", "seconds": "time"}
# By measure: an example, and what a number may end with. A time without a unit would be guessed at.
_SPELLINGS: Final[dict[Measure, tuple[str, dict[str, float]]]] = {
    "cost": ("0.50", {"": 1.0}),
    "tokens": ("200k", {"": 1.0, "k": 1e3, "m": 1e6}),
    "turns": ("20", {"": 1.0}),
    "seconds": ("10m", {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}),
}
