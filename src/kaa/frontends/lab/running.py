"""All runs of a lab: some at a time, each kept as soon as it has ended."""

import asyncio
from collections.abc import Callable, Iterator, Mapping

from kaa.frontends.lab.attempt import Course, run_attempt
from kaa.frontends.lab.results import Attempt, Definition, Results, RunKey
from kaa.frontends.lab.tasks import Task

Report = Callable[[str], None]


class NotRunError(Exception):
    """kaa could not ask the model at all; the message says why. Other runs would fail likewise."""


async def run_missing(
    results: Results, definition: Definition, tasks: Mapping[str, Task], course: Course, jobs: int, report: Report
) -> None:
    """Run what has not been run before.

    Args:
        tasks: those that this machine can run, by name; others of the definition are left out.
        jobs: how many at a time.
        report: told of each run that ended.

    Raises:
        NotRunError: see there.
        TaskError, SettingsError, OSError: as `run_attempt`.
    """
    done = {attempt.key for attempt in results.attempts() if attempt.outcome != "failed"}
    missing = [key for key in definition.runs() if key.task in tasks and key not in done]
    if done:
        report(f"{len(done)} runs are there already, {len(missing)} are missing")
    waiting = iter(enumerate(missing, start=1))

    async def work() -> None:
        for number, key in _taken(waiting):
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


def _taken(waiting: Iterator[tuple[int, RunKey]]) -> Iterator[tuple[int, RunKey]]:
    """What this worker takes, one after another; all take from the same."""
    yield from waiting


def _told(attempt: Attempt) -> str:
    outcome = attempt.outcome if attempt.reason == "done" else f"{attempt.outcome} ({attempt.reason})"
    told = f"{attempt.key}: {outcome}, {attempt.turns} turns, {attempt.tokens:,} tokens, {attempt.seconds:.1f} s"
    return f"{told}; {attempt.problem}" if attempt.problem else told
