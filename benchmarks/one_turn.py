"""One prompt and one short answer: wall time, CPU time and memory, of the agent and everything it starts."""

from collections.abc import Mapping

from benchmarks.bench import Bench, Result, Runner
from tests.support.model_server import say

_BYTES_PER_MB = 1_000_000


def measure(bench: Bench) -> list[Result]:
    times = bench.samples(_times)
    memory = bench.samples(_memory)
    return [
        Result("one turn, wall", "s", times["wall"], target=0.15),
        Result("one turn, CPU", "s", times["cpu"], target=0.15),
        Result("one turn, peak memory (PSS)", "MB", memory["pss"], target=55),
    ]


def _times(runner: Runner) -> Mapping[str, float]:
    measured = runner.prompt([say("Hello.")])
    return {"wall": measured.wall, "cpu": measured.cpu}


def _memory(runner: Runner) -> Mapping[str, float]:
    measured = runner.prompt([say("Hello.")], sample_memory=True)
    return {"pss": measured.pss / _BYTES_PER_MB}
