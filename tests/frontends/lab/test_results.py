"""Results survive what ends a lab, and a folder has the runs of one lab only."""

import errno
import os
from pathlib import Path

import msgspec
import pytest

from kaa.frontends.lab.results import Attempt, Definition, Results, ResultsError, RunKey

DEFINITION = Definition("1", "m", 60, {"a": "digest"}, {"default": {}}, 2)


def attempt(number: int = 1, variant: str = "default", **fields: object) -> Attempt:
    base = Attempt(RunKey(variant, "a", number), "solved", 1.0, "done", 0)
    return msgspec.structs.replace(base, **fields)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "out")


def test_results_are_there_again(results: Results) -> None:
    with results.begin(DEFINITION) as whole:
        results.append(attempt(1, cost=None, notes={"x": 2}))
        results.append(attempt(2, outcome="unsolved"))

    assert whole == DEFINITION == results.definition()
    assert results.attempts() == [attempt(1, cost=None, notes={"x": 2}), attempt(2, outcome="unsolved")]


def test_a_run_that_was_repeated_counts_once(results: Results) -> None:
    with results.begin(DEFINITION):
        results.append(attempt(outcome="failed"))
        results.append(attempt())

    assert results.attempts() == [attempt()]


def test_a_torn_last_line_is_dropped(results: Results) -> None:
    with results.begin(DEFINITION):
        results.append(attempt())
    lines = results.path / "results.jsonl"
    lines.write_bytes(lines.read_bytes() + b'{"key": {"var')

    assert results.attempts() == [attempt()]
    with results.begin(DEFINITION):
        results.append(attempt(2))
    assert results.attempts() == [attempt(), attempt(2)]


def test_a_full_disk_loses_no_result_that_was_kept(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def full(descriptor: int, data: memoryview) -> int:
        if len(data) > 10:
            return write(descriptor, data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    with results.begin(DEFINITION):
        results.append(attempt())
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            results.append(attempt(2, problem="x" * 5))
        monkeypatch.undo()

    assert results.attempts() == [attempt()]
    with results.begin(DEFINITION):
        results.append(attempt(2))
    assert results.attempts() == [attempt(), attempt(2)]


def test_two_labs_do_not_write_one_folder(results: Results) -> None:
    with (
        results.begin(DEFINITION),
        pytest.raises(ResultsError, match=r"another lab is writing to .*choose another folder with --out"),
        Results(results.path).begin(DEFINITION),
    ):
        pass
    with results.begin(DEFINITION):
        pass


def test_more_runs_tasks_and_variants_can_be_added(results: Results) -> None:
    with results.begin(DEFINITION):
        pass
    more = Definition("1", "m", 60, {"b": "other"}, {"bare": {"features": {}}}, 1)

    with results.begin(more) as whole:
        pass

    assert whole.tasks == {"a": "digest", "b": "other"}
    assert list(whole.variants) == ["default", "bare"]
    assert whole.repeats == 2
    assert len(whole.runs()) == len(set(whole.runs())) == 8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "other"}, "another model: m, not other"),
        ({"version": "2"}, "another version of kaa"),
        ({"max_turns": 5}, "another limit of turns"),
        ({"tasks": {"a": "changed"}}, "another task 'a'"),
        ({"variants": {"default": {"features": {}}}}, "another variant 'default'"),
    ],
)
def test_other_runs_are_not_mixed_in(results: Results, change: dict[str, object], said: str) -> None:
    with results.begin(DEFINITION):
        pass

    with (
        pytest.raises(ResultsError, match=f"{said}.*Choose another folder"),
        results.begin(msgspec.structs.replace(DEFINITION, **change)),
    ):
        pass
    assert results.definition() == DEFINITION


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("important")

    with pytest.raises(ResultsError, match="is not empty and has no lab"), Results(tmp_path).begin(DEFINITION):
        pass

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_what_is_no_result_is_named(results: Results) -> None:
    with results.begin(DEFINITION):
        results.append(attempt())
    lines = results.path / "results.jsonl"
    lines.write_bytes(b"[]\n" + lines.read_bytes())

    with pytest.raises(ResultsError, match="line 1 is no result"):
        results.attempts()
    (results.path / "lab.json").write_text("{")
    with pytest.raises(ResultsError, match="cannot be read"):
        results.definition()
    with pytest.raises(ResultsError, match="there is no lab"):
        Results(results.path / "none").definition()
