"""What a change is compared in: tool turns, first calls, printed turns, a long answer, and the terminal."""

import statistics

import msgspec

from benchmarks import edits, long_answer, one_turn, terminal_start
from benchmarks.bench import MESSAGE, Runner
from benchmarks.change import waiting
from benchmarks.change.figures import Figure
from benchmarks.change.taking import Measure, Taken, in_turn
from benchmarks.process_tree import RunFailedError
from benchmarks.tool_turns import gaps_ms
from tests.support.model_server import Answer, Call, Received, say
from tests.support.screen import Screen

_ROUNDS_OF_TURNS = 10
_SETTLED_SECONDS = 3.0

# Tool turns: the time from the last byte of a reply to the next request, which the server measures.

_READ = Figure("`read` of 100 lines", "ms", margin=0.2)
_EDIT_PYTHON = Figure("`edit` of a Python file", "ms", margin=0.3)
_EDIT_JSON = Figure("`edit` of a JSON file", "ms", margin=0.3)
_BASH = Figure("`bash true`", "ms", margin=0.3)
_TURNS_CPU = Figure("40 tool turns, CPU", "ms", margin=20.0)
_KINDS = (_READ, _EDIT_PYTHON, _EDIT_JSON, _BASH)


def _tool_turns(runner: Runner) -> Taken:
    """Take the median of each kind of call, without the first of each, and the CPU time of the run."""
    calls = _calls(runner)
    runner.follow([*(Answer(calls=(call,)) for call in calls), *[say("Done.")] * _SPARE])
    cpu_seconds = runner.run(*runner.agent.prompt, MESSAGE).cpu
    requests = runner.requests()
    if len(requests) <= len(calls):
        raise RunFailedError(f"{runner.name} made {len(requests)} requests where {len(calls) + 1} were expected")
    gaps = gaps_ms(requests)
    values = {_TURNS_CPU.name: cpu_seconds * 1000}
    missing: dict[str, str] = {}
    for number, kind in enumerate(_KINDS):
        turns = range(number, len(calls), len(_KINDS))
        problem = next((problem for turn in turns if (problem := _problem(requests[turn + 1]))), "")
        if problem:
            missing[kind.name] = problem
        else:
            values[kind.name] = statistics.median(gaps[turn] for turn in turns[1:])
    return Taken(values, missing)


# A reminder to test what was changed, which an agent may put in, is answered, too.
_SPARE = 3


def _calls(runner: Runner) -> list[Call]:
    """Write the files into the project, and return the calls in rounds of all kinds."""
    python, json = edits.python_file(), edits.json_file()
    (runner.project / python.name).write_text(python.text)
    (runner.project / json.name).write_text(json.text)
    calls: list[Call] = []
    for number in range(_ROUNDS_OF_TURNS):
        calls += [
            _call("read", path=python.name, offset=1 + number, limit=100),
            _call("edit", path=python.name, edits=[python.edit(number)]),
            _call("edit", path=json.name, edits=[json.edit(number)]),
            _call("bash", command="true"),
        ]
    return calls


def _call(tool: str, /, **arguments: object) -> Call:
    return Call(tool, msgspec.json.encode(arguments).decode())


class _Block(msgspec.Struct):
    type: str
    is_error: bool = False
    content: str | list[msgspec.Raw] = ""


class _Message(msgspec.Struct):
    content: str | list[_Block]


class _Body(msgspec.Struct):
    messages: list[_Message]


def _problem(request: Received) -> str:
    """What went wrong in the call whose result a request brings."""
    content = msgspec.json.decode(request.body, type=_Body).messages[-1].content
    failed = [block for block in content if isinstance(block, _Block) and block.is_error]
    return str(failed[0].content)[:200] if failed else ""


# The first call of a session may have to load code and start processes.

_FIRST_AT_ONCE = Figure("first call, reply at once", "ms", margin=2.0)
_FIRST_LATER = Figure("first call, reply after 1 s", "ms", margin=1.0)


def _first_call(runner: Runner) -> Taken:
    return Taken({_FIRST_AT_ONCE.name: _first_gap(runner, 0.0), _FIRST_LATER.name: _first_gap(runner, 1.0)})


def _first_gap(runner: Runner, reply_after: float) -> float:
    runner.follow([Answer(calls=(*runner.agent.readings(1),)), *[say("Done.")] * _SPARE], reply_after)
    runner.run(*runner.agent.prompt, MESSAGE)
    requests = runner.requests()
    if len(requests) < 2:
        raise RunFailedError(f"{runner.name} made {len(requests)} requests where 2 were expected")
    if problem := _problem(requests[1]):
        raise RunFailedError(f"{runner.name} could not read: {problem}")
    return gaps_ms(requests)[0]


_TURN_WALL = Figure("printed turn, wall", "ms", margin=5.0)
_TURN_CPU = Figure("printed turn, CPU", "ms", margin=5.0)


def _printed_turn(runner: Runner) -> Taken:
    seconds = one_turn.printed_turn(runner)
    return Taken({_TURN_WALL.name: seconds["wall"] * 1000, _TURN_CPU.name: seconds["cpu"] * 1000})


_LONG_ANSWER = Figure("20,000 streamed tokens, CPU above a short answer", "ms", margin=5.0)


def _long_answer(runner: Runner) -> Taken:
    seconds = long_answer.both(runner)
    return Taken({_LONG_ANSWER.name: (seconds["long"] - seconds["short"]) * 1000})


_FIRST_FRAME = Figure("exec to first frame", "ms", margin=2.0)
_FIRST_KEY = Figure("exec to first key shown", "ms", margin=2.0)


def _terminal_start(runner: Runner) -> Taken:
    frame, key = terminal_start.first_key(runner, Screen(100, 30))
    return Taken({_FIRST_FRAME.name: frame, _FIRST_KEY.name: key})


_MEMORY = Figure("memory at the prompt (PSS)", "MB", margin=1.0)


def _memory(runner: Runner) -> Taken:
    with runner.open() as seat:
        seat.wait_for_box()
        seat.look(_SETTLED_SECONDS)
        return Taken({_MEMORY.name: seat.megabytes})


# CPU time and memory differ little from run to run.
MEASURES = (
    Measure("tool_turns", (*_KINDS, _TURNS_CPU), in_turn(_tool_turns)),
    Measure("first_call", (_FIRST_AT_ONCE, _FIRST_LATER), in_turn(_first_call)),
    Measure("printed_turn", (_TURN_WALL, _TURN_CPU), in_turn(_printed_turn), rounds=9),
    Measure("long_answer", (_LONG_ANSWER,), in_turn(_long_answer)),
    Measure("waiting", (waiting.PRINTED,), waiting.printed, rounds=3),
    Measure("waiting_terminal", (waiting.TERMINAL,), waiting.terminal, rounds=3),
    Measure("terminal_start", (_FIRST_FRAME, _FIRST_KEY), in_turn(_terminal_start), rounds=9),
    Measure("memory", (_MEMORY,), in_turn(_memory), rounds=3),
)
