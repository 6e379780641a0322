from pathlib import Path

import pytest

from scripts.mutants import results
from scripts.mutants.listed import MutantError
from scripts.mutants.results import Comparison, Result, Results, compare

BEFORE = Results(
    "c0ffee",
    {
        "core-01": Result("killed", "test_a", 3),
        "core-02": Result("timed out", "test_b", 2),
        "core-03": Result("survived", reached_by=4),
        "core-04": Result("not reached"),
    },
)


def test_another_test_may_kill_and_a_timeout_counts() -> None:
    after = Results("decade", BEFORE.mutants | {"core-01": Result("timed out", "test_c"), "core-02": Result("killed")})

    assert compare(BEFORE, after) == Comparison((), ())


def test_what_survives_or_is_not_reached_or_tried_any_more_is_lost() -> None:
    after = Results("decade", {"core-02": Result("not reached"), "core-03": Result("survived")})

    assert compare(BEFORE, after).lost == ("core-01", "core-02")


def test_the_lines_name_what_is_lost_and_won() -> None:
    after = Results("decade", BEFORE.mutants | {"core-01": Result("survived"), "core-03": Result("killed", "test_d")})

    assert list(compare(BEFORE, after).lines(BEFORE, after)) == [
        "2 of 4 mutants killed before, 2 of 4 now",
        "lost: core-01, survived now, was killed by test_a",
        "won: core-03, killed by test_d",
    ]


def test_an_unfinished_run_is_continued_for_the_same_commit_only() -> None:
    assert BEFORE.begun_for("c0ffee") == BEFORE.mutants
    assert BEFORE.begun_for("decade") == {}


def test_results_are_read_as_they_were_saved(tmp_path: Path) -> None:
    BEFORE.save(tmp_path / "results.json")

    assert results.load(tmp_path / "results.json") == BEFORE


def test_another_file_has_no_results(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"tests": 3}')

    with pytest.raises(MutantError, match="no results"):
        results.load(tmp_path / "results.json")
