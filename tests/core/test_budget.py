"""Counting what is used against limits."""

import asyncio

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.budget import Budget, BudgetExhaustedError, BudgetUsage, Ledger, Measure, amount, duration, parse_amount
from kaa.core.messages import Cost, Usage
from kaa.core.provider import Model, ModelRates, Request
from tests.support.tables import each

MODEL = Model("m", "p", "api", cost=ModelRates())


class Clock:
    """Time that goes on when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def usage(tokens: int = 0, cost: float = 0.0) -> Usage:
    return Usage(input=tokens, cost=Cost(total=cost))


def test_what_came_out_of_the_cache_is_not_counted() -> None:
    ledger = Ledger("run")

    ledger.charge(Usage(input=10, output=5, cache_read=1000, cache_write=3), MODEL)

    assert ledger.used == BudgetUsage(tokens=18, turns=1)


def test_what_a_child_uses_its_parents_pay_for() -> None:
    session = Ledger("session", Budget(tokens=100))
    run = session.child()
    helper = run.child(Budget(tokens=1000))

    helper.charge(usage(60, 0.5), MODEL)
    run.charge(usage(40, 0.25), MODEL)

    assert session.used == BudgetUsage(cost=0.75, tokens=100, turns=2)
    assert run.used == session.used
    assert helper.used == BudgetUsage(cost=0.5, tokens=60, turns=1)
    with pytest.raises(BudgetExhaustedError, match="100 tokens of the 100 tokens for this session"):
        asyncio.run(helper.admit())


def test_requests_under_way_count_in_whatever_part_of_the_work_they_are_made() -> None:
    run = Ledger("run", Budget(turns=2))
    first, second = run.child(), run.child()
    request = Request(MODEL, "", ())

    async def work() -> None:
        async with first.reserve(request), second.reserve(request):
            with pytest.raises(BudgetExhaustedError, match="2 requests of the 2 requests for this run"):
                await second.admit()
            with pytest.raises(BudgetExhaustedError, match="2 requests of the 2 requests for this run"):
                await first.reserve(request).__aenter__()
        await first.admit()  # none of them was answered
        assert run.used.turns == 0

    asyncio.run(work())


PRICED = msgspec.structs.replace(MODEL, cost=ModelRates(output=1000.0), max_tokens=2000)


def test_a_request_waits_for_money_that_others_under_way_hold() -> None:
    run = Ledger("run", Budget(cost=3.0))  # a reply costs at most 2
    replies: list[int] = []

    async def work() -> None:
        agent = run.child()
        async with agent.reserve(Request(PRICED, "", ())) as request:
            await asyncio.sleep(0)  # so that all are under way, or wait
            replies.append(request.reply_limit)
            agent.charge(usage(cost=0.1), PRICED)

    async def all_of_them() -> None:
        await asyncio.gather(*(work() for _ in range(8)))

    asyncio.run(all_of_them())

    assert replies == [2000] * 8
    assert run.used.cost == pytest.approx(0.8)
    assert run.cut_off() is None


def test_who_gave_work_knows_that_a_limit_of_its_own_ended_it() -> None:
    session = Ledger("session")
    run = session.child(Budget(cost=1.0))
    agent, thrifty = run.child(), run.child(Budget(turns=1))
    thrifty.charge(usage(cost=0.5), PRICED)

    with pytest.raises(BudgetExhaustedError):
        asyncio.run(thrifty.admit())
    assert run.cut_off() is None

    with pytest.raises(BudgetExhaustedError) as error:
        asyncio.run(agent.reserve(Request(PRICED, "", ())).__aenter__())
    assert run.cut_off() == str(error.value)
    assert (session.cut_off(), agent.cut_off()) == (None, None)


def test_requests_of_an_unknown_price_are_known_as_such_and_those_the_server_prices_are_not() -> None:
    session = Ledger("session")
    run = session.child()
    unpriced = msgspec.structs.replace(MODEL, cost=None)

    run.charge(usage(10), unpriced)
    run.charge(usage(10, 0.5), unpriced)
    run.charge(usage(10), MODEL)

    assert session.used == BudgetUsage(cost=0.5, tokens=30, turns=3, unpriced=1)


def test_time_counts_while_the_clock_runs() -> None:
    clock = Clock()
    ledger = Ledger("run", Budget(seconds=10), clock=clock)

    ledger.start_clock()
    clock.now += 4
    assert ledger.seconds_left() == 6
    ledger.stop_clock()
    clock.now += 100
    assert ledger.used.seconds == 4
    ledger.start_clock()
    clock.now += 100

    assert ledger.seconds_left() == 0
    with pytest.raises(BudgetExhaustedError, match="1 min 44 s of the 10 s"):
        asyncio.run(ledger.admit())


def test_the_time_of_those_who_work_at_once_is_not_added_up() -> None:
    clock = Clock()
    session = Ledger("session", Budget(seconds=10), clock=clock)
    session.start_clock()
    for child in (session.child(), session.child()):
        child.start_clock()
    clock.now += 4

    assert session.seconds_left() == 6


def test_without_limits_everything_passes() -> None:
    ledger = Ledger("run")
    ledger.charge(usage(10**9, 10**6), MODEL)

    asyncio.run(ledger.admit())

    assert ledger.seconds_left() is None
    assert ledger.standings() == []


@given(
    st.sampled_from(["cost", "tokens", "turns", "seconds"]),
    st.integers(1, 1000),
    st.lists(st.integers(0, 300), max_size=12),
)
def test_a_limit_holds_exactly_when_it_is_used_up(measure: Measure, limit: int, uses: list[int]) -> None:
    clock = Clock()
    ledger = Ledger("run", Budget().with_limit(measure, limit), clock=clock)
    ledger.start_clock()
    for use in uses:
        ledger.charge(usage(use, float(use)), MODEL)
        clock.now += use
    used = len(uses) if measure == "turns" else sum(uses)

    (standing,) = ledger.standings()

    assert standing.used == used
    assert standing.reached == (used >= limit)
    assert standing.near == (used >= 0.8 * limit)


@each(
    ("measure", "value", "text"),
    [
        ("cost", 0.5, "$0.50"),
        ("cost", 0.0123, "$0.0123"),
        ("cost", 1234.567, "$1,234.57"),
        ("tokens", 200_000, "200,000 tokens"),
        ("turns", 1, "1 request"),
        ("seconds", 600, "10 min"),
    ],
)
def test_amounts_are_told_with_their_unit(measure: Measure, value: float, text: str) -> None:
    assert amount(measure, value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.5, "1.5 s"), (59.99, "60 s"), (61, "1 min 1 s"), (3900, "1 h 5 min"), (7200, "2 h")]
)
def test_times_are_told_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@each(
    ("measure", "text", "value"),
    [
        ("cost", "0.50", 0.5),
        ("cost", "$2", 2.0),
        ("tokens", "200k", 200_000),
        ("tokens", "1.5M", 1_500_000),
        ("tokens", "10,000", 10_000),
        ("turns", "12", 12),
        ("seconds", "90s", 90),
        ("seconds", "10m", 600),
        ("seconds", "10 min", 600),
        ("seconds", "1.5h", 5400),
    ],
)
def test_limits_are_read_as_people_write_them(measure: Measure, text: str, value: float) -> None:
    assert parse_amount(measure, text) == value


@each(
    ("measure", "text"),
    [
        *[(measure, text) for measure in ("cost", "tokens", "turns") for text in ("", "0", "-1", "nan", "inf", "5m5")],
        ("cost", "0.00009"),
        ("cost", "1e-30"),
        ("seconds", "10"),
        ("seconds", "m"),
        ("seconds", "1e-30s"),
        ("turns", "0.5"),
        ("cost", "5k"),
    ],
)
def test_what_is_no_limit_is_refused_with_an_example(measure: Measure, text: str) -> None:
    with pytest.raises(ValueError, match="write one such as"):
        parse_amount(measure, text)
