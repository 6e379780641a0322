"""Compares figures in pairs: each pair is the base and the change, measured directly one after the other.

The ratio of a pair says more than two medians, because a slow moment of the machine strikes both sides. A figure that
seems to have grown is measured in more pairs, until chance is an unlikely reason or the planned number is tripled.
"""

import math
import statistics
from enum import Enum, auto
from typing import NamedTuple

_MOST_ROUNDS = 3
"""How many times the planned pairs are measured at most."""

_CHANCE = 0.01
"""So likely may it be that a figure that did not grow looks as if it had."""


class Pair(NamedTuple):
    """One measurement of each side."""

    base: float
    now: float

    @property
    def ratio(self) -> float:
        """The change in terms of the base; differences of two times can be zero or less."""
        if self.base > 0:
            return max(self.now, 0.0) / self.base
        return math.inf if self.now > 0 else 1.0


class Figure(NamedTuple):
    """Something that is measured.

    Attributes:
        name: its title.
        unit: of its values.
        margin: a difference of at most this much, in the same unit, is not growth, whatever the ratio.
    """

    name: str
    unit: str
    margin: float


class Verdict(Enum):
    """What the pairs so far say of a figure.

    Attributes:
        HELD: it is within the limit.
        GREW: it exceeds the limit.
        NOISY: the median exceeds the limit, the least values do not: other programs only ever add time.
        UNDECIDED: more pairs are needed.
    """

    HELD = auto()
    GREW = auto()
    NOISY = auto()
    UNDECIDED = auto()


class Comparison:
    """The pairs of one figure.

    Args:
        figure: what is compared.
        limit: the ratio above which it has grown.
        rounds: how many pairs are planned.

    Attributes:
        pairs: what was measured.
        missing: by side, why there is no figure.
    """

    def __init__(self, figure: Figure, limit: float, rounds: int) -> None:
        self.figure = figure
        self.pairs: list[Pair] = []
        self.missing: dict[str, str] = {}
        self._limit = limit
        self._rounds = rounds

    @property
    def base(self) -> float:
        """The median of the base."""
        return statistics.median(pair.base for pair in self.pairs)

    @property
    def now(self) -> float:
        """The median of the change."""
        return statistics.median(pair.now for pair in self.pairs)

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return statistics.median(pair.ratio for pair in self.pairs)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the pairs so far; None for a figure that is missing."""
        if self.missing:
            return None
        if len(self.pairs) < self._rounds:
            return Verdict.UNDECIDED
        more = statistics.median(pair.now - pair.base for pair in self.pairs)
        if self.ratio <= self._limit or more <= self.figure.margin:
            return Verdict.HELD
        above = sum(self._is_above(pair) for pair in self.pairs)
        are_enough = len(self.pairs) >= self._rounds * _MOST_ROUNDS
        if self._is_above(self._least) and (are_enough or _chance(above, len(self.pairs)) <= _CHANCE):
            return Verdict.GREW
        return Verdict.NOISY if are_enough else Verdict.UNDECIDED

    @property
    def _least(self) -> Pair:
        return Pair(min(pair.base for pair in self.pairs), min(pair.now for pair in self.pairs))

    def _is_above(self, pair: Pair) -> bool:
        return pair.ratio > self._limit and pair.now - pair.base > self.figure.margin


def _chance(above: int, count: int) -> float:
    """The probability that at least `above` of `count` tosses of a coin show heads (the sign test)."""
    return sum(math.comb(count, heads) for heads in range(above, count + 1)) / float(2**count)
