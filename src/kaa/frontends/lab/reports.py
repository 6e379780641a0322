"""The figures of a lab: a row for each variant, and the differences between two."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import msgspec

from kaa.builtin.columns import aligned, fitted
from kaa.core.messages import Json
from kaa.frontends.lab.intervals import (
    Interval,
    difference_interval,
    mean_difference,
    mean_interval,
    newcombe,
    wilson,
)
from kaa.frontends.lab.results import Attempt, Results

Attempts = Sequence[Attempt]


class _Figure(NamedTuple):
    """Something that runs have a mean of."""

    name: str
    of: Callable[[Attempt], float | None]
    write: Callable[[float], str]


def _thousands(value: float) -> str:
    return f"{value / 1000:,.1f}k" if abs(value) >= 10_000 else f"{value:,.0f}"


_FIGURES = (
    _Figure("tokens", lambda one: one.tokens, _thousands),
    _Figure("output", lambda one: one.output, _thousands),
    _Figure("cost", lambda one: one.cost, lambda value: f"${value:.4f}"),
    _Figure("seconds", lambda one: one.seconds, lambda value: f"{value:.1f}"),
    _Figure("turns", lambda one: one.turns, lambda value: f"{value:.1f}"),
)


def by_variant(results: Results) -> dict[str, list[Attempt]]:
    """The attempts of each variant that has any.

    Raises:
        ResultsError: they cannot be read.
    """
    found: dict[str, list[Attempt]] = {name: [] for name in results.definition().variants}
    for attempt in results.attempts():
        found.setdefault(attempt.key.variant, []).append(attempt)
    return {name: attempts for name, attempts in found.items() if attempts}


def table(variants: Mapping[str, Attempts], room: int | None) -> list[str]:
    """A row for each variant: rates with Wilson's interval, means with a bootstrap's.

    Args:
        room: characters in a line; None for as many as it takes.
    """
    head = ("variant", "runs", "solved (95 %)", *(figure.name for figure in _FIGURES), "failed")
    rows = [head, *(_row(name, attempts) for name, attempts in variants.items())]
    return fitted(rows, room, ("output", "failed", "cost"))


def by_task(variants: Mapping[str, Attempts]) -> list[str]:
    """A row for each task: how many of its runs were solved with each variant, and in how many turns."""
    tasks = dict.fromkeys(attempt.key.task for attempts in variants.values() for attempt in attempts)
    rows = [("task", *variants)]
    for task in tasks:
        cells = []
        for attempts in variants.values():
            own = _counted([one for one in attempts if one.key.task == task])
            turns = f" in {fmean(one.turns for one in own):.0f}" if own else ""
            cells.append(f"{_solved(own)}/{len(own)}{turns}")
        rows.append((task, *cells))
    return aligned(rows)


def comparison(names: tuple[str, str], first: Attempts, second: Attempts) -> list[str]:
    """The figures of two sets of runs, and the second minus the first."""
    one, other = _counted(first), _counted(second)
    rows: list[tuple[str, ...]] = [("", *names, "difference", "95 %")]
    if one and other:
        rates = (_solved(one), len(one)), (_solved(other), len(other))
        (solved, runs), (solved_too, runs_too) = rates
        difference = solved_too / runs_too - solved / runs
        cells = f"{solved}/{runs}", f"{solved_too}/{runs_too}", f"{difference * 100:+.0f} points"
        rows.append(("solved", *cells, _written(newcombe(*rates), lambda value: f"{value * 100:+.0f}")))
    for figure in _FIGURES:
        values, values_too = _by_task(figure, one), _by_task(figure, other)
        difference_of_means = mean_difference(values, values_too)
        if difference_of_means is None:
            continue
        means = (figure.write(fmean(fmean(group) for group in each.values())) for each in (values, values_too))
        signed = _signed(figure)
        interval = difference_interval(values, values_too)
        rows.append((figure.name, *means, signed(difference_of_means), _written(interval, signed)))
    return aligned(rows)


def rows_as_json(variants: Mapping[str, Attempts]) -> list[dict[str, Json]]:
    """The same as `table`, for programs."""
    rows: list[dict[str, Json]] = []
    for name, attempts in variants.items():
        counted = _counted(attempts)
        row: dict[str, Json] = {"variant": name, "runs": len(counted), "solved": _solved(counted)}
        row["failed"] = len(attempts) - len(counted)
        row["interval"] = wilson(_solved(counted), len(counted)) if counted else None
        for figure in _FIGURES:
            groups = list(_by_task(figure, counted).values())
            values = [value for group in groups for value in group]
            row[figure.name] = {"mean": fmean(values) if values else None, "interval": mean_interval(groups)}
        rows.append(msgspec.to_builtins(row))
    return rows


def _row(name: str, attempts: Attempts) -> tuple[str, ...]:
    counted = _counted(attempts)
    solved, runs = _solved(counted), len(counted)
    rate = "?"
    if runs:
        low, high = wilson(solved, runs)
        rate = f"{solved / runs:.0%} ({low * 100:.0f}-{high * 100:.0f})"
    return (name, str(runs), rate, *(_mean(figure, counted) for figure in _FIGURES), str(len(attempts) - runs))


def _mean(figure: _Figure, attempts: Attempts) -> str:
    groups = list(_by_task(figure, attempts).values())
    values = [value for group in groups for value in group]
    if not values:
        return "?"
    interval = mean_interval(groups)
    mean = figure.write(fmean(values))
    return mean if interval is None else f"{mean} ({figure.write(interval.low)}-{figure.write(interval.high)})"


def _counted(attempts: Attempts) -> Attempts:
    """Those that say something about the model."""
    return [attempt for attempt in attempts if attempt.outcome != "failed"]


def _solved(attempts: Attempts) -> int:
    return sum(attempt.outcome == "solved" for attempt in attempts)


def _by_task(figure: _Figure, attempts: Attempts) -> dict[str, list[float]]:
    groups: dict[str, list[float]] = {}
    for attempt in attempts:
        if (value := figure.of(attempt)) is not None:
            groups.setdefault(attempt.key.task, []).append(value)
    return groups


def _signed(figure: _Figure) -> Callable[[float], str]:
    return lambda value: ("+" if value >= 0 else "-") + figure.write(abs(value))


def _written(interval: Interval | None, write: Callable[[float], str]) -> str:
    return "" if interval is None else f"{write(interval.low)} to {write(interval.high)}"
