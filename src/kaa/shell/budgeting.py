"""Keeps runs and the session within what the user allows, and asks where somebody is there to be asked."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from kaa.core.agent import Agent
from kaa.core.budget import (
    MEASURE_WORDS,
    MEASURES,
    Budget,
    BudgetExhaustedError,
    BudgetScope,
    BudgetUsage,
    Ledger,
    LimitUsage,
    Measure,
    Shortage,
    amount,
)
from kaa.core.events import AgentEnd, AgentStart, BudgetState, BudgetUpdate, Event
from kaa.core.messages import Usage
from kaa.core.provider import Model, Request
from kaa.ext.asking import NOBODY, Asker, confirm
from kaa.session.past_usage import RUN_TIME_ENTRY
from kaa.session.recorder import SessionRecorder

_SETTINGS: dict[Measure, str] = {"cost": "cost", "tokens": "tokens", "turns": "turns", "seconds": "minutes"}
_WORDS: dict[Measure, str] = {measure: word for word, measure in MEASURE_WORDS.items()}
_FLAGS: dict[Measure, str] = {"cost": "--max-cost", "tokens": "--max-tokens", "seconds": "--max-time"}


def merged(budget: Budget, other: Budget) -> Budget:
    """`budget`, with the limits that `other` has in their place."""
    theirs = {measure: limit for measure in MEASURES if (limit := other.limit(measure)) is not None}
    return msgspec.structs.replace(budget, **theirs)


class Budgeting:
    """The budgets of one conversation; an `Allowance` for its agent.

    Each run has a ledger of its own, below that of the session.

    Args:
        recorder: notes how long runs took, where the time of the session is limited.
        run: what each run may use.
        session: what the session may use.
    """

    def __init__(
        self, agent: Agent, recorder: SessionRecorder, *, run: Budget, session: Budget, used: BudgetUsage, asker: Asker
    ) -> None:
        self._agent = agent
        self._recorder = recorder
        self._run_budget = run
        self._session_budget = session
        self._asker = asker
        self._session = Ledger("session", session, used=used)
        self._run = self._session.child(run)
        self._is_running = False
        self._warned: set[tuple[BudgetScope, Measure]] = set()
        self._priceless: set[str] = set()  # models whose price nobody knows, and which may be asked all the same
        agent.set_allowance(self)
        agent.subscribe(self._observe)

    def limits(self, scope: BudgetScope) -> Budget:
        return self._ledger(scope).budget

    def used(self, scope: BudgetScope) -> BudgetUsage:
        return self._ledger(scope).used

    def standings(self) -> list[LimitUsage]:
        """How much is used of each limit of the run, or of the next one if none is under way, and of the session."""
        run = self._run if self._is_running else self._session.child(self._run_budget)
        return run.standings()

    def set_limit(self, scope: BudgetScope, measure: Measure, limit: float | None) -> None:
        if scope == "run":
            self._run_budget = self._run_budget.with_limit(measure, limit)
        else:
            self._session_budget = self._session_budget.with_limit(measure, limit)
        ledger = self._ledger(scope)
        ledger.budget = ledger.budget.with_limit(measure, limit)
        self._warned.discard((scope, measure))

    def child(self, budget: Budget | None = None) -> Ledger:
        """A ledger for work that is given to another agent; the run under way pays, or else the session."""
        return self._purse.child(budget)

    def configure(self, run: Budget, session: Budget) -> None:
        """Put other limits in force, as changed settings say."""
        for measure in MEASURES:
            self.set_limit("run", measure, run.limit(measure))
            self.set_limit("session", measure, session.limit(measure))

    async def admit(self, *, ask: bool = True, model: Model | None = None) -> None:
        """Tell the user, once, when most of a limit is used.

        Whoever is there is asked about the price of another `model` in any case: nobody was when it was chosen.
        """
        asker = self._asker if ask else NOBODY
        await self._admit_price(model or self._agent.model, self._asker if model is not None else asker)
        for standing in self._standings():
            if standing.near and not standing.reached and (standing.scope, standing.measure) not in self._warned:
                self._warned.add((standing.scope, standing.measure))
                self._tell("warning", standing, f"{standing.text} are used")
        await self._admit_more(asker)

    @asynccontextmanager
    async def reserve(self, request: Request, *, ask: bool = True) -> AsyncIterator[Request]:
        asker = self._asker if ask else NOBODY
        await self._admit_price(request.model, asker)
        await self._admit_more(asker)
        quoted = self._purse.quote(request)  # once: it counts what the whole conversation may take
        await self._purse.wait_for_others(quoted)
        while (shortage := self._purse.shortage(quoted)) is not None:
            await self._admit_request(shortage, asker)
        async with self._purse.set_aside(request, quoted) as affordable:
            yield affordable

    def charge(self, usage: Usage, model: Model) -> None:
        self._purse.charge(usage, model)

    @property
    def _purse(self) -> Ledger:
        """What requests are paid from."""
        return self._run if self._is_running else self._session

    def seconds_left(self) -> float | None:
        return self._run.seconds_left()

    def cut_off(self) -> str | None:
        return self._run.cut_off()

    async def _admit_more(self, asker: Asker) -> None:
        """Where a limit is reached, have somebody allow as much again.

        Raises:
            BudgetExhaustedError: nobody does.
        """
        while (reached := self._purse.reached()) is not None:
            first = self._first_limit(reached)
            await self._raise_limit(reached, reached.used + first, first, "the budget is used up", asker)

    async def _admit_request(self, shortage: Shortage, asker: Asker) -> None:
        """A request does not fit into a limit: have somebody allow as much again, as often as it takes.

        Raises:
            BudgetExhaustedError: nobody does.
        """
        standing, first = shortage.standing, self._first_limit(shortage.standing)
        more = first * math.ceil((shortage.needed - shortage.left) / first)
        problem = f"the budget is too small for the next request: {shortage.text}"
        await self._raise_limit(standing, standing.limit + more, more, problem, asker)

    async def _raise_limit(self, standing: LimitUsage, limit: float, more: float, problem: str, asker: Asker) -> None:
        """Have somebody allow `more`, so that the limit becomes `limit`.

        Raises:
            BudgetExhaustedError: nobody does.
        """
        scope, measure = standing.scope, standing.measure
        self._tell("reached", standing, f"{standing.text} are used" if standing.reached else problem)
        words = amount(measure, more)
        if not asker.can_ask or not await self._asked(asker, f"Continue with {words} more?", problem, standing):
            problem = f"{problem}: {standing.text}" if standing.reached else problem
            raise BudgetExhaustedError(f"{problem}. {_remedy(scope, measure, at_hand=asker.can_ask)}")
        ledger = self._ledger(scope)
        ledger.budget = ledger.budget.with_limit(measure, limit)
        self._warned.discard((scope, measure))
        self._tell(
            "raised", LimitUsage(scope, measure, standing.used, limit), f"allowed for this {scope}: {words} more"
        )

    def _first_limit(self, standing: LimitUsage) -> float:
        """The limit as the user has set it."""
        first = self._budget(standing.scope).limit(standing.measure)
        assert first is not None
        return first

    async def _admit_price(self, model: Model, asker: Asker) -> None:
        """Make sure that a limit of money can be kept.

        Raises:
            BudgetExhaustedError: the model's price is not known, and nobody says that it may be asked all the same.
        """
        name = model.qualified_id
        money = next((standing for standing in self._standings() if standing.measure == "cost"), None)
        if money is None or model.cost is not None or name in self._priceless:
            return
        problem = f"the price of {name} is not known, so a cost limit cannot include it"
        if not asker.can_ask or not await self._asked(asker, "Continue with an unknown price?", problem, money):
            raise BudgetExhaustedError(
                f"{problem}. Give its price in models.json (cost), limit tokens instead of money, or choose another "
                "model."
            )
        self._priceless.add(name)
        self._tell("unknown_price", money, f"{problem}; kaa continues without counting its cost")

    async def _asked(self, asker: Asker, question: str, why: str, standing: LimitUsage) -> bool:
        """Ask the user; the clock stands still meanwhile. The question is a title, and has to fit into one."""
        others = [other.text for other in self._standings() if other != standing]
        running = self._is_running
        self._stop_clocks()
        try:
            return await confirm(asker, question, "\n".join([why, f"{standing.text} are used", *others]))
        finally:
            if running:
                self._start_clocks()

    def _standings(self) -> list[LimitUsage]:
        return self._purse.standings()

    def _ledger(self, scope: BudgetScope) -> Ledger:
        return self._run if scope == "run" else self._session

    def _budget(self, scope: BudgetScope) -> Budget:
        return self._run_budget if scope == "run" else self._session_budget

    def _observe(self, event: Event) -> None:
        match event:
            case AgentStart():
                self._run = self._session.child(self._run_budget)
                self._warned -= {(scope, measure) for scope, measure in self._warned if scope == "run"}
                self._is_running = True
                self._start_clocks()
            case AgentEnd():
                self._stop_clocks()
                self._is_running = False
                if self._session.budget.seconds is not None:
                    self._recorder.custom(RUN_TIME_ENTRY, {"seconds": round(self._run.used.seconds, 3)})
            case _:
                pass

    def _start_clocks(self) -> None:
        self._session.start_clock()
        self._run.start_clock()

    def _stop_clocks(self) -> None:
        self._session.stop_clock()
        self._run.stop_clock()

    def _tell(self, state: BudgetState, standing: LimitUsage, message: str) -> None:
        self._agent.emit(BudgetUpdate(state, standing.scope, standing.measure, standing.used, standing.limit, message))


def _remedy(scope: BudgetScope, measure: Measure, *, at_hand: bool) -> str:
    """What allows more; `at_hand`: somebody is there who can type it."""
    if at_hand:
        return f"Allow more with /budget {scope} {_WORDS[measure]} AMOUNT, or in the settings."
    setting = f"budget.{scope}.{_SETTINGS[measure]} in the settings"
    flag = _FLAGS.get(measure) if scope == "run" else None
    return f"Allow more with {f'{flag} or {setting}' if flag else setting}."
