"""Collecting figures: agents take turns, and one that fails or is not there is missing with the reason."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from benchmarks.bench import Absent, Bench, Result, Runner, percentile
from benchmarks.model_process import ModelProcess
from benchmarks.process_tree import RunFailedError, run


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Programs that only have a version stand for kaa, pi and codex; there is no tau."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho 9.9.9\n")
    program.chmod(0o755)
    for name in ("KAA", "PI", "CODEX"):
        monkeypatch.setenv(f"KAA_BENCH_{name}", str(program))
    monkeypatch.setenv("KAA_BENCH_TAU", str(tmp_path / "nowhere"))
    return Bench(tmp_path / "bench", ModelProcess(), rounds=2, say=lambda _line: None)


def test_an_agent_that_is_not_there_takes_part_without_a_figure(bench: Bench) -> None:
    [result] = bench.results(_measurement(lambda _runner: {"ms": 1.0}))

    assert [one.name for one in bench.participants if isinstance(one, Absent)] == ["tau"]
    assert result.values == {"kaa": 1.0, "pi": 1.0, "codex": 1.0, "tau": None}
    assert result.missing.keys() == {"tau"}
    assert "KAA_BENCH_TAU names no program" in result.missing["tau"]


def test_an_agent_that_fails_in_a_later_round_gives_no_figure(bench: Bench) -> None:
    turns: list[str] = []

    def fail_at_last(runner: Runner) -> Mapping[str, float]:
        turns.append(runner.name)
        if runner.name == "pi" and turns.count("pi") == 3:
            raise RunFailedError("pi made 1 request\nwhere 2 were expected")
        return {"ms": 1.0}

    [result] = bench.results(_measurement(fail_at_last))

    assert result.values["pi"] is None
    assert result.missing["pi"] == "pi made 1 request where 2 were expected"
    assert result.values["codex"] == 1.0


def test_nothing_is_left_of_the_reasons_of_another_measurement(bench: Bench) -> None:
    def fail(_runner: Runner) -> Mapping[str, float]:
        raise RunFailedError("it broke")

    bench.results(_measurement(fail))

    assert bench.results(_measurement(lambda _runner: {"ms": 1.0}))[0].missing.keys() == {"tau"}


def test_a_figure_that_no_agent_gave_is_missing_for_all(bench: Bench) -> None:
    def fail(_runner: Runner) -> Mapping[str, float]:
        raise RunFailedError("it broke")

    [result] = bench.results(_measurement(fail))

    assert set(result.values.values()) == {None}
    assert result.missing["kaa"] == "it broke"
    assert result.is_met is False


def test_the_warm_up_does_not_count_and_agents_take_turns(bench: Bench) -> None:
    turns: list[str] = []

    def number(runner: Runner) -> Mapping[str, list[float]]:
        turns.append(runner.name)
        return {"turn": [float(len(turns))]}

    taken = bench.collect(number)

    assert turns == ["kaa", "codex", "pi"] * 3
    assert taken["turn"] == {"kaa": [4, 7], "codex": [5, 8], "pi": [6, 9], "tau": []}


def test_only_the_named_agents_are_looked_for(bench: Bench, tmp_path: Path) -> None:
    only_kaa = Bench(tmp_path / "other", ModelProcess(), rounds=1, say=pytest.fail, only=["kaa"])

    assert [one.name for one in only_kaa.participants] == ["kaa"]


def test_a_percentile_without_values_is_missing() -> None:
    assert percentile({"kaa": [1.0, 3.0], "pi": [], "tau": [2.0]}, 50) == {"kaa": 2.0, "pi": None, "tau": 2.0}


def _measurement(measure: Callable[[Runner], Mapping[str, float]]) -> Callable[[Bench], list[Result]]:
    return lambda bench: [Result("turn", "ms", bench.samples(measure)["ms"], target=3)]


def test_a_program_whose_memory_is_sampled_ends(tmp_path: Path) -> None:
    measured = run([sys.executable, "-c", "pass"], cwd=tmp_path, env={}, sample_memory=True)

    assert measured.wall > 0
