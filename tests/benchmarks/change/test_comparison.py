import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.bench import Runner
from benchmarks.change.comparison import Bench
from benchmarks.change.figures import Figure, Pair, Verdict
from benchmarks.change.sides import Side
from benchmarks.change.taking import Measure, Taken, in_turn
from benchmarks.model_process import ModelProcess
from benchmarks.process_tree import RunFailedError

READ, EDIT = Figure("read", "ms", margin=0.1), Figure("edit", "ms", margin=0.1)
ROUNDS = 5


class Stage:
    """A comparison of figures that are made up.

    Attributes:
        order: the sides in the order in which they were measured.
        reports: what the comparison told.
    """

    def __init__(self, folder: Path) -> None:
        self.order: list[str] = []
        self.reports: list[str] = []
        base, now = (Side(name, folder / name, Path(sys.executable)) for name in ("base", "now"))
        self.bench = Bench(base, now, (ModelProcess(), ModelProcess()), folder, 1.1, self.reports.append)

    def measure(self, take: Callable[[str], Taken]) -> Measure:
        """A measure that gives what `take` returns for the name of a side."""

        def measure(runner: Runner) -> Taken:
            self.order.append(runner.name)
            return take(runner.name)

        return Measure("made_up", (READ, EDIT), in_turn(measure))


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_the_sides_alternate_and_the_first_pair_is_a_warm_up(stage: Stage) -> None:
    values = iter([100.0, 100.0, *[1.0] * 2 * ROUNDS])
    measure = stage.measure(lambda _: Taken(dict.fromkeys(("read", "edit"), next(values))))

    read, edit = stage.bench.compare(measure, ROUNDS)

    assert stage.order == ["base", "now", "now", "base"] * 3
    assert read.pairs == edit.pairs == [Pair(1.0, 1.0)] * ROUNDS


def test_only_figures_that_seem_to_have_grown_get_more_pairs(stage: Stage) -> None:
    measure = stage.measure(lambda side: Taken({"read": 1.0, "edit": 2.0 if side == "now" else 1.0}))

    read, edit = stage.bench.compare(measure, ROUNDS)

    assert (len(read.pairs), read.verdict) == (ROUNDS, Verdict.HELD)
    assert (len(edit.pairs), edit.verdict) == (7, Verdict.GREW)
    assert stage.reports == ["taking more pairs, because this may have grown: edit"]


def test_a_slow_moment_of_the_machine_is_not_growth(stage: Stage) -> None:
    slow = iter([1.0, *[5.0] * 3, *[1.0] * 100])

    def take(side: str) -> Taken:
        return Taken(dict.fromkeys(("read", "edit"), next(slow) if side == "now" else 1.0))

    read, edit = stage.bench.compare(stage.measure(take), ROUNDS)

    assert read.verdict is edit.verdict is Verdict.HELD
    assert len(read.pairs) > ROUNDS


def test_a_tool_that_the_base_lacks_is_missing_and_the_rest_is_measured(stage: Stage) -> None:
    def take(side: str) -> Taken:
        return Taken({"read": 1.0}, {"edit": "no such tool"}) if side == "base" else Taken({"read": 1.0, "edit": 1.0})

    read, edit = stage.bench.compare(stage.measure(take), ROUNDS)

    assert (len(read.pairs), read.verdict) == (ROUNDS, Verdict.HELD)
    assert (edit.missing, edit.verdict) == ({"base": "no such tool"}, None)
    assert stage.reports == ["missing at base: no such tool (edit)"]


def test_a_run_that_fails_gives_no_figures_and_is_not_repeated(stage: Stage) -> None:
    def fail(side: str) -> Taken:
        if side == "now":
            raise RunFailedError("exited with 1: it crashed")
        return Taken({"read": 1.0, "edit": 1.0})

    read, edit = stage.bench.compare(stage.measure(fail), ROUNDS)

    assert read.missing == edit.missing == {"now": "exited with 1: it crashed"}
    assert stage.reports == ["missing at now: exited with 1: it crashed (read, edit)"]
    assert stage.order == ["base", "now"]
