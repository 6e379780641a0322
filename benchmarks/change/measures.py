"""What a change is compared in: tool turns, first calls, printed turns, a long answer, waiting, and the terminal.

A measure is taken of one side after the other, or of both at once where only their CPU time counts.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import msgspec

from benchmarks import long_answer, one_turn, terminal_start
from benchmarks.bench import MESSAGE, Runner
from benchmarks.change import edits
from benchmarks.change.figures import Figure
from benchmarks.process_tree import RunFailedError, Started, tree_cpu
from benchmarks.tool_turns import gaps_ms
from tests.support.model_server import Answer, Call, Received, say
from tests.support.program import NotShownError
from tests.support.screen import Screen

_ROUNDS_OF_TURNS = 10
_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.02
_NEVER_SECONDS = 3600.0
_WAITING_FROM, _WAITING_TO = 2.0, 10.0
_SETTLED_SECONDS = 3.0


class Taken(NamedTuple):
    """What a measure gave for one side.

    Attributes:
        values: by the name of the figure.
        missing: why there is no value, by the name of the figure.
        failure: why there are no values at all.
    """

    values: Mapping[str, float]
    missing: Mapping[str, str] = MappingProxyType({})
    failure: str = ""

    def reason(self, figure: str) -> str:
        """Return why a figure is missing; empty if it is not."""
        return self.failure or self.missing.get(figure, "")


# Measures two sides in this order.
Take: TypeAlias = Callable[[Runner, Runner], tuple[Taken, Taken]]


class Measure(NamedTuple):
    """Something that kaa does, of which figures are taken.

    Attributes:
        name: how `--only` names it.
        figures: what it gives.
        take: measures a pair.
        rounds: how many pairs are planned, after a warm-up.
    """

    name: str
    figures: tuple[Figure, ...]
    take: Take
    rounds: int = 5


def _in_turn(measure: Callable[[Runner], Taken]) -> Take:
    def attempt(runner: Runner) -> Taken:
        try:
            return measure(runner)
        except (RunFailedError, NotShownError) as error:
            return Taken({}, failure=str(error))

    return lambda first, second: (attempt(first), attempt(second))


# Tool turns: the time from the last byte of a reply to the next request, which the server measures.

_READ = Figure("`read` of 100 lines", "ms", margin=0.2)
_EDIT_PYTHON = Figure("`edit` of a Python file", "ms", margin=0.3)
_EDIT_JSON = Figure("`edit` of a JSON file", "ms", margin=0.3)
_BASH = Figure("`bash true`", "ms", margin=0.3)
_KINDS = (_READ, _EDIT_PYTHON, _EDIT_JSON, _BASH)


def _tool_turns(runner: Runner) -> Taken:
    """Take the median of each kind of call, without the first of each."""
    calls = _calls(runner)
    runner.follow([*(Answer(calls=(call,)) for call in calls), *[say("Done.")] * _SPARE])
    runner.run(*runner.agent.prompt, MESSAGE)
    requests = runner.requests()
    if len(requests) <= len(calls):
        raise RunFailedError(f"{runner.name} made {len(requests)} requests where {len(calls) + 1} were expected")
    gaps = gaps_ms(requests)
    values: dict[str, float] = {}
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
    call = _call("read", path="notes.txt")
    runner.follow([Answer(calls=(call,)), *[say("Done.")] * _SPARE], reply_after)
    runner.run(*runner.agent.prompt, MESSAGE)
    return gaps_ms(runner.requests())[0]


_TURN_WALL = Figure("printed turn, wall", "ms", margin=5.0)
_TURN_CPU = Figure("printed turn, CPU", "ms", margin=5.0)


def _printed_turn(runner: Runner) -> Taken:
    seconds = one_turn.times(runner)
    return Taken({_TURN_WALL.name: seconds["wall"] * 1000, _TURN_CPU.name: seconds["cpu"] * 1000})


_LONG_ANSWER = Figure("20,000 streamed tokens, CPU above a short answer", "ms", margin=5.0)


def _long_answer(runner: Runner) -> Taken:
    seconds = long_answer.both(runner)
    return Taken({_LONG_ANSWER.name: (seconds["long"] - seconds["short"]) * 1000})


_WAITING = Figure("waiting for a model, CPU from second 2 to 10", "ms", margin=5.0)


def _waiting(first: Runner, second: Runner) -> tuple[Taken, Taken]:
    """Let both wait at once: they leave the processor idle, and the wait is long."""
    with ExitStack() as stack:
        programs = [_begin_waiting(stack, runner) for runner in (first, second)]
        asked = time.monotonic()
        cpu: list[list[float]] = []
        for seconds in (_WAITING_FROM, _WAITING_TO):
            time.sleep(max(0.0, asked + seconds - time.monotonic()))
            cpu.append([tree_cpu(program.process.pid) if isinstance(program, Started) else 0.0 for program in programs])
        taken = [_waited(program, late - early) for program, early, late in zip(programs, *cpu, strict=True)]
    return taken[0], taken[1]


def _begin_waiting(stack: ExitStack, runner: Runner) -> Started | str:
    """Start it, or return why it does not ask the model."""
    try:
        return stack.enter_context(unanswered(runner))
    except RunFailedError as error:
        return str(error)


def _waited(program: Started | str, seconds: float) -> Taken:
    if isinstance(program, str):
        return Taken({}, failure=program)
    if program.process.poll() is not None:
        return Taken({}, failure=str(program.failure()))
    program.end()
    return Taken({_WAITING.name: seconds * 1000})


@contextmanager
def unanswered(runner: Runner) -> Iterator[Started]:
    """Let it ask a model that does not answer, until the end of the block.

    Raises:
        RunFailedError: it does not ask.
    """
    runner.follow([say("Hello.")], first_reply_after=_NEVER_SECONDS)
    with runner.start(*runner.agent.prompt, MESSAGE) as program:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not runner.requests():
            if program.process.poll() is not None:
                raise program.failure()
            if time.monotonic() > deadline:
                raise RunFailedError(f"{runner.name} did not ask the model within {_PATIENCE_SECONDS:g} s")
            time.sleep(_POLL_SECONDS)
        yield program


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
    Measure("tool_turns", _KINDS, _in_turn(_tool_turns)),
    Measure("first_call", (_FIRST_AT_ONCE, _FIRST_LATER), _in_turn(_first_call)),
    Measure("printed_turn", (_TURN_WALL, _TURN_CPU), _in_turn(_printed_turn), rounds=9),
    Measure("long_answer", (_LONG_ANSWER,), _in_turn(_long_answer)),
    Measure("waiting", (_WAITING,), _waiting, rounds=3),
    Measure("terminal_start", (_FIRST_FRAME, _FIRST_KEY), _in_turn(_terminal_start), rounds=9),
    Measure("memory", (_MEMORY,), _in_turn(_memory), rounds=3),
)
