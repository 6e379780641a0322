"""The table of the benchmarks: figures, ratios, targets, and what is missing."""

import pytest

from benchmarks.bench import Result
from benchmarks.report import Machine, Report, table

_MACHINE = Machine(2, "Linux", "3.11.7")


def _lines(*results: Result) -> list[str]:
    return table(Report(_MACHINE, {"kaa": "0.1.0"}, results)).splitlines()


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_peers_stand_beside_kaa_with_their_ratio() -> None:
    header, _, row, *_ = _lines(Result("one turn", "s", {"pi": 0.6, "kaa": 0.2}, target=0.15))

    assert _cells(header) == ["", "target", "kaa", "pi"]
    assert _cells(row) == ["one turn (s)", "≤ 0.15 missed", "0.2", "0.6 (3.0\N{MULTIPLICATION SIGN})"]


def test_a_ratio_of_a_small_part_is_not_rounded_to_nothing() -> None:
    row = _lines(Result("bash", "ms", {"pi": 38.0, "kaa": 8_000.0}))[2]

    assert _cells(row)[3] == "38.0 (0.005\N{MULTIPLICATION SIGN})"


def test_a_missing_figure_is_named_missing_with_the_reason_below() -> None:
    gone, broken = "not on this machine", "it made 3 requests"
    first = Result("one turn", "s", {"kaa": 0.2, "pi": None, "tau": 1.0}, missing={"pi": gone})
    second = Result("edit", "ms", {"kaa": 9.0, "pi": None, "tau": None}, missing={"pi": gone, "tau": broken})

    lines = _lines(first, second)

    assert _cells(lines[2])[3:] == ["missing [1]", "1 (5.0\N{MULTIPLICATION SIGN})"]
    assert _cells(lines[3])[3:] == ["missing [1]", "missing [2]"]
    assert lines[-2:] == [f"[1] pi: {gone}", f"[2] tau: {broken}"]


def test_a_measure_that_does_not_apply_to_an_agent_is_not_missing() -> None:
    lines = _lines(Result("read", "ms", {"kaa": 1.0}), Result("bash", "ms", {"kaa": 1.0, "codex": 2.0}))

    assert _cells(lines[2])[3] == ""


def test_figures_of_peers_stand_without_ratio_where_kaa_gave_none() -> None:
    lines = _lines(Result("edit", "ms", {"kaa": None, "pi": 9.0}, target=3, missing={"kaa": "it failed"}))

    assert _cells(lines[2]) == ["edit (ms)", "≤ 3 missing", "missing [1]", "9"]


@pytest.mark.parametrize(("value", "is_met"), [(3.0, True), (3.1, False), (None, False)])
def test_a_target_is_kept_by_a_figure_of_kaa_only(value: float | None, is_met: bool) -> None:
    assert Result("edit", "ms", {"kaa": value, "pi": 1.0, "tau": None}, target=3).is_met is is_met


def test_a_target_is_not_judged_where_kaa_takes_no_part() -> None:
    assert Result("edit", "ms", {"pi": 1.0}, target=3).is_met is None
