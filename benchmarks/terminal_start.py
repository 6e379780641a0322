"""From the start of an agent to its input box and the first key shown, and what it costs to have it open."""

from collections.abc import Mapping, Sequence

from benchmarks.bench import Bench, Result, Runner, medians, percentile
from tests.support.screen import Screen

# While an agent goes on loading behind its first frame, somebody types this quickly.
_KEYS_WHILE_LOADING = 60
_BETWEEN_KEYS_SECONDS = 0.015

_SETTLED_SECONDS = 3.0
_IDLE_SECONDS = 10.0


def measure(bench: Bench) -> list[Result]:
    start = bench.samples(_start)
    while_loading = bench.collect(_type_while_loading)
    open_ = bench.collect(_leave_open, rounds=1)
    more = {
        name: None if silent is None else silent - (start["echoed"][name] or 0)
        for name, silent in start["echoed, silent"].items()
    }
    return [
        Result("exec to input box", "ms", start["painted"], target=60),
        Result("exec to first key shown", "ms", start["echoed"], target=80),
        Result("the same, more if the terminal answers nothing", "ms", more, target=3),
        Result("key shown while it goes on loading, p50", "ms", percentile(while_loading["echo"], 50)),
        Result("key shown while it goes on loading, p99", "ms", percentile(while_loading["echo"], 99), target=30),
        Result("memory at the prompt (PSS)", "MB", medians(open_["memory"]), target=60),
        Result("CPU while nothing happens", "% of a core", medians(open_["idle"]), target=0.1),
    ]


def _start(runner: Runner) -> Mapping[str, float]:
    painted, echoed = first_key(runner)
    _, echoed_silent = first_key(runner, Screen(100, 30, answers="none"))
    return {"painted": painted, "echoed": echoed, "echoed, silent": echoed_silent}


def first_key(runner: Runner, screen: Screen | None = None) -> tuple[float, float]:
    """Milliseconds from the start to the input box and to the first key shown."""
    with runner.open(screen=screen) as seat:
        return seat.wait_for_box(), seat.type_until_shown()


def _type_while_loading(runner: Runner) -> Mapping[str, Sequence[float]]:
    with runner.open() as seat:
        seat.wait_for_box()
        return {"echo": seat.type_steadily(_KEYS_WHILE_LOADING, _BETWEEN_KEYS_SECONDS)}


def _leave_open(runner: Runner) -> Mapping[str, Sequence[float]]:
    with runner.open() as seat:
        seat.wait_for_box()
        seat.look(_SETTLED_SECONDS)
        memory, before = seat.megabytes, seat.cpu_seconds
        seat.look(_IDLE_SECONDS)
        return {"memory": [memory], "idle": [(seat.cpu_seconds - before) / _IDLE_SECONDS * 100]}
