"""The figures of both sides as a table for people and as JSON."""

from collections.abc import Sequence

import msgspec

from benchmarks.change.figures import Comparison, Pair, Verdict
from benchmarks.report import Machine, number

_MARKS = {Verdict.GREW: "grew", Verdict.NOISY: "noisy"}


class Row(msgspec.Struct, frozen=True):
    """One figure.

    Attributes:
        figure: its name.
        unit: of the values.
        margin: what it may grow by, whatever the ratio.
        pairs: what was measured, the base first.
        ratio: the median of the ratios of the pairs; None if it is missing.
        verdict: `held`, `grew` or `noisy`; None if it is missing.
        missing: by side, why it is missing.
    """

    figure: str
    unit: str
    margin: float
    pairs: list[Pair]
    ratio: float | None
    verdict: str | None
    missing: dict[str, str]


class Report(msgspec.Struct, frozen=True):
    """Everything that was measured.

    Attributes:
        base: the commit that was compared with.
        now: the commit of the working tree.
        changed: files of the sources that were not committed.
    """

    machine: Machine
    base: str
    now: str
    changed: list[str]
    limit: float
    rows: list[Row]


def row(comparison: Comparison) -> Row:
    """Return the row of a figure."""
    figure = comparison.figure
    return Row(
        figure.name,
        figure.unit,
        figure.margin,
        comparison.pairs,
        None if comparison.missing else comparison.ratio,
        None if comparison.verdict is None else comparison.verdict.name.lower(),
        comparison.missing,
    )


def table(comparisons: Sequence[Comparison]) -> str:
    """Return a line for each figure: base, now, ratio, number of pairs, and whether it grew or is missing."""
    rows = [("", "base", "now", "ratio", "pairs", ""), *map(_cells, comparisons)]
    name, *numbers = (max(len(row[column]) for row in rows) for column in range(5))
    return "\n".join(
        "  ".join([row[0].ljust(name), *map(str.rjust, row[1:5], numbers), row[5]]).rstrip() for row in rows
    )


def _cells(comparison: Comparison) -> tuple[str, str, str, str, str, str]:
    label = f"{comparison.figure.name} ({comparison.figure.unit})"
    if comparison.missing:
        reasons = "; ".join(f"{side}: {reason.splitlines()[0]}" for side, reason in comparison.missing.items())
        return label, "", "", "", "", f"missing: {reasons}"
    return (
        label,
        number(comparison.base),
        number(comparison.now),
        f"{comparison.ratio:.2f}",
        str(len(comparison.pairs)),
        "" if comparison.verdict is None else _MARKS.get(comparison.verdict, ""),
    )


def summary(comparisons: Sequence[Comparison], limit: float) -> str:
    """Return the sentences that say what grew, what the change does not give, and what should be measured again."""
    grew, noisy = (_named(comparisons, verdict) for verdict in (Verdict.GREW, Verdict.NOISY))
    lines = [
        f"Grew by more than the limit of {limit:g}: {grew}." if grew else f"Nothing exceeds the limit of {limit:g}."
    ]
    missing = ", ".join(comparison.figure.name for comparison in comparisons if "now" in comparison.missing)
    if missing:
        lines.append(f"The change gives no figures for: {missing}.")
    if noisy:
        lines.append(f"Measure again on a quiet machine, where only the least values held the limit: {noisy}.")
    return "\n".join(lines)


def _named(comparisons: Sequence[Comparison], verdict: Verdict) -> str:
    return ", ".join(f"{each.figure.name} {each.ratio:.2f}" for each in comparisons if each.verdict is verdict)
