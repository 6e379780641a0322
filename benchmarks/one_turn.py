"""One prompt and one short answer: wall time, CPU time and memory, of the agent and everything it starts.

Also in a home that the agent has never seen: what it would otherwise find in its caches, it has to make.
"""

import itertools
from collections.abc import Mapping, Sequence

from benchmarks.bench import Bench, Result, Runner
from tests.support.model_server import say

_BYTES_PER_MB = 1_000_000


def measure(bench: Bench) -> list[Result]:
    taken = bench.samples(printed_turn)
    memory = bench.samples(_memory)
    numbers = itertools.count()

    def in_new_home(runner: Runner) -> Mapping[str, float]:
        return printed_turn(runner.another(bench.folder / "new homes" / f"{runner.name} {next(numbers)}"))

    first = bench.samples(in_new_home)
    return [
        Result("one turn, wall", "s", taken["wall"], target=0.15),
        Result("one turn, CPU", "s", taken["cpu"], target=0.15),
        Result("one turn, peak memory (PSS)", "MB", memory["pss"], target=55),
        Result("one turn in a new home, wall", "s", first["wall"]),
        Result("one turn in a new home, CPU", "s", first["cpu"]),
        Result("exec to first request in a new home", "ms", first["asked"]),
    ]


def printed_turn(runner: Runner, flags: Sequence[str] = ()) -> Mapping[str, float]:
    """Seconds of wall and CPU time of a run without a terminal, and milliseconds to its first request (`asked`)."""
    measured = runner.prompt([say("Hello.")], flags=flags)
    asked = (runner.requests()[0].arrived_ns - measured.started_ns) / 1e6
    return {"wall": measured.wall, "cpu": measured.cpu, "asked": asked}


def _memory(runner: Runner) -> Mapping[str, float]:
    measured = runner.prompt([say("Hello.")], sample_memory=True)
    return {"pss": measured.pss / _BYTES_PER_MB}
