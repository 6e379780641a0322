"""How much every conversation costs before it has begun: system prompt, tools and a short message."""

from collections.abc import Mapping

from benchmarks.bench import Bench, Result, Runner
from benchmarks.request_body import parse
from tests.support.model_server import say


def measure(bench: Bench) -> list[Result]:
    samples = bench.samples(_first_request)
    return [
        Result("first request", "tokens", samples["tokens"], target=1000),
        Result("first request, body", "bytes", samples["bytes"]),
    ]


def _first_request(runner: Runner) -> Mapping[str, float]:
    runner.prompt([say("Hello.")])
    body = runner.requests()[0].body
    return {"tokens": parse(body).tokens, "bytes": len(body)}
