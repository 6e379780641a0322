"""What it costs to know models: reading the catalogue of a provider, and finding the model that is meant.

All of it is kaa's own code in a process of its own each time, with the files in the system's cache: CPU time, because
nothing is waited for. kaa alone.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.bench import Bench, Result
from kaa.llm.catalogue import known_models, provider_names
from kaa.llm.models.registry import ModelChoice, ModelRegistry

# The largest, and the one that is used most.
_LARGEST, _USUAL = "openrouter", "anthropic"
_TARGET_MS = 5.0


def measure(bench: Bench) -> list[Result]:
    samples = [_elsewhere() for _ in range(bench.rounds)]
    largest = len(known_models(_LARGEST))
    every = sum(len(known_models(name)) for name in provider_names())
    return [
        Result(f"read the models of {_USUAL}", "ms", _median(samples, "usual_ms"), target=_TARGET_MS),
        Result(f"  of {_LARGEST} ({largest})", "ms", _median(samples, "largest_ms"), target=_TARGET_MS),
        Result(f"  of all providers ({every:,})", "ms", _median(samples, "every_ms")),
        Result("find the default model", "ms", _median(samples, "default_ms")),
        Result(f"find `sonnet` with keys for {_USUAL} and {_LARGEST}", "ms", _median(samples, "query_ms")),
    ]


def _median(samples: list[Mapping[str, float]], name: str) -> dict[str, float | None]:
    return {"kaa": statistics.median(sample[name] for sample in samples)}


def _elsewhere() -> Mapping[str, float]:
    """Measure in a process that has read nothing yet."""
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.model_catalogue"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
        capture_output=True,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=dict[str, float])


def _main() -> None:
    measured: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        one = ModelRegistry(Path(folder), {"ANTHROPIC_API_KEY": "k"})
        both = ModelRegistry(Path(folder), {"ANTHROPIC_API_KEY": "k", "OPENROUTER_API_KEY": "k"})
        for what_for, what in (
            ("usual_ms", lambda: known_models(_USUAL)),
            ("largest_ms", lambda: known_models(_LARGEST)),
            ("every_ms", lambda: [known_models(provider) for provider in provider_names()]),
        ):
            known_models.cache_clear()
            provider_names.cache_clear()
            measured[what_for] = _milliseconds(what)
        known_models.cache_clear()
        measured["default_ms"] = _milliseconds(lambda: one.resolve(ModelChoice()))
        known_models.cache_clear()
        measured["query_ms"] = _milliseconds(lambda: both.resolve(ModelChoice("sonnet")))
    sys.stdout.write(msgspec.json.encode(measured).decode())


def _milliseconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1000


if __name__ == "__main__":
    _main()
