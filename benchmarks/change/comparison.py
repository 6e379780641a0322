"""Measures pairs of a base and a change until there is a verdict on every figure."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from benchmarks.agents import KAA_MESSAGES, Agent
from benchmarks.bench import Runner
from benchmarks.change.figures import Comparison, Pair, Verdict
from benchmarks.change.sides import SetupError, Side, check_scripts
from benchmarks.change.taking import Measure, Taken
from benchmarks.change.waiting import unanswered
from benchmarks.model_process import ModelProcess
from benchmarks.process_tree import RunFailedError, tree_commands


class Bench:
    """Both sides, each with a model's server of its own.

    Args:
        base: the side that is compared with.
        now: the side with the change.
        servers: the model of each side; the two can be asked at once.
        folder: where homes and projects are made.
        limit: the ratio above which a figure has grown.
        report: told, in a sentence, what goes on.
    """

    def __init__(
        self,
        base: Side,
        now: Side,
        servers: tuple[ModelProcess, ModelProcess],
        folder: Path,
        limit: float,
        report: Callable[[str], None],
    ) -> None:
        self._sides = dict(zip((base, now), servers, strict=True))
        self._folder = folder
        self._limit = limit
        self._report = report

    def check_start(self) -> None:
        """Check that both sides start, and run only their own sources.

        Raises:
            SetupError: one of them does not.
        """
        for side, runner in self._runners("start"):
            try:
                with unanswered(runner) as program:
                    check_scripts(side, tree_commands(program.process.pid))
            except RunFailedError as error:
                raise SetupError(f"{side.name} does not start: {error}") from error

    def compare(self, measure: Measure, rounds: int) -> list[Comparison]:
        """Take pairs, the sides in alternating order, until every figure of the measure has a verdict.

        Args:
            measure: what is measured.
            rounds: how many pairs are planned. A pair before them, in which Python compiles, does not count.
        """
        base, now = (runner for _, runner in self._runners(measure.name))
        comparisons = [Comparison(figure, self._limit, rounds) for figure in measure.figures]
        undecided = comparisons
        for number in itertools.count():
            if number % 2:
                taken_now, taken_base = measure.take(now, base)
            else:
                taken_base, taken_now = measure.take(base, now)
            for comparison in undecided:
                _add(comparison, taken_base, taken_now, is_warm_up=number == 0)
            self._report_missing(undecided)
            undecided = [comparison for comparison in undecided if comparison.verdict is Verdict.UNDECIDED]
            if not undecided:
                break
            if number == rounds:
                names = ", ".join(comparison.figure.name for comparison in undecided)
                self._report(f"taking more pairs, because this may have grown: {names}")
        return comparisons

    def _runners(self, name: str) -> Sequence[tuple[Side, Runner]]:
        """Make the sides ready to run, with homes and projects of their own for something."""
        return [
            (side, Runner(_agent(side), str(side.python), self._folder / f"{name}-{side.name}", server, side.start))
            for side, server in self._sides.items()
        ]

    def _report_missing(self, comparisons: Sequence[Comparison]) -> None:
        missing: defaultdict[str, list[str]] = defaultdict(list)
        for comparison in comparisons:
            for side, reason in comparison.missing.items():
                missing[f"at {side}: {reason}"].append(comparison.figure.name)
        for reason, names in missing.items():
            self._report(f"missing {reason} ({', '.join(names)})")


def _add(comparison: Comparison, base: Taken, now: Taken, *, is_warm_up: bool) -> None:
    name = comparison.figure.name
    comparison.missing |= {
        side: reason for side, taken in (("base", base), ("now", now)) if (reason := taken.reason(name))
    }
    if not comparison.missing and not is_warm_up:
        comparison.pairs.append(Pair(base.values[name], now.values[name]))


def _agent(side: Side) -> Agent:
    return msgspec.structs.replace(KAA_MESSAGES, name=side.name)
