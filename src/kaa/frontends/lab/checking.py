"""`kaa lab check`: of each task, the check fails before anything is done, and passes with the reference solution."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, TypeAlias

import msgspec

from kaa.frontends.lab.running import Report
from kaa.frontends.lab.scene import Scene, Verdict
from kaa.frontends.lab.tasks import Task, TaskError

# Gives a task its scene as long as a block lasts.
SetUp: TypeAlias = Callable[[Task], AbstractAsyncContextManager[Scene]]


class Finding(msgspec.Struct, frozen=True):
    """What a check of a task found."""

    task: str
    state: Literal["ok", "bad", "skipped"]
    reason: str = ""


async def check_all(tasks: Sequence[Task], set_up: SetUp, jobs: int, report: Report) -> list[Finding]:
    """Check tasks, some at a time.

    Args:
        tasks: which.
        set_up: called twice for each.
        jobs: how many at a time.
        report: told of each.
    """
    free = asyncio.Semaphore(jobs)

    async def checked(task: Task) -> Finding:
        async with free:
            finding = await _check(task, set_up)
        report(f"{finding.state:7}  {task.name}" + (f": {finding.reason}" if finding.reason else ""))
        return finding

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(checked(task)) for task in tasks]
    return [one.result() for one in running]


async def _check(task: Task, set_up: SetUp) -> Finding:
    if task.missing:
        return Finding(task.name, "skipped", f"needs {', '.join(task.missing)}")
    try:
        reason = await _wrong(task, set_up)
    except (TaskError, OSError) as error:
        reason = str(error)
    return Finding(task.name, "bad" if reason else "ok", reason)


async def _wrong(task: Task, set_up: SetUp) -> str:
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
