"""Turns with a trivial tool: the time from the end of a reply to the next request, which the server measures.

All that an agent does between two replies is in it: running the tool, keeping the session, building the request.
With 200 turns it shows whether that grows with the length of the conversation.
"""

import itertools
import statistics
from collections.abc import Mapping, Sequence

from benchmarks.bench import Bench, Result, Runner
from tests.support.model_server import Answer, Call, Received, say

_FEW = 20
_MANY = 200
_TENTH = _MANY // 10


def measure(bench: Bench) -> list[Result]:
    bash = bench.samples(lambda runner: _turns(runner, runner.agent.bash, _FEW))
    read = bench.samples(
        lambda runner: _turns(runner, runner.agent.read, _FEW), [r for r in bench.runners if r.agent.read]
    )
    many = bench.samples(lambda runner: _turns(runner, runner.agent.bash, _MANY))
    return [
        Result(f"tool turn, `bash true`, median of {_FEW}", "ms", bash["all"], target=3),
        Result(f"tool turn, `read` of 4 KB, median of {_FEW}", "ms", read["all"], target=3),
        Result(f"tool turn, `bash true`, first tenth of {_MANY}", "ms", many["first"]),
        Result(f"tool turn, `bash true`, last tenth of {_MANY}", "ms", many["last"], target=3),
        Result("growth of a request per turn", "bytes", many["bytes"]),
    ]


def _turns(runner: Runner, call: Call | None, count: int) -> Mapping[str, float]:
    assert call is not None
    runner.prompt([*[Answer(calls=(call,))] * count, say("Done.")])
    requests = runner.requests()
    gaps = _gaps_ms(requests)
    return {
        "all": statistics.median(gaps),
        "first": statistics.median(gaps[:_TENTH]),
        "last": statistics.median(gaps[-_TENTH:]),
        "bytes": (len(requests[-1].body) - len(requests[0].body)) / count,
    }


def _gaps_ms(requests: Sequence[Received]) -> list[float]:
    pairs = itertools.pairwise(requests)
    return [(later.arrived_ns - earlier.answered_ns) / 1e6 for earlier, later in pairs]
