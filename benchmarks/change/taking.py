"""What a measure gives, and how it is taken of two sides."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from benchmarks.bench import Runner
from benchmarks.change.figures import Figure
from benchmarks.process_tree import RunFailedError
from tests.support.program import NotShownError


class Taken(NamedTuple):
    """What a measure gave for one side.

    Attributes:
        values: by the name of the figure.
        missing: why there is no value, by the name of the figure.
        failure: why there are no values at all.
    """

    values: Mapping[str, float]
    missing: Mapping[str, str] = MappingProxyType({})
    failure: str = ""

    def reason(self, figure: str) -> str:
        """Return why a figure is missing; empty if it is not."""
        return self.failure or self.missing.get(figure, "")


# Measures two sides in this order.
Take: TypeAlias = Callable[[Runner, Runner], tuple[Taken, Taken]]


class Measure(NamedTuple):
    """Something that kaa does, of which figures are taken.

    Attributes:
        name: how `--only` names it.
        figures: what it gives.
        take: measures a pair.
        rounds: how many pairs are planned, after a warm-up.
    """

    name: str
    figures: tuple[Figure, ...]
    take: Take
    rounds: int = 5


def in_turn(measure: Callable[[Runner], Taken]) -> Take:
    """Measure one side after the other."""

    def attempt(runner: Runner) -> Taken:
        try:
            return measure(runner)
        except (RunFailedError, NotShownError) as error:
            return Taken({}, failure=str(error))

    return lambda first, second: (attempt(first), attempt(second))
