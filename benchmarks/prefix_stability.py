"""Whether providers can reuse their cache: is what was sent before sent again, byte for byte?

Within a session every request must begin with the whole of the one before; between sessions system prompt, tools and
a first message that is the same must not differ. What is no part of the cached text is taken out before comparing:
Anthropic's cache breakpoints, which move with the conversation, and the ids of items in OpenAI's Responses.
"""

import itertools
from collections.abc import Mapping

from benchmarks.agents import KAA_MESSAGES
from benchmarks.bench import Bench, Result, Runner
from benchmarks.request_body import RequestBody, parse
from benchmarks.tool_turns import one_by_one

_TURNS = 20


def measure(bench: Bench) -> list[Result]:
    samples = bench.samples(_stability, [*bench.participants, *bench.invite(KAA_MESSAGES)])
    return [
        Result("prefix of a request found in the next one", "%", samples["request"], target=100, at_least=True),
        Result("prefix found in the next session", "%", samples["session"], target=100, at_least=True),
    ]


def _stability(runner: Runner) -> Mapping[str, float]:
    script = one_by_one(runner.agent.commands(_TURNS))
    runner.prompt(script)
    first = [parse(request.body) for request in runner.requests()]
    runner.prompt(script)
    second = [parse(request.body) for request in runner.requests()]
    pairs = list(itertools.pairwise(first))
    stable = sum(_begins_with(later, earlier) for earlier, later in pairs)
    return {
        "request": 100 * stable / len(pairs),
        "session": 100.0 * _begins_with(second[0], first[0]),
    }


def _begins_with(later: RequestBody, earlier: RequestBody) -> bool:
    return later.head == earlier.head and later.conversation[: len(earlier.conversation)] == earlier.conversation
