"""Reads what was typed behind `/try`, and runs the attempts: each by an agent in a worktree of its own."""

import asyncio
import time
from math import inf

import msgspec

from kaa.builtin.acceptance import checks_in, options_in, run_checks
from kaa.builtin.agents.running import DEFINITIONS, MOST_AT_ONCE, tools_of
from kaa.builtin.amounts import counted
from kaa.core.budget import BudgetUsage
from kaa.ext.agents import AgentError, AgentResult
from kaa.ext.api import CommandContext, ConversationContext
from kaa.ext.errors import CommandError
from kaa.ext.session_services import WorktreeChanges

_LEAST = 2
_USAGE = "/try N TASK [--check COMMAND]... [--models A,B,...] [--take best]"
NAME = "try"
_STATUS = "try"
# All attempts are in one entry of the session.
_MOST_CHARACTERS = 3_000
_TASK = """\
{task}

You are one of several agents that attempt this task, each in its own copy of the project. The user compares the \
results and applies one of them. Nobody answers questions.{checks} Your last message says in a few sentences what you \
did and what you could not do.\
"""
_CHECKS = """\
 When you stop, these commands are run in your copy, and all have to succeed; do not change what they check in order \
to have them succeed:
{checks}
"""


class Wanted(msgspec.Struct, frozen=True):
    """What is to be attempted.

    Attributes:
        checks: commands that show whether a result is good.
        models: of the attempts, in turns, as `--model` takes them; empty for that of the conversation.
        takes_best: the best result is merged without a question.
    """

    task: str
    count: int
    checks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    takes_best: bool = False

    def model(self, number: int) -> str | None:
        """That of an attempt, which counts from 1; None for that of the conversation."""
        return self.models[(number - 1) % len(self.models)] if self.models else None


def wanted_in(typed: str) -> Wanted:
    """Read what was typed behind `/try`.

    Raises:
        CommandError: it cannot be read, or something is missing.
    """
    text, options = options_in(typed, "check", "models", "take")
    number, _, task = text.partition(" ") if " " in text else (text, "", "")
    if not number.isdecimal():
        raise CommandError(f"Say how many agents are to attempt it: {_USAGE}")
    if not _LEAST <= (count := int(number[:4])) <= MOST_AT_ONCE:
        raise CommandError(f"{number[:20]} agents cannot attempt it at once: use {_LEAST} to {MOST_AT_ONCE}")
    if not task.strip():
        raise CommandError(f"Say what is to be attempted: {_USAGE}")
    for name in ("models", "take"):
        if sum(one == name for one, _ in options) > 1:
            raise CommandError(f"--{name} is there twice: use it once")
    given = dict(options)
    checks = checks_in(options)
    if "take" in given and given["take"] != "best":
        raise CommandError(f"invalid value {given['take']!r} of --take: use best")
    if "take" in given and not checks:
        raise CommandError("--take best needs a --check COMMAND: nothing else tells which result is good")
    return Wanted(task.strip(), count, checks, _models(given, count), "take" in given)


def _models(given: dict[str, str], count: int) -> tuple[str, ...]:
    if "models" not in given:
        return ()
    models = tuple(one.strip() for one in given["models"].split(","))
    if not all(models):
        raise CommandError("--models names an empty model: use --models A,B")
    if len(models) > count:
        raise CommandError(f"--models names {len(models)} models for {count} attempts: leave some out")
    return models


class AttemptResult(msgspec.Struct, rename="camel", frozen=True):
    """What came of an attempt, as the session keeps it.

    Attributes:
        number: from 1.
        state: `done`; why its agent ended otherwise, as `RunEndReason` has it; `budget` also if the time was used up
            before its checks had ended; or `failed`.
        agent: its id; empty if it did not begin.
        worktree: what has its changes; empty if it changed nothing.
        model: as the user named it; empty for that of the conversation.
        passed: how many checks succeeded; None if none was run.
        seconds: how long it took, with its checks.
        message: its last message, or why it failed.
        missing: what checks said that did not succeed.
    """

    number: int
    state: str
    agent: str = ""
    worktree: str = ""
    model: str = ""
    passed: int | None = None
    changes: WorktreeChanges = WorktreeChanges()
    used: BudgetUsage = BudgetUsage()
    seconds: float = 0.0
    message: str = ""
    missing: str = ""


async def run_attempts(wanted: Wanted, context: CommandContext) -> list[AttemptResult]:
    """Run all attempts to their end. One that fails stops no other."""
    ended = 0
    budget = context.budget.limits("run")
    purse = context.pooled(budget)  # all of it is one run for the user
    until = time.monotonic() + (inf if budget.seconds is None else budget.seconds)

    def show(status: str) -> None:
        if context.asker.can_ask:  # somebody looks
            context.show.status(_STATUS, status, "accent")

    async def attempt(number: int) -> AttemptResult:
        nonlocal ended
        result = await _attempt(number, wanted, context, purse, until)
        ended += 1
        show(f"/try: {ended} of {wanted.count} ended")
        context.show.notice(in_short(result, wanted))
        return result

    show(f"/try: {wanted.count} attempts")
    try:
        async with asyncio.TaskGroup() as attempts:
            tasks = [attempts.create_task(attempt(number)) for number in range(1, wanted.count + 1)]
    finally:
        show("")
    return [task.result() for task in tasks]


def in_short(attempt: AttemptResult, wanted: Wanted) -> str:
    """An attempt in a line, for people."""
    changes = attempt.changes
    facts = [
        attempt.state,
        "" if attempt.passed is None or not wanted.checks else f"{attempt.passed} of {len(wanted.checks)} checks",
        f"{counted(changes.files, 'file')} +{changes.added} -{changes.removed}" if attempt.worktree else "no changes",
        attempt.model,
    ]
    named = f" ({attempt.agent})" if attempt.agent else ""
    why = f": {attempt.message.splitlines()[0]}" if attempt.state == "failed" and attempt.message else ""
    return f"Attempt {attempt.number}{named}: {', '.join(filter(None, facts))}{why}"


async def _attempt(
    number: int, wanted: Wanted, context: CommandContext, purse: ConversationContext, until: float
) -> AttemptResult:
    began = time.monotonic()
    checks = _CHECKS.format(checks="\n".join(f"- `{one}`" for one in wanted.checks)) if wanted.checks else ""
    model = wanted.model(number)
    try:
        result = await purse.run_agent(
            _TASK.format(task=wanted.task, checks=checks),
            name=f"{NAME}-{number}",
            model=model,
            tools=tools_of(DEFINITIONS["general"], context.active_tools, context.deferred_tools),
            writable=None,
            hosts=None,
            isolated=True,
        )
    except AgentError as error:
        if error.result is None:
            return AttemptResult(number, "failed", model=model or "", message=str(error))
        result = error.result
    attempt = AttemptResult(
        number,
        result.reason,
        result.agent,
        model=model or "",
        used=result.used,
        message=result.text.strip()[:_MOST_CHARACTERS],
    )
    if result.worktree:
        attempt = await _looked_at(attempt, result, wanted, context, until)
    return msgspec.structs.replace(attempt, seconds=round(time.monotonic() - began, 1))


async def _looked_at(
    attempt: AttemptResult, result: AgentResult, wanted: Wanted, context: CommandContext, until: float
) -> AttemptResult:
    """The attempt with what is in its worktree, after the checks were run there: they may change something, too."""
    try:
        async with context.in_worktree(result.worktree) as inside:
            found = [await run_checks((one,), inside, until) for one in wanted.checks]
            cut_short = time.monotonic() >= until and any(one.missing for one in found)
            changes = await context.worktrees.changes(result.worktree)
    except (AgentError, CommandError) as error:
        return msgspec.structs.replace(attempt, state="failed", worktree=result.worktree, message=str(error))
    return msgspec.structs.replace(
        attempt,
        state="budget" if cut_short else attempt.state,
        worktree=result.worktree if changes.files or changes.left_out else "",
        passed=sum(not one.missing for one in found),
        changes=changes,
        missing="\n\n".join(one.missing for one in found if one.missing)[:_MOST_CHARACTERS],
    )
