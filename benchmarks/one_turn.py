"""One prompt and one short answer: wall time, CPU time and memory, of the agent and everything it starts."""

from collections.abc import Mapping

from benchmarks.bench import Bench, Result, Runner
from tests.support.model_server import say

_BYTES_PER_MB = 1_000_000


def measure(bench: Bench) -> list[Result]:
    taken = bench.samples(times)
    memory = bench.samples(_memory)
    return [
        Result("one turn, wall", "s", taken["wall"], target=0.15),
        Result("one turn, CPU", "s", taken["cpu"], target=0.15),
        Result("one turn, peak memory (PSS)", "MB", memory["pss"], target=55),
    ]


def times(runner: Runner) -> Mapping[str, float]:
    """Seconds of wall and CPU time of a prompt with a short answer."""
    measured = runner.prompt([say("Hello.")])
    return {"wall": measured.wall, "cpu": measured.cpu}


def _memory(runner: Runner) -> Mapping[str, float]:
    measured = runner.prompt([say("Hello.")], sample_memory=True)
    return {"pss": measured.pss / _BYTES_PER_MB}
