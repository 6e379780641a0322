"""The start and the first request with ten MCP servers of 20 tools beside those without; then kaa's calls and turns.

Processor time and differences of pairs stand beside the times: these also hold on a machine that does other work.
"""

import itertools
import shutil
import time
from collections.abc import Mapping, Sequence

from benchmarks.bench import Bench, Result, Runner, medians
from benchmarks.mcp_sets import CONFIGURE, configure, running
from benchmarks.one_turn import printed_turn
from benchmarks.tool_turns import gaps_ms, one_by_one
from tests.support.model_server import Answer, Call, say

_SERVERS = 10
_TOOLS = 20
_MANY_TOOLS = 200  # of each server
_TURNS = 20

# What a title says of the servers, and how many of how many tools are configured.
_WITHOUT, _WITH, _NEW = "without servers", f"with {_SERVERS} servers", f"with {_SERVERS} servers never started before"
_PAIR = {_WITHOUT: (0, 0), _WITH: (_SERVERS, _TOOLS)}

# A person who has typed a message looks at it before Enter. Some agents take Enter for a part of a paste otherwise.
_BEFORE_ENTER_SECONDS = 0.4
# The model that writes slowly: an agent may prepare a call meanwhile.
_EVENTS_PER_SECOND = 5.0

_KEY = "exec to first key shown"
_ENTER = "Enter to first request"
_ASKED = "exec to first request of -p"
_CPU = "CPU to the first answer"
_CPU_PROMPT = "CPU of -p"
_UNITS = {_KEY: "ms", _ENTER: "ms", _ASKED: "ms", _CPU: "s", _CPU_PROMPT: "s"}


def measure(bench: Bench) -> list[Result]:
    kaa = [runner for runner in bench.runners if runner.name == "kaa"]
    return [*_starts(bench), *_new(bench, kaa), *_calls(bench, kaa), *_turns(bench, kaa)]


def _starts(bench: Bench) -> list[Result]:
    participants = [one for one in bench.participants if one.name in CONFIGURE]
    for runner in bench.runners:
        if runner in participants:
            configure(runner, _SERVERS, _TOOLS)
    orders = {one.name: itertools.cycle((list(_PAIR), list(reversed(_PAIR)))) for one in participants}

    def start(runner: Runner) -> Mapping[str, Sequence[float]]:
        taken: dict[str, Sequence[float]] = {}
        for title in next(orders[runner.name]):  # what runs second finds warmer caches
            CONFIGURE[runner.name](runner, *_PAIR[title])
            taken |= {f"{key}, {title}": [value] for key, value in _start(runner).items()}
        return taken

    taken = bench.collect(start, participants)
    results: list[Result] = []
    for figure, unit in _UNITS.items():
        without, with_ = taken[f"{figure}, {_WITHOUT}"], taken[f"{figure}, {_WITH}"]
        more = {name: [y - x for x, y in zip(without[name], with_[name], strict=True)] for name in with_}
        least = {name: [min(with_[name]) - min(without[name])] if with_[name] else [] for name in with_}
        results += [
            Result(f"{figure}, {_WITHOUT}", unit, medians(without)),
            Result(f"{figure}, {_WITH}", unit, medians(with_)),
            Result("more with servers, median of pairs", unit, medians(more)),
            Result("more with servers, least to least", unit, medians(least)),
        ]
    for title in _PAIR:
        results.append(Result(f"first request, body, {title}", "bytes", medians(taken[f"bytes, {title}"])))
    return [
        *results,
        Result("servers that run at the first answer", "", medians(taken[f"running, {_WITH}"]), target=0),
    ]


def _new(bench: Bench, runners: Sequence[Runner]) -> list[Result]:
    """A server that kaa has never listed is started once, behind the conversation."""

    def start(runner: Runner) -> Mapping[str, Sequence[float]]:
        shutil.rmtree(runner.home / "cache" / "mcp", ignore_errors=True)
        (runner.home / "mcp-approvals.json").unlink(missing_ok=True)
        return {key: [value] for key, value in _open(runner).items()}

    taken = bench.collect(start, runners)
    return [Result(f"{figure}, {_NEW}", _UNITS[figure], medians(taken[figure])) for figure in (_KEY, _ENTER)]


def _start(runner: Runner) -> Mapping[str, float]:
    opened = _open(runner)
    printed = printed_turn(runner)
    return {**opened, _ASKED: printed["asked"], _CPU_PROMPT: printed["cpu"]}


def _open(runner: Runner) -> Mapping[str, float]:
    """Start it in a terminal, type, press Enter, wait for the answer. An agent may then ask for a title, too."""
    runner.follow([say("Hello.")])
    with runner.open() as seat:
        seat.wait_for_box()
        shown = seat.type_until_shown()
        seat.look(_BEFORE_ENTER_SECONDS)
        entered_ns = time.monotonic_ns()
        seat.program.press("enter")
        seat.wait_for("Hello.")
        cpu, programs = seat.cpu_seconds, running(seat.program.pid)
    first = runner.requests()[0]
    entered = (first.arrived_ns - entered_ns) / 1e6
    return {_KEY: shown, _ENTER: entered, _CPU: cpu, "bytes": len(first.body), "running": programs}


def _calls(bench: Bench, runners: Sequence[Runner]) -> list[Result]:
    """The first call of a tool, which starts its server, and the second."""
    call = Call("mcp", '{"action":"call","server":"records_0","tool":"find_000","arguments":{"query":"x"}}')
    script = [Answer(calls=(call,)), Answer(calls=(call,)), say("Done.")]

    def gaps(runner: Runner) -> Mapping[str, Sequence[float]]:
        configure(runner, _SERVERS, _TOOLS)
        runner.prompt(script)
        cold, warm = gaps_ms(runner.requests())
        runner.prompt(script, events_per_second=_EVENTS_PER_SECOND)
        prepared, _ = gaps_ms(runner.requests())
        return {"cold": [cold], "warm": [warm], "prepared": [prepared]}

    taken = bench.collect(gaps, runners)
    titles = {
        "cold": "first call of a server's tool, written at once",
        "prepared": "first call of a server's tool, written slowly",
        "warm": "second call",
    }
    return [Result(title, "ms", medians(taken[key])) for key, title in titles.items()]


def _turns(bench: Bench, runners: Sequence[Runner]) -> list[Result]:
    """Turns with and without 2,000 tools that the model has to look for."""
    sets = {_WITHOUT: (0, 0), f"with {_SERVERS * _MANY_TOOLS:,} deferred tools": (_SERVERS, _MANY_TOOLS)}
    for runner in runners:
        configure(runner, _SERVERS, _MANY_TOOLS)

    def turns(runner: Runner) -> Mapping[str, Sequence[float]]:
        taken: dict[str, Sequence[float]] = {}
        for title, (servers, tools) in sets.items():
            CONFIGURE[runner.name](runner, servers, tools)
            one = runner.prompt([say("Hello.")])
            many = runner.prompt(one_by_one(runner.agent.commands(_TURNS)))
            requests = runner.requests()
            taken |= {
                f"one, {title}": [one.cpu],
                f"more, {title}": [(many.cpu - one.cpu) / _TURNS * 1000],
                f"requests, {title}": [len(requests) / (_TURNS + 1)],
                f"first, {title}": [len(requests[0].body)],
                f"growth, {title}": [(len(requests[-1].body) - len(requests[0].body)) / _TURNS],
            }
        return taken

    taken = bench.collect(turns, runners)
    titles = {
        "first": ("first request, body", "bytes"),
        "growth": ("growth of a request per turn", "bytes"),
        "requests": ("requests per turn", ""),
        "one": ("one turn, CPU", "s"),
        "more": ("each further turn with `bash true`, CPU", "ms"),
    }
    return [
        Result(f"{name}, {title}", unit, medians(taken[f"{key}, {title}"]))
        for key, (name, unit) in titles.items()
        for title in sets
    ]
