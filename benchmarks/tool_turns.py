"""Turns with a trivial tool: the time from the end of a reply to the next request, which the server measures.

All that an agent does between two replies is in it: running the tool, keeping the session, building the request.
With 200 turns it shows whether that grows with the length of the conversation. The first call of a session may have to
load code and start processes; the model of these sessions writes slowly, so that an agent can do so meanwhile.
"""

import itertools
import statistics
from collections.abc import Mapping, Sequence

from benchmarks.bench import Bench, Result, Runner
from tests.support.model_server import Answer, Call, Received, say

_FEW = 20
_MANY = 200
_TENTH = _MANY // 10
_SESSION = 6
_EVENTS_PER_SECOND = 5.0  # the first one 0.1 s after the request


def measure(bench: Bench) -> list[Result]:
    bash = bench.samples(lambda runner: _turns(runner, runner.agent.bash, _FEW))
    read = bench.samples(
        lambda runner: _turns(runner, runner.agent.read, _FEW), [r for r in bench.runners if r.agent.read]
    )
    many = bench.samples(lambda runner: _turns(runner, runner.agent.bash, _MANY))
    first_bash = bench.samples(lambda runner: _first(runner, runner.agent.bash))
    first_read = bench.samples(
        lambda runner: _first(runner, runner.agent.read), [r for r in bench.runners if r.agent.read]
    )
    return [
        Result(f"tool turn, `bash true`, median of {_FEW}", "ms", bash["all"], target=3),
        Result(f"tool turn, `read` of 4 KB, median of {_FEW}", "ms", read["all"], target=3),
        Result(f"tool turn, `bash true`, first tenth of {_MANY}", "ms", many["first"]),
        Result(f"tool turn, `bash true`, last tenth of {_MANY}", "ms", many["last"], target=3),
        Result("first call of a session, `bash true`", "ms", first_bash["first"]),
        Result("the others, median", "ms", first_bash["others"]),
        Result("the first to the others", "", first_bash["ratio"], target=2),
        Result("first call of a session, `read` of 4 KB", "ms", first_read["first"]),
        Result("the others, median", "ms", first_read["others"]),
        Result("the first to the others", "", first_read["ratio"], target=2),
        Result("growth of a request per turn", "bytes", many["bytes"]),
    ]


def _turns(runner: Runner, call: Call | None, count: int) -> Mapping[str, float]:
    assert call is not None
    runner.prompt([*[Answer(calls=(call,))] * count, say("Done.")])
    requests = runner.requests()
    gaps = gaps_ms(requests)
    return {
        "all": statistics.median(gaps),
        "first": statistics.median(gaps[:_TENTH]),
        "last": statistics.median(gaps[-_TENTH:]),
        "bytes": (len(requests[-1].body) - len(requests[0].body)) / count,
    }


def _first(runner: Runner, call: Call | None) -> Mapping[str, float]:
    """The first call of a session and the median of the others, of a model that writes slowly."""
    assert call is not None
    runner.prompt([*[Answer(calls=(call,))] * _SESSION, say("Done.")], events_per_second=_EVENTS_PER_SECOND)
    first, *others = gaps_ms(runner.requests())
    median = statistics.median(others)
    return {"first": first, "others": median, "ratio": first / median}


def gaps_ms(requests: Sequence[Received]) -> list[float]:
    """Milliseconds from the end of each reply to the next request."""
    pairs = itertools.pairwise(requests)
    return [(later.arrived_ns - earlier.answered_ns) / 1e6 for earlier, later in pairs]
