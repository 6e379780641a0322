import math

import pytest

from benchmarks.change.figures import Comparison, Figure, Pair, Verdict

FIGURE = Figure("a turn", "ms", margin=0.5)
LIMIT = 1.1
ROUNDS = 5


def comparison(*pairs: tuple[float, float], rounds: int = ROUNDS) -> Comparison:
    made = Comparison(FIGURE, LIMIT, rounds)
    made.pairs += [Pair(*pair) for pair in pairs]
    return made


def test_the_ratio_is_the_median_of_the_ratios_of_pairs() -> None:
    # The medians of the sides, 20 and 30, would say 1.5: the machine was slow in two of the pairs.
    compared = comparison((10, 10), (20, 20), (100, 110), (90, 90), (15, 30), rounds=5)

    assert compared.ratio == 1.0


@pytest.mark.parametrize(
    ("pair", "ratio"),
    [(Pair(2, 3), 1.5), (Pair(0, 0), 1.0), (Pair(0, 1), math.inf), (Pair(-1, -2), 1.0), (Pair(1, -1), 0)],
)
def test_differences_of_times_may_be_nothing_or_less(pair: Pair, ratio: float) -> None:
    assert pair.ratio == ratio


def test_a_figure_within_the_limit_needs_no_more_pairs() -> None:
    assert comparison(*[(10, 10.9)] * ROUNDS).verdict is Verdict.HELD


def test_one_slow_pair_does_not_count() -> None:
    assert comparison(*[(10, 10)] * 4, (10, 50)).verdict is Verdict.HELD


def test_there_is_no_verdict_before_the_planned_pairs() -> None:
    assert comparison((10, 10)).verdict is Verdict.UNDECIDED


def test_a_figure_that_seems_to_have_grown_gets_more_pairs() -> None:
    assert comparison(*[(10, 20)] * ROUNDS).verdict is Verdict.UNDECIDED


def test_pairs_that_all_agree_decide_early() -> None:
    assert comparison(*[(10, 20)] * 7).verdict is Verdict.GREW


def test_more_pairs_can_take_the_suspicion_back() -> None:
    assert comparison(*[(10, 20)] * ROUNDS, *[(10, 10)] * ROUNDS).verdict is Verdict.UNDECIDED
    assert comparison(*[(10, 20)] * ROUNDS, *[(10, 10)] * (ROUNDS + 1)).verdict is Verdict.HELD


def test_the_number_of_pairs_is_bounded() -> None:
    scattered = [(10, 20), (10, 20), (12, 11)] * ROUNDS

    assert comparison(*scattered[:-1], rounds=ROUNDS).verdict is Verdict.UNDECIDED
    # The least values, 10 and 11, are within the limit: something else on the machine took the time.
    assert comparison(*scattered, rounds=ROUNDS).verdict is Verdict.NOISY


def test_growth_that_the_least_values_show_too_is_decided_at_the_bound() -> None:
    scattered = [(10, 20), (10, 20), (20, 20)] * ROUNDS

    assert comparison(*scattered).verdict is Verdict.GREW


def test_a_single_planned_pair_is_not_believed() -> None:
    assert comparison((10, 20), rounds=1).verdict is Verdict.UNDECIDED
    assert comparison((10, 20), (10, 20), (10, 20), rounds=1).verdict is Verdict.GREW


def test_growth_within_the_margin_does_not_count() -> None:
    assert comparison(*[(0.1, 0.5)] * ROUNDS).verdict is Verdict.HELD
    assert comparison(*[(0.1, 0.7)] * 7).verdict is Verdict.GREW


def test_a_missing_figure_has_no_verdict() -> None:
    compared = comparison(*[(10, 20)] * 7)
    compared.missing["base"] = "no such tool"

    assert compared.verdict is None
