"""Tables say what the runs say: rates, means with intervals, and differences."""

from pathlib import Path

import msgspec

from kaa.frontends.lab.reports import by_task, by_variant, comparison, rows_as_json, table
from kaa.frontends.lab.results import Attempt, Definition, Outcome, Results, RunKey


def attempt(variant: str, task: str, outcome: Outcome = "solved", **fields: object) -> Attempt:
    base = Attempt(RunKey(variant, task, 1), outcome, 1.0, "done", 0, turns=4, input=1_000, cost=0.5, seconds=2.0)
    return msgspec.structs.replace(base, **fields)


RUNS = {
    "off": [attempt("off", "a", "unsolved", turns=10), attempt("off", "b", input=20_000)],
    "on": [attempt("on", "a"), attempt("on", "b", input=10_000), attempt("on", "c", "failed", turns=0, input=0)],
}


def cells(line: str) -> list[str]:
    return [cell for cell in line.split("  ") if cell]


def test_each_variant_has_a_row() -> None:
    head, off, on = (" ".join(line.split()) for line in table(RUNS, None))

    assert head == "variant runs solved (95 %) tokens output cost seconds turns failed"
    assert off.startswith("off 2 50% (9-91) 10.5k (1,000-20.0k) 0 (0-0) $0.5000 ($0.5000-$0.5000) 2.0 (2.0-2.0) 7.0")
    assert on.startswith("on 2 100% (34-100) 5,500 (1,000-10.0k)")
    assert on.endswith("1")  # kaa failed in one run, which says nothing about the model


def test_a_narrow_table_has_fewer_columns() -> None:
    lines = table(RUNS, 100)

    assert max(map(len, lines)) <= 100
    assert "turns" in lines[0]


def test_a_price_that_is_not_known_is_no_zero() -> None:
    runs = {"off": [attempt("off", "a", cost=None)]}

    assert cells(table(runs, None)[1])[-4].strip() == "?"


def test_each_task_has_a_row() -> None:
    assert [line.split() for line in by_task(RUNS)] == [
        ["task", "off", "on"],
        ["a", "0/1", "in", "10", "1/1", "in", "4"],
        ["b", "1/1", "in", "4", "1/1", "in", "4"],
        ["c", "0/0", "0/0"],
    ]


def test_a_comparison_has_differences() -> None:
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in comparison(("x", "y"), RUNS["off"], RUNS["on"])}

    assert lines["solved"] == "1/2 2/2 +50 points -27 to +91"
    assert lines["tokens"] == "10.5k 5,500 -5,000 -10.0k to +0"
    assert lines["turns"] == "7.0 4.0 -3.0 -6.0 to +0.0"


def test_variants_are_in_the_order_in_which_they_were_given(tmp_path: Path) -> None:
    results = Results(tmp_path / "out")
    with results.begin(Definition("1", "m", 9, {"a": "d"}, {"off": {}, "on": {}, "unused": {}}, 1)):
        for one in (*RUNS["on"], *RUNS["off"]):
            results.append(one)

    assert [(name, len(runs)) for name, runs in by_variant(results).items()] == [("off", 2), ("on", 3)]


def test_nothing_to_compare_is_no_error() -> None:
    assert len(comparison(("x", "y"), [], RUNS["on"])) == 1
    assert len(table({}, None)) == 1


def test_programs_get_the_same() -> None:
    off, on = rows_as_json(RUNS)

    assert (off["variant"], off["runs"], off["solved"], off["turns"]["mean"]) == ("off", 2, 1, 7.0)
    assert (on["runs"], on["failed"], on["interval"][1]) == (2, 1, 1.0)
