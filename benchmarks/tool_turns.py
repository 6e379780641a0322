"""Turns with a trivial tool or an edit: the time from the end of a reply to the next request, by the server's clock.

All that an agent does between two replies is in it: running the tool, keeping the session, building the request.
With 200 turns it shows whether that grows with the length of the conversation. The first call of a session may have to
load code and start processes; the model of these sessions writes slowly, so that an agent can do so meanwhile.
"""

import itertools
import statistics
from collections.abc import Mapping, Sequence

from benchmarks import edits
from benchmarks.bench import Bench, Result, Runner
from benchmarks.edits import EditedFile
from benchmarks.process_tree import RunFailedError
from tests.support.model_server import Answer, Call, Received, say

_FEW = 20
_MANY = 200
_TENTH = _MANY // 10
_SESSION = 6
_EVENTS_PER_SECOND = 5.0  # the first one 0.1 s after the request


def measure(bench: Bench) -> list[Result]:
    reading = [one for one in bench.participants if one.agent.read]
    bash = bench.samples(lambda runner: _turns(runner, runner.agent.commands(_FEW)))
    read = bench.samples(lambda runner: _turns(runner, runner.agent.readings(_FEW)), reading)
    python = bench.samples(lambda runner: _edits(runner, edits.python_file()))
    json = bench.samples(lambda runner: _edits(runner, edits.json_file()))
    many = bench.samples(lambda runner: _turns(runner, runner.agent.commands(_MANY)))
    first_bash = bench.samples(lambda runner: _first(runner, runner.agent.commands(_SESSION)))
    first_read = bench.samples(lambda runner: _first(runner, runner.agent.readings(_SESSION)), reading)
    return [
        *_median_and_cpu("tool turn, `bash true`", bash),
        *_median_and_cpu("tool turn, `read` of 4 KB", read),
        *_median_and_cpu("tool turn, edit of a Python file of 500 lines", python, target=None),
        *_median_and_cpu("tool turn, edit of a `package.json` of 90 lines", json, target=None),
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


def _median_and_cpu(
    turn: str, taken: Mapping[str, dict[str, float | None]], target: float | None = 3
) -> Sequence[Result]:
    return (
        Result(f"{turn}, median of {_FEW}", "ms", taken["all"], target=target),
        Result("  CPU of all processes for each", "ms", taken["cpu"]),
    )


def _turns(runner: Runner, calls: Sequence[Call]) -> Mapping[str, float]:
    one = runner.prompt([say("Done.")])
    measured = runner.prompt(one_by_one(calls))
    requests = runner.requests()
    gaps = gaps_ms(requests)
    return {
        "all": statistics.median(gaps),
        "cpu": (measured.cpu - one.cpu) / len(calls) * 1000,
        "first": statistics.median(gaps[:_TENTH]),
        "last": statistics.median(gaps[-_TENTH:]),
        "bytes": (len(requests[-1].body) - len(requests[0].body)) / len(calls),
    }


def _edits(runner: Runner, file: EditedFile) -> Mapping[str, float]:
    one = runner.prompt([say("Done.")])
    gaps, cpu = edit_turns(runner, file, _FEW)
    return {"all": statistics.median(gaps), "cpu": (cpu - one.cpu) / _FEW * 1000}


def edit_turns(runner: Runner, file: EditedFile, count: int) -> tuple[Sequence[float], float]:
    """Milliseconds of each of so many edits of a file in the agent's project, and seconds of CPU time of the run.

    Raises:
        RunFailedError: the file is not what the edits make of it.
    """
    edit, path = runner.agent.edit, runner.project / file.name
    assert edit is not None
    path.write_text(file.text)
    # An agent may remind the model to test what it changed, so one more request is answered.
    script = one_by_one([edit(file.name, *file.change(number)) for number in range(count)])
    measured = runner.prompt(script, at_most_more=1)
    if path.read_text() != file.after(count):
        raise RunFailedError(f"{runner.name} did not make the edits of {file.name}")
    return gaps_ms(runner.requests())[:count], measured.cpu


def _first(runner: Runner, calls: Sequence[Call]) -> Mapping[str, float]:
    """The first call of a session and the median of the others, of a model that writes slowly."""
    runner.prompt(one_by_one(calls), events_per_second=_EVENTS_PER_SECOND)
    first, *others = gaps_ms(runner.requests())
    median = statistics.median(others)
    return {"first": first, "others": median, "ratio": first / median}


def one_by_one(calls: Sequence[Call]) -> list[Answer]:
    """A script in which each reply makes one call, and the last one none."""
    return [*(Answer(calls=(call,)) for call in calls), say("Done.")]


def gaps_ms(requests: Sequence[Received]) -> list[float]:
    """Milliseconds from the end of each reply to the next request."""
    pairs = itertools.pairwise(requests)
    return [(later.arrived_ns - earlier.answered_ns) / 1e6 for earlier, later in pairs]
