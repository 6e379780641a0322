"""What masking of old results saves: sessions of 60 replies, with it and without, in the caches of two vendors.

Every session is had over HTTP with a scripted model. The input of all its requests is counted, one token per four
bytes, and what a cache with the vendor's documented rules would give of it (no expiry). The cost is in tokens of new
input: those from the cache count a tenth, and with Anthropic those that are written to it 1.25.
"""

import statistics
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench import Bench, Result
from kaa.builtin.masking.batches import Sizes, is_due, old_results
from kaa.core.messages import AssistantMessage, Json, Message, TextContent, ToolCall, ToolResultMessage, Usage, now_ms
from tests.support.coding_session import CodingSession
from tests.support.model_server import ModelServer
from tests.support.model_wire import Wire
from tests.support.prefix_cache import PrefixCache
from tests.support.stage import Stage
from tests.support.wire_formats import FORMATS, without_marks

_TURNS = 60
_SEEDS = range(5)
_WRITTEN: dict[Wire, float] = {"openai-completions": 1.0, "anthropic-messages": 1.25}
_READ = 0.1


class _Used(NamedTuple):
    """What a session took. `cost`: in tokens of new input; `breaks`: requests that do not begin with the one before."""

    tokens: int
    cost: float
    breaks: int


def measure(bench: Bench) -> list[Result]:
    results: list[Result] = []
    for wire in _WRITTEN:
        whole = [_session(bench.folder / f"{wire}-{seed}-whole", wire, seed, masking=False) for seed in _SEEDS]
        masked = [_session(bench.folder / f"{wire}-{seed}", wire, seed, masking=True) for seed in _SEEDS]
        pairs = list(zip(masked, whole, strict=True))
        shares = {
            "input tokens": [one.tokens / other.tokens for one, other in pairs],
            "cost of the input": [one.cost / other.cost for one, other in pairs],
        }
        for name, values in shares.items():
            target = 60.0 if name == "input tokens" else None
            mean = 100 * statistics.mean(values)
            results.append(Result(f"{name} with masking ({wire})", "%", {"kaa": mean}, target=target))
            results.append(Result(f"{name}, the worst session ({wire})", "%", {"kaa": 100 * max(values)}))
        breaks = statistics.mean(one.breaks for one in masked)
        results.append(Result(f"prefix breaks in a session ({wire})", "", {"kaa": breaks}))
    return [*results, Result("looking for old results in 2,000 messages", "ms", {"kaa": _look_ms(bench.rounds)})]


def _session(folder: Path, wire: Wire, seed: int, *, masking: bool) -> _Used:
    with ModelServer() as server:
        stage = Stage(server, folder)
        session = CodingSession(_TURNS, seed)
        session.prepare(stage, {"resultMasking": masking}, wire)
        bodies = session.bodies(stage)
        server.release()
    cache = PrefixCache(wire)
    for body in bodies:
        cache.ask(body)
    new = cache.asked - cache.read
    breaks = sum(not _begins_with(after, before, FORMATS[wire].said) for before, after in pairwise(bodies))
    return _Used(cache.asked, _READ * cache.read + _WRITTEN[wire] * new, breaks)


def _begins_with(later: dict[str, Json], earlier: dict[str, Json], said: str) -> bool:
    one, other = without_marks(later)[said], without_marks(earlier)[said]
    return bool(one[: len(other)] == other)


def _look_ms(rounds: int) -> float:
    """What a long conversation costs before each request."""
    messages: list[Message] = []
    for number in range(1000):
        call = ToolCall(f"c{number}", "bash", {"command": "make"})
        messages.append(AssistantMessage((call,), "a", "lab", "m", Usage(), "toolUse", now_ms()))
        messages.append(ToolResultMessage(call.id, "bash", (TextContent("a line\n" * 300),), is_error=False))
    samples = []
    sizes = Sizes()
    for _ in range(rounds):
        started = time.perf_counter()
        is_due(messages, old_results(messages, (), 8, sizes), None, sizes)
        samples.append(time.perf_counter() - started)
    return statistics.median(samples) * 1e3
