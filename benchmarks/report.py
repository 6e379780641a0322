"""Results as a table for people and as JSON for comparing over time."""

import os
import platform
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from benchmarks.bench import Result

BUSY_LOAD = 0.5
"""Processes that want to run, above which an agent often has to wait for a core."""


class Machine(msgspec.Struct, frozen=True):
    """Where it was measured, without naming the machine."""

    cores: int
    system: str
    python: str


class Report(msgspec.Struct, frozen=True):
    """Everything that was measured. `versions`: what each agent on this machine says of itself."""

    machine: Machine
    versions: dict[str, str]
    results: Sequence[Result]


def describe_machine() -> Machine:
    """The machine we run on."""
    return Machine(os.cpu_count() or 1, platform.system(), platform.python_version())


def table(report: Report) -> str:
    """A Markdown table: the target, kaa, each other agent with its ratio to kaa; and why figures are missing."""
    reasons = _reasons(report.results)
    names = sorted({name for result in report.results for name in result.values}, key=_kaa_first)
    rows = [
        ["", "target", *names],
        ["---", "--:", *["--:"] * len(names)],
        *[_row(result, names, reasons) for result in report.results],
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(_pad(cell, width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    machine = f"{report.machine.cores} cores, {report.machine.system}, Python {report.machine.python}"
    notes = [f"[{number}] {name}: {reason}" for (name, reason), number in reasons.items()]
    return "\n".join([*lines, "", f"Medians; in parentheses the ratio to kaa. {machine}; {versions}.", *notes])


# The agent and the reason, with the number that stands in the table.
_Reasons: TypeAlias = Mapping[tuple[str, str], int]


def _reasons(results: Sequence[Result]) -> _Reasons:
    """Number the reasons why figures are missing, in the order of the table."""
    found = dict.fromkeys(reason for result in results for reason in sorted(result.missing.items()))
    return {reason: number for number, reason in enumerate(found, start=1)}


def _kaa_first(name: str) -> tuple[bool, str]:
    return not name.startswith("kaa"), name


def _row(result: Result, names: Sequence[str], reasons: _Reasons) -> list[str]:
    label = f"{result.measure} ({result.unit})"
    return [label, _target(result), *(_cell(result, name, reasons) for name in names)]


def _target(result: Result) -> str:
    if result.target is None:
        return ""
    missed = "" if result.is_met is not False else " missed" if result.values["kaa"] is not None else " missing"
    return f"{'≥' if result.at_least else '≤'} {result.target:g}{missed}"


def _cell(result: Result, name: str, reasons: _Reasons) -> str:
    """The figure of an agent; empty if the measure does not apply to it."""
    if name not in result.values:
        return ""
    value, base = result.values[name], result.values.get("kaa")
    if value is None:
        return f"missing [{reasons[name, result.missing[name]]}]" if name in result.missing else "missing"
    if name == "kaa" or not base or base < 0 or result.unit.startswith("%"):  # where a ratio says nothing
        return number(value)
    ratio = value / base
    return f"{number(value)} ({ratio:{'.1f' if ratio >= 0.1 else '.1g'}}\N{MULTIPLICATION SIGN})"


def number(value: float) -> str:
    """The value with as many digits as matter."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def _pad(cell: str, width: int) -> str:
    return cell.ljust(width, "-" if cell.startswith("---") else " ")
