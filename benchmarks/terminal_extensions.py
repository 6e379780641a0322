"""The start with 25 extensions, beside the start without: the screen and typing must not wait for them."""

from collections.abc import Mapping, Sequence

from benchmarks.bench import Bench, Result, Runner, medians, percentile
from benchmarks.extension_sets import IN_PROCESS, PROCESSES, SETS
from benchmarks.one_turn import printed_turn

_KEYS_WHILE_LOADING = 60
_BETWEEN_KEYS_SECONDS = 0.015

_WITHOUT, _WITH = "without extensions", f"with {IN_PROCESS + PROCESSES} extensions"


def measure(bench: Bench) -> list[Result]:
    flags = {runner.name: _write_set(runner) for runner in bench.runners if runner.name in SETS}

    def start(runner: Runner) -> Mapping[str, Sequence[float]]:
        return {
            f"{key}, {title}": values
            for title, arguments in ((_WITHOUT, ()), (_WITH, flags[runner.name]))
            for key, values in _start(runner, arguments).items()
        }

    taken = bench.collect(start, [one for one in bench.participants if one.name in SETS])
    results: list[Result] = []
    for title in (_WITHOUT, _WITH):
        names = (
            f"{name}, {title}" for name in ("exec to input box", "exec to first key shown", "exec to first request")
        )
        results += [Result(name, "ms", medians(taken[name])) for name in names]
        echoes = percentile(taken[f"echo, {title}"], 99)
        results.append(Result(f"key shown while loading, p99, {title}", "ms", echoes))
    return results


def _write_set(runner: Runner) -> Sequence[str]:
    folder = runner.project.parent / "extensions"
    folder.mkdir()
    return SETS[runner.name](runner, folder)


def _start(runner: Runner, flags: Sequence[str]) -> Mapping[str, Sequence[float]]:
    with runner.open(*flags) as seat:
        painted, echoed = seat.wait_for_box(), seat.type_until_shown()
    with runner.open(*flags) as seat:
        seat.wait_for_box()
        echo = seat.type_steadily(_KEYS_WHILE_LOADING, _BETWEEN_KEYS_SECONDS)
    asked = printed_turn(runner, flags)["asked"]
    return {
        "exec to input box": [painted],
        "exec to first key shown": [echoed],
        "exec to first request": [asked],
        "echo": echo,
    }
