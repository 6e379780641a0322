"""The figures of both sides as a table for people and as JSON."""

from collections.abc import Sequence

import msgspec

from benchmarks.change.figures import Comparison, Pair
from benchmarks.report import Machine, number


class Row(msgspec.Struct, frozen=True):
    """One figure.

    Attributes:
        figure: its name.
        unit: of the values.
        margin: what it may grow by, whatever the ratio.
        pairs: what was measured, the base first.
        ratio: the median of the ratios of the pairs; None if it is missing.
        grew: whether it exceeds the limit.
        missing: by side, why it is missing.
    """

    figure: str
    unit: str
    margin: float
    pairs: list[Pair]
    ratio: float | None
    grew: bool
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
        comparison.grew,
        comparison.missing,
    )


def table(comparisons: Sequence[Comparison]) -> str:
    """Return a line for each figure: base, now, ratio, and whether it grew."""
    rows = [("", "base", "now", "ratio", "pairs", ""), *map(_cells, comparisons)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row[:-1], widths[:-1], strict=True))
        )
        .__add__(f"  {row[-1]}")
        .rstrip()
        for row in rows
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
        "grew" if comparison.grew else "",
    )


def summary(comparisons: Sequence[Comparison], limit: float) -> str:
    """Return the sentence that says what grew."""
    grown = [comparison for comparison in comparisons if comparison.grew]
    if not grown:
        return f"Nothing grew by more than the limit of {limit:g}."
    named = ", ".join(f"{comparison.figure.name} {comparison.ratio:.2f}" for comparison in grown)
    return f"Grew by more than the limit of {limit:g}: {named}."
