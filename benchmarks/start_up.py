"""`--version`: what it costs to start and say one line."""

from collections.abc import Mapping

from benchmarks.bench import Bench, Result, Runner


def measure(bench: Bench) -> list[Result]:
    samples = bench.samples(_version)
    return [
        Result("--version, wall", "s", samples["wall"]),
        Result("--version, CPU", "s", samples["cpu"]),
    ]


def _version(runner: Runner) -> Mapping[str, float]:
    measured = runner.run("--version")
    return {"wall": measured.wall, "cpu": measured.cpu}
