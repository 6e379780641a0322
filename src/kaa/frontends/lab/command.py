"""`kaa lab`: runs tasks with a model, and says how many it solves and what that takes."""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from kaa import __version__
from kaa.builtin.columns import aligned
from kaa.frontends.delivery import deliver, terminal_columns
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.interruption import run_to_exit_code
from kaa.frontends.lab.attempt import Course, run_attempt
from kaa.frontends.lab.reports import by_task, by_variant, comparison, rows_as_json, table
from kaa.frontends.lab.results import Attempt, Definition, Results, ResultsError
from kaa.frontends.lab.scene import Confinement, Scene, Verdict, scene
from kaa.frontends.lab.tasks import Task, TaskError, read_tasks
from kaa.frontends.lab.variants import VariantError, parse_variants
from kaa.frontends.session_commands import positive
from kaa.frontends.subcommands import Subcommand, run_subcommand
from kaa.shell.home import Home
from kaa.tui.sanitize import sanitize


class NotRunError(Exception):
    """kaa could not ask the model at all; the message says why. Other runs would fail likewise."""


_FAILURES = (TaskError, VariantError, ResultsError, NotRunError, OSError)
# In kaa's repository.
_TASKS = "benchmarks/lab/tasks"
_MAX_TURNS = 60
_DESCRIPTION = "Run tasks with a model, and see how many it solves and what that takes. See docs/lab.md."


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa lab`. Returns the exit code."""
    return run_subcommand("lab", _DESCRIPTION, SUBCOMMANDS, _FAILURES, arguments, directory)


def _run(parsed: argparse.Namespace, home: Home) -> int:
    tasks = {task.name: task for task in _usable_tasks(parsed)}
    results = Results(_out(parsed, home))
    definition = Definition(
        __version__,
        parsed.model,
        parsed.max_turns,
        {name: task.digest for name, task in tasks.items()},
        parse_variants(parsed.variant),
        parsed.n,
    )
    hidden = (_tasks_folder(parsed).resolve(), results.path.resolve())
    course = Course(parsed.model, parsed.max_turns, _confinement(parsed), hidden, home)
    with results.begin(definition) as whole:
        _note(f"results in {results.path}")
        _run_to_end(_run_missing(results, whole, tasks, course, parsed.jobs, _note))
        _print(table(by_variant(results), terminal_columns(sys.stdout)))
    return ExitCode.DONE


def _list(parsed: argparse.Namespace, _home: Home) -> int:
    tasks, errors = read_tasks(_tasks_folder(parsed), parsed.task)
    rows = [("task", "kind", "language", ""), *map(_row, tasks)]
    _print(aligned(rows, left=4))
    return _reported(errors)


def _row(task: Task) -> tuple[str, ...]:
    metadata = task.config.metadata
    missing = f"skipped: needs {', '.join(task.missing)}" if task.missing else ""
    return task.name, metadata.kind, metadata.language, missing


def _check(parsed: argparse.Namespace, _home: Home) -> int:
    tasks, errors = read_tasks(_tasks_folder(parsed), parsed.task)

    set_up = partial(scene, confinement=_confinement(parsed))

    async def check() -> int:
        findings = await check_all(tasks, set_up, parsed.jobs, lambda line: _print([line]))
        bad = any(finding.state == "bad" for finding in findings)
        return ExitCode.FAILED if _reported(errors) or bad else ExitCode.DONE

    return run_to_exit_code(check())


def _show(parsed: argparse.Namespace, home: Home) -> int:
    folder = _labs(home)
    if parsed.run is None:
        names = sorted(path.parent.name for path in folder.glob("*/lab.json"))
        _print(names or [f"there is no lab in {folder}: kaa lab run makes one"])
        return ExitCode.DONE
    results = Results(_found(parsed.run, home))
    definition = results.definition()
    variants = by_variant(results)
    if parsed.json:
        _print([msgspec.json.encode(row).decode() for row in rows_as_json(variants)])
        return ExitCode.DONE
    expected = len(definition.runs())
    counted = sum(map(len, variants.values()))
    _print(by_task(variants) if parsed.by_task else table(variants, terminal_columns(sys.stdout)))
    if counted < expected:
        _note(f"{expected - counted} of {expected} runs are missing: the same kaa lab run --out {results.path}")
    return ExitCode.DONE


def _compare(parsed: argparse.Namespace, home: Home) -> int:
    if parsed.second is None:
        variants = by_variant(Results(_found(parsed.first, home)))
        if len(variants) < 2:
            raise ResultsError(f"{parsed.first} has no two variants: name a second run to compare it with")
        first, *others = variants
        for other in others:
            _print(comparison((first, other), variants[first], variants[other]))
        return ExitCode.DONE
    names = (parsed.first, parsed.second)
    _print(comparison(names, _selected(parsed.first, home), _selected(parsed.second, home)))
    return ExitCode.DONE


def _usable_tasks(parsed: argparse.Namespace) -> list[Task]:
    """The tasks that can be run here.

    Raises:
        TaskError: one cannot be read, or none can be run.
    """
    tasks, errors = read_tasks(_tasks_folder(parsed), parsed.task)
    if errors:
        raise TaskError("\n".join(map(str, errors)))
    for task in tasks:
        if task.missing:
            _note(f"{task.name} is skipped: it needs {', '.join(task.missing)}")
    usable = [task for task in tasks if not task.missing]
    if not usable:
        raise TaskError("no task can be run on this machine")
    return usable


def _selected(text: str, home: Home) -> list[Attempt]:
    """The runs that `RUN` or `RUN:VARIANT` names.

    Raises:
        ResultsError: there are none, or of more than one variant.
    """
    name, _, variant = text.rpartition(":")
    if not name or _exists(text, home):
        name, variant = text, ""
    variants = by_variant(Results(_found(name, home)))
    if variant:
        if variant not in variants:
            raise ResultsError(f"{name} has no variant {variant!r}, but {', '.join(variants) or 'none'}")
        return variants[variant]
    if len(variants) != 1:
        raise ResultsError(f"{name} has the variants {', '.join(variants) or '(none)'}: name one, as {name}:VARIANT")
    return next(iter(variants.values()))


def _labs(home: Home) -> Path:
    return home.path / "lab"


def _exists(name: str, home: Home) -> bool:
    return Path(name).is_dir() or (_labs(home) / name).is_dir()


def _found(name: str, home: Home) -> Path:
    """The folder of a lab that is named by its path, or by its name in kaa's home."""
    return Path(name) if Path(name).is_dir() else _labs(home) / name


def _out(parsed: argparse.Namespace, home: Home) -> Path:
    return Path(parsed.directory, parsed.out) if parsed.out else _labs(home) / time.strftime("%Y-%m-%d-%H%M%S")


def _tasks_folder(parsed: argparse.Namespace) -> Path:
    return Path(parsed.directory, parsed.tasks)


def _confinement(parsed: argparse.Namespace) -> Confinement:
    return "full-access" if parsed.unconfined else "workspace-write"


def _run_to_end(work: Coroutine[object, object, None]) -> None:
    asyncio.run(work)


def _reported(errors: Sequence[TaskError]) -> int:
    for error in errors:
        _note(f"bad      {error}")
    return ExitCode.FAILED if errors else ExitCode.DONE


def _print(lines: Sequence[str]) -> None:
    deliver(sys.stdout, "".join(f"{sanitize(line)}\n" for line in lines))


def _note(line: str) -> None:
    deliver(sys.stderr, f"{sanitize(line)}\n")


def _which_tasks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="DIR", default=_TASKS, help=f"folder of tasks, {_TASKS} unless given")
    parser.add_argument("--task", metavar="GLOB", action="append", default=[], help="only tasks of such names")


def _how(parser: argparse.ArgumentParser) -> None:
    jobs = os.cpu_count() or 1
    parser.add_argument("--jobs", metavar="J", type=positive, default=jobs, help=f"at a time, {jobs} unless given")
    parser.add_argument(
        "--unconfined", action="store_true", help="without a sandbox, in a container that has none: with your rights"
    )


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    _which_tasks(parser)
    parser.add_argument(
        "--variant",
        metavar="NAME=JSON",
        action="append",
        default=[],
        help='settings to run with, such as plain=\'{"features": {"briefing": false}}\'; default; bare: no measures',
    )
    parser.add_argument("-n", metavar="N", type=positive, default=1, help="runs of each task with each variant")
    parser.add_argument("--model", metavar="NAME", default="", help="provider/id; your default unless given")
    parser.add_argument(
        "--max-turns", metavar="N", type=positive, default=_MAX_TURNS, help=f"of a run, {_MAX_TURNS} unless given"
    )
    parser.add_argument("--out", metavar="DIR", help="folder of the results; if it has some, those missing are run")
    _how(parser)


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    _which_tasks(parser)
    _how(parser)


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="folder or name of a lab; without it, their names")
    parser.add_argument("--by-task", action="store_true", help="a row for each task")
    parser.add_argument("--json", action="store_true", help="print one JSON object per row")


def _compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="RUN[:VARIANT]", help="folder or name of a lab")
    parser.add_argument("second", metavar="RUN[:VARIANT]", nargs="?", help="without it, the variants of the first one")


SUBCOMMANDS = {
    "run": Subcommand("run tasks", "--tasks ./tasks --model anthropic/claude-sonnet-4-5", _run_arguments, _run),
    "list": Subcommand("list tasks", "--tasks ./tasks", _which_tasks, _list),
    "check": Subcommand(
        "check that tasks fail before and pass with their solutions", "--tasks ./tasks", _check_arguments, _check
    ),
    "show": Subcommand("show the figures of a lab", "my-run --by-task", _show_arguments, _show),
    "compare": Subcommand(
        "show the differences between variants or labs", "my-run other-run", _compare_arguments, _compare
    ),
}


_Report: TypeAlias = Callable[[str], None]
# Gives a task its scene as long as a block lasts.
_SetUp: TypeAlias = Callable[[Task], AbstractAsyncContextManager[Scene]]


class Finding(msgspec.Struct, frozen=True):
    """What a check of a task found."""

    task: str
    state: Literal["ok", "bad", "skipped"]
    reason: str = ""


async def check_all(tasks: Sequence[Task], set_up: _SetUp, jobs: int, report: _Report) -> list[Finding]:
    """Check tasks, some at a time.

    Args:
        set_up: called twice for each.
    """
    free = asyncio.Semaphore(jobs)

    async def checked(task: Task) -> Finding:
        async with free:
            finding = await _check_task(task, set_up)
        report(f"{finding.state:7}  {task.name}" + (f": {finding.reason}" if finding.reason else ""))
        return finding

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(checked(task)) for task in tasks]
    return [one.result() for one in running]


async def _check_task(task: Task, set_up: _SetUp) -> Finding:
    if task.missing:
        return Finding(task.name, "skipped", f"needs {', '.join(task.missing)}")
    try:
        reason = await _wrong(task, set_up)
    except (TaskError, OSError) as error:
        reason = str(error)
    return Finding(task.name, "bad" if reason else "ok", reason)


async def _wrong(task: Task, set_up: _SetUp) -> str:
    """What is wrong with a task, or nothing."""
    async with set_up(task) as place:
        before = await place.check()
    if before.problem:
        return _described(before)
    if before.solved:
        return "its check passes before anything is done. Make it fail without the solution"
    async with set_up(task) as place:  # a check may change the project
        if problem := await place.solve():
            return f"its solution fails: {problem}"
        after = await place.check()
        return "" if after.solved else f"its check fails with the solution: {_described(after)}"


def _described(verdict: Verdict) -> str:
    return "; ".join(filter(None, (verdict.problem, verdict.output))) or f"reward {verdict.reward:g}"


async def _run_missing(
    results: Results, definition: Definition, tasks: Mapping[str, Task], course: Course, jobs: int, report: _Report
) -> None:
    """Run what has not been run before.

    Args:
        tasks: those that this machine can run, by name; others of the definition are left out.

    Raises:
        NotRunError: kaa could not ask the model.
        TaskError, SettingsError, OSError: as `run_attempt`.
    """
    done = {attempt.key for attempt in results.attempts() if attempt.outcome != "failed"}
    missing = [key for key in definition.runs() if key.task in tasks and key not in done]
    if done:
        report(f"{len(done)} runs are there already, {len(missing)} are missing")
    waiting = iter(enumerate(missing, start=1))  # all workers take from it

    async def work() -> None:
        for number, key in waiting:
            settings = definition.variants[key.variant]
            attempt = await run_attempt(key, tasks[key.task], settings, course, results.trace(key, fresh=True))
            results.append(attempt)
            if attempt.outcome == "failed" and attempt.turns == 0:
                raise NotRunError(f"{key}: kaa could not run: {attempt.problem}")
            report(f"[{number}/{len(missing)}] {_told(attempt)}")

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(jobs, len(missing))):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None  # the others ended because of it


def _told(attempt: Attempt) -> str:
    outcome = attempt.outcome if attempt.reason == "done" else f"{attempt.outcome} ({attempt.reason})"
    told = f"{attempt.key}: {outcome}, {attempt.turns} turns, {attempt.tokens:,} tokens, {attempt.seconds:.1f} s"
    return f"{told}; {attempt.problem}" if attempt.problem else told
