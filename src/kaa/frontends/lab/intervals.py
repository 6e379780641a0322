"""How sure a figure is: 95 % intervals of rates and means, and of their differences.

A rate has Wilson's interval and a difference of rates Newcombe's (Wilson 1927; Newcombe 1998, method 10), which hold
for few runs and for rates of 0 and 1. Means have a percentile bootstrap over tasks, because the runs of one task
resemble each other.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from math import sqrt
from statistics import fmean
from typing import NamedTuple

# The normal distribution has 95 % between -z and z.
_Z = 1.959963984540054
_RESAMPLES = 2_000
# The same figures give the same interval, whenever it is looked at.
_SEED = 1

Groups = Sequence[Sequence[float]]


class Interval(NamedTuple):
    """From `low` to `high`."""

    low: float
    high: float


def wilson(successes: int, trials: int) -> Interval:
    """The interval of a rate.

    Raises:
        ValueError: there are no such numbers.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is no rate")
    rate, z2 = successes / trials, _Z * _Z
    centre = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _Z * sqrt(rate * (1 - rate) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    # At 0 and 1 an end is the rate itself, but for rounding.
    return Interval(min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half)))


def newcombe(first: tuple[int, int], second: tuple[int, int]) -> Interval:
    """The interval of the second rate minus the first; each is successes and trials. Raises as `wilson` does."""
    one, other = wilson(*first), wilson(*second)
    p1, p2 = first[0] / first[1], second[0] / second[1]
    low = p2 - p1 - sqrt((p2 - other.low) ** 2 + (one.high - p1) ** 2)
    high = p2 - p1 + sqrt((other.high - p2) ** 2 + (p1 - one.low) ** 2)
    return Interval(low, high)


def mean_interval(groups: Groups) -> Interval | None:
    """The interval of the mean of all values; None for fewer than two."""
    units = _units(groups)
    return _bootstrap(lambda chance: fmean(chain.from_iterable(chance.choices(units, k=len(units)))), len(units))


def difference_interval(first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]) -> Interval | None:
    """The interval of the second mean minus the first, over the tasks that both have; None if that says nothing.

    Args:
        second: likewise.
    """
    shared = [name for name in first if first[name] and second.get(name)]
    if len(shared) == 1:
        one, other = first[shared[0]], second[shared[0]]
        return _bootstrap(
            lambda chance: fmean(chance.choices(other, k=len(other))) - fmean(chance.choices(one, k=len(one))),
            min(len(one), len(other)),
        )
    differences = [fmean(second[name]) - fmean(first[name]) for name in shared]
    return mean_interval([[value] for value in differences])


def mean_difference(first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]) -> float | None:
    """The second mean minus the first: of each task that both have, and then of those."""
    shared = [name for name in first if first[name] and second.get(name)]
    return fmean(fmean(second[name]) - fmean(first[name]) for name in shared) if shared else None


def _units(groups: Groups) -> Groups:
    """What is drawn again: tasks, and the runs of the only one."""
    filled = [group for group in groups if group]
    return [[value] for value in filled[0]] if len(filled) == 1 else filled


def _bootstrap(draw: Callable[[random.Random], float], units: int) -> Interval | None:
    if units < 2:
        return None
    chance = random.Random(_SEED)  # noqa: S311 - chance for statistics, no secret
    drawn = sorted(draw(chance) for _ in range(_RESAMPLES))
    return Interval(drawn[round(0.025 * (_RESAMPLES - 1))], drawn[round(0.975 * (_RESAMPLES - 1))])
