"""The start and turns in git repositories of 50,000 tracked and of 100,000 untracked files, which all agents share."""

import statistics
from collections.abc import Mapping
from pathlib import Path

from benchmarks import edits
from benchmarks.bench import Bench, Result, Runner
from benchmarks.repositories import repository
from benchmarks.starts import measure_starts
from benchmarks.tool_turns import edit_turns, gaps_ms, one_by_one

_TRACKED, _UNTRACKED = 50_000, 100_000
_CALLS = 4

_UNITS = {
    "first call of a session, `bash true`": "ms",
    f"tool turn, `bash true`, median of the next {_CALLS - 1}": "ms",
    f"CPU of a run with {_CALLS} `bash true`": "s",
    "first call of a session, edit of a Python file": "ms",
    f"tool turn, edit of a Python file, median of the next {_CALLS - 1}": "ms",
    f"CPU of a run with {_CALLS} edits": "s",
}


def measure(bench: Bench) -> list[Result]:
    results: list[Result] = []
    for files, kind in ((_TRACKED, "tracked"), (_UNTRACKED, "untracked")):
        folder = bench.folder / "repositories" / kind
        project = repository(folder / "project", files, edits.python_file(), tracked=kind == "tracked")

        def there(runner: Runner, folder: Path = folder, project: Path = project) -> Runner:
            return runner.another(folder / runner.name, project)

        title = f"{files:,} {kind} files"
        results += measure_starts(bench, title, there, bench.participants, more=_turns, units=_UNITS)
    return results


def _turns(runner: Runner) -> Mapping[str, float]:
    """Take the first call of a session, the median of the others, and the CPU time, of commands and of edits."""
    measured = runner.prompt(one_by_one(runner.agent.commands(_CALLS)))
    first, *others = gaps_ms(runner.requests())
    (first_edit, *other_edits), cpu = edit_turns(runner, edits.python_file(), _CALLS)
    commands = (first, statistics.median(others), measured.cpu)
    return dict(zip(_UNITS, (*commands, first_edit, statistics.median(other_edits), cpu), strict=True))
