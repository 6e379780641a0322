"""An answer of 20,000 tokens that arrive as fast as the agent takes them: CPU time above that of a short answer."""

from collections.abc import Mapping

from benchmarks.bench import Bench, Result, Runner
from tests.support.model_server import Answer, say

_TOKENS = 20_000

_LONG = Answer(text=("token ",) * _TOKENS)


def measure(bench: Bench) -> list[Result]:
    samples = bench.samples(both)
    above = {
        name: None if long is None else long - (samples["short"][name] or 0) for name, long in samples["long"].items()
    }
    return [Result(f"{_TOKENS:,} streamed tokens, CPU above one turn", "s", above, target=0.10)]


def both(runner: Runner) -> Mapping[str, float]:
    """Seconds of CPU time of a short answer and of a long one."""
    return {"short": runner.prompt([say("Hello.")]).cpu, "long": runner.prompt([_LONG]).cpu}
