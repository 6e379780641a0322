"""Intervals have their published values, hold what they estimate, and shrink with more runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.frontends.lab.intervals import difference_interval, mean_difference, mean_interval, newcombe, wilson

trials = st.integers(1, 500)
rates = trials.flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
groups = st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5), min_size=2, max_size=8)


# Newcombe, Statistics in Medicine 17 (1998), p. 857-872 and 873-890: tables of methods 3 and 10.
@pytest.mark.parametrize(
    ("successes", "runs", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_has_the_published_values(successes: int, runs: int, low: float, high: float) -> None:
    assert wilson(successes, runs) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [((48, 80), (56, 70), 0.0524, 0.3339), ((3, 10), (9, 10), 0.1705, 0.8090), ((0, 10), (10, 10), 0.6075, 1.0)],
)
def test_newcombe_has_the_published_values(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    assert newcombe(first, second) == pytest.approx((low, high), abs=5e-5)


@given(rates)
def test_wilson_holds_the_rate_and_is_the_same_for_failures(rate: tuple[int, int]) -> None:
    successes, runs = rate
    low, high = wilson(successes, runs)

    assert 0 <= low <= successes / runs <= high <= 1
    assert wilson(runs - successes, runs) == pytest.approx((1 - high, 1 - low))


@given(rates)
def test_more_runs_are_surer(rate: tuple[int, int]) -> None:
    successes, runs = rate
    few, many = wilson(successes, runs), wilson(successes * 4, runs * 4)

    assert many.high - many.low < few.high - few.low


@given(rates, rates)
def test_newcombe_holds_the_difference_and_turns_round(first: tuple[int, int], second: tuple[int, int]) -> None:
    low, high = newcombe(first, second)

    assert -1 - 1e-9 <= low <= second[0] / second[1] - first[0] / first[1] <= high <= 1 + 1e-9
    assert newcombe(second, first) == pytest.approx((-high, -low))


@pytest.mark.parametrize(("successes", "runs"), [(0, 0), (-1, 5), (6, 5)])
def test_what_is_no_rate_has_no_interval(successes: int, runs: int) -> None:
    with pytest.raises(ValueError, match="is no rate"):
        wilson(successes, runs)


@given(groups)
def test_a_mean_is_between_the_least_and_the_largest_value(values: list[list[float]]) -> None:
    interval = mean_interval(values)

    assert interval is not None
    least, largest = (choose(value for group in values for value in group) for choose in (min, max))
    assert least - 1e-6 <= interval.low <= interval.high <= largest + 1e-6
    assert mean_interval(values) == interval  # the same figures give the same interval


def test_a_bootstrap_comes_near_what_theory_says() -> None:
    values = [[float(value)] for value in range(100)]  # mean 49.5, standard error 2.887

    interval = mean_interval(values)

    assert interval is not None
    assert interval == pytest.approx((49.5 - 1.96 * 2.887, 49.5 + 1.96 * 2.887), abs=0.6)


def test_runs_of_one_task_are_no_independent_values() -> None:
    by_task = [[1.0] * 50, [3.0] * 50]

    assert mean_interval(by_task) == (1.0, 3.0)
    assert mean_interval([[1.0, 1.0, 3.0, 3.0]]) is not None  # of one task, the runs are all there is


@pytest.mark.parametrize("values", [[], [[]], [[1.0]]])
def test_one_value_has_no_interval(values: list[list[float]]) -> None:
    assert mean_interval(values) is None


def test_a_difference_is_taken_within_each_task() -> None:
    first = {"easy": [1.0, 1.0], "hard": [100.0], "only here": [7.0]}
    second = {"easy": [2.0], "hard": [101.0, 101.0], "only there": [9.0]}

    assert mean_difference(first, second) == 1.0
    assert difference_interval(first, second) == (1.0, 1.0)
    assert mean_difference(first, {}) is None
    assert difference_interval(first, {}) is None


def test_of_one_task_the_runs_are_compared() -> None:
    interval = difference_interval({"a": [1.0, 2.0, 3.0]}, {"a": [11.0, 12.0, 13.0]})

    assert interval is not None
    assert 8 <= interval.low < 10 < interval.high <= 12
