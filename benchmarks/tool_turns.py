"""Turns with a trivial tool: the time from the end of a reply to the next request, which the server measures.

All that an agent does between two replies is in it: running the tool, keeping the session, building the request.
With 200 turns it shows whether that grows with the length of the conversation.
"""

import itertools

from benchmarks.bench import Bench, Result

_FEW = 20
_MANY = 200
_TENTH = _MANY // 10


def measure(bench: Bench) -> list[Result]:
    bash = bench.samples(lambda runner: _turns(runner, runner.agent.bash, _FEW))
    read = bench.samples(
        lambda runner: _turns(runner, runner.agent.read, _FEW), [r for r in bench.runners if r.agent.read]
    )
    many = bench.samples(lambda runner: _turns(runner, runner.agent.bash, _MANY))
    pairs = itertools.pairwise(requests)
    return [(later.arrived_ns - earlier.answered_ns) / 1e6 for earlier, later in pairs]
