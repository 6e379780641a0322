"""Carries out `/try`: runs the attempts, shows the comparison, and merges what the user chooses."""

from collections.abc import Sequence

import msgspec

from kaa.builtin.amounts import counted, dollars, listed
from kaa.builtin.attempts.running import NAME, AttemptResult, Wanted, in_short, run_attempts, wanted_in
from kaa.builtin.columns import aligned
from kaa.core.display_values import DisplayValue, Table, Text
from kaa.ext.api import Choice, Chosen, CommandContext, Reply
from kaa.ext.errors import CommandError, OverBudgetError
from kaa.ext.session_services import WorktreeMerge
from kaa.workspace.blocked import visible

_KIND = "attempts"
_MERGE, _DIFF, _BACK = "Merge", "Show the diff", "Back"
_NONE = "None of them"
_KEEP, _DROP = "Keep them", "Drop them"
_MOST_LINES = 40
_MOST_TASK_CHARACTERS = 100
_MOST_LEFT_OUT = 20
_MOST_DIFF_CHARACTERS = 60_000


class _Trying(msgspec.Struct):
    """Whether a conversation has agents attempt something at present."""

    is_under_way: bool = False


async def try_command(arguments: str, context: CommandContext) -> Reply:
    """Run /try.

    Raises:
        CommandError: nothing can be attempted, nothing came of it, or it was stopped; the message says why.
    """
    wanted = wanted_in(arguments)
    trying = context.state(_Trying, _Trying)
    if trying.is_under_way:
        raise CommandError("agents attempt something already: wait for them, or stop them with Esc or /agents stop ID")
    if obstacle := await context.worktrees.obstacle():
        raise CommandError(f"nothing can be attempted here: {obstacle}")
    for model in wanted.models:
        await context.models.find(model)
    context.session.note_work(
        _KIND, f"/try with {counted(wanted.count, 'attempt')}: {_shortened(wanted.task)}. The same command starts anew."
    )
    try:
        return await _taken(await _attempted(wanted, trying, context), wanted, context)
    finally:
        context.session.note_work(_KIND, "")


async def _attempted(wanted: Wanted, trying: _Trying, context: CommandContext) -> Sequence[AttemptResult]:
    """Run the attempts. If they are stopped, say what stays."""
    trying.is_under_way = True
    before = context.worktrees.names
    try:
        return await run_attempts(wanted, context)
    except BaseException:
        left = [one for one in context.worktrees.names if one not in before and one.startswith(f"{NAME}-")]
        if left:
            context.show.notice(
                f"Stopped. `kaa worktrees` has what was changed until now: {', '.join(left)}", "warning"
            )
        raise
    finally:
        trying.is_under_way = False


async def _taken(attempts: Sequence[AttemptResult], wanted: Wanted, context: CommandContext) -> Reply:
    """Show the comparison, and take over what is to be taken over."""
    context.session.append(
        {"task": wanted.task, "checks": list(wanted.checks), "attempts": msgspec.to_builtins(attempts)},
        _KIND,
        display=_comparison(attempts, wanted),
    )
    # Where nobody can be asked, nothing shows display values but JSON.
    table = "" if context.asker.can_ask else f"{_comparison_as_text(attempts, wanted)}\n\n"
    over_budget = any(one.state == "budget" for one in attempts)
    error = OverBudgetError if over_budget else CommandError
    if not any(one.worktree for one in attempts):
        raise error(f"{table}No attempt changed anything, so there is nothing to apply.")
    if wanted.takes_best:
        taken = _best(attempts, wanted)
        if taken is None:
            raise error(f"{table}No attempt passes all checks, so nothing was merged. {_by_hand(attempts)}")
        merged = await _merged(taken, None, wanted, context)
        return Reply(f"{table}{merged}\n{_by_hand(attempts, taken)}".rstrip(), over_budget)
    if not context.asker.can_ask:
        return Reply(f"{table}Nothing was merged. {_by_hand(attempts)}", over_budget)
    chosen = await _choose(attempts, wanted, context)
    taken = None if chosen is None else chosen[0]
    lines = ["Nothing was merged."] if chosen is None else [await _merged(*chosen, wanted, context)]
    lines.append(await _without_others(attempts, taken, context))
    return Reply("\n".join(filter(None, lines)), over_budget)


async def _choose(
    attempts: Sequence[AttemptResult], wanted: Wanted, context: CommandContext
) -> tuple[AttemptResult, WorktreeMerge] | None:
    """Ask which attempt is to be merged. Returns it with what was shown of its merge; None for none."""
    recommended = _best(attempts, wanted)
    ranked = sorted((one for one in attempts if one.worktree), key=lambda one: one is not recommended)
    found = {f"Attempt {one.number}": one for one in ranked}
    facts = {name: in_short(one, wanted).partition(": ")[2] for name, one in found.items()}
    if recommended is not None and wanted.checks:
        facts[f"Attempt {recommended.number}"] += "; smallest that passes all checks"
    question = Choice(
        "Which attempt do you want to apply?",
        options=(*found, _NONE),
        descriptions=(*facts.values(), "nothing is merged"),
        details=f"`kaa worktrees diff {next(iter(found.values())).worktree}` shows changes in another terminal.",
    )
    while isinstance(answer := await context.asker.ask(question), Chosen) and answer.option in found:
        if (agreed := await _agreed(chosen := found[answer.option], context)) is not None:
            return chosen, agreed
    return None


def _hindrance(preview: WorktreeMerge) -> str:
    """Return why nothing can be merged, or an empty text."""
    if preview.conflicts:
        return f"you changed {', '.join(map(visible, preview.conflicts))} meanwhile"
    if preview.obstacles:
        return f"it would replace {', '.join(map(visible, preview.obstacles))}, which git ignores or cannot read"
    return ""


async def _agreed(attempt: AttemptResult, context: CommandContext) -> WorktreeMerge | None:
    """Show what merging an attempt would do, and ask whether to do it. Returns what was shown; None for no."""
    preview = await context.worktrees.preview(attempt.worktree)
    if stopped := _hindrance(preview):
        context.show.notice(f"Attempt {attempt.number} cannot be merged: {stopped}.", "warning")
        return None
    lines = preview.summary.splitlines() or ["The project has all of it already."]
    command = f"`kaa worktrees diff --stat {attempt.worktree}` in another terminal lists all"
    more = [f"and {len(lines) - _MOST_LINES} more lines: {command}"] if len(lines) > _MOST_LINES else []
    named = visible(listed(preview.left_out, _MOST_LEFT_OUT))
    left_out = [f"Not merged, git ignores or cannot add it: {named}"] if named else []
    question = Choice(
        f"Merge attempt {attempt.number} into the project?",
        options=(_DIFF, _MERGE, _BACK),
        details="\n".join([*lines[:_MOST_LINES], *more, *left_out]),
    )
    answer = await context.asker.ask(question)
    if isinstance(answer, Chosen) and answer.option == _DIFF:
        diff = await context.worktrees.diff(attempt.worktree, preview)
        answer = await context.asker.ask(_with_diff(question, diff, attempt))
    return preview if isinstance(answer, Chosen) and answer.option == _MERGE else None


def _with_diff(question: Choice, diff: str, attempt: AttemptResult) -> Choice:
    """The same question with the diff to read."""
    details = question.details
    if (missing := len(diff) - _MOST_DIFF_CHARACTERS) > 0:
        details += (
            f"\nThe diff is cut: {missing:,} more characters. `kaa worktrees diff {attempt.worktree}` in another"
            " terminal shows all of it."
        )
    return Choice(question.title, options=(_BACK, _MERGE), details=details, diff=diff[:_MOST_DIFF_CHARACTERS])


async def _merged(attempt: AttemptResult, agreed: WorktreeMerge | None, wanted: Wanted, context: CommandContext) -> str:
    """Merge an attempt as it was shown, and say so to the model. Returns what to tell the user."""
    merge = await context.worktrees.merge(attempt.worktree, agreed)
    summary = merge.summary.strip() or "(no changes)"
    context.session.add_message(
        f"[try] Agents attempted a task of the user's: {wanted.task}\n\nAttempt {attempt.number} was applied. Its"
        f" changes are in the project now:\n{summary}\n\nIt reported:\n{attempt.message}",
        _KIND,
        display=False,
    )
    last = summary.splitlines()[-1].strip()
    return (
        f"Attempt {attempt.number} is merged: {last}. Nothing is committed;"
        f" `kaa worktrees merge --undo {attempt.worktree}` takes that back."
    )


async def _without_others(
    attempts: Sequence[AttemptResult], taken: AttemptResult | None, context: CommandContext
) -> str:
    """Ask what becomes of the worktrees that were not taken over. Returns what to tell the user."""
    others = [one for one in attempts if one.worktree and one is not taken]
    if not others:
        return ""
    what = "the worktree" if len(others) == 1 else f"the {len(others)} worktrees"
    whose = "attempt" if len(others) == 1 else "attempts"
    question = Choice(
        f"Keep {what} of the {'other ' if taken is not None else ''}{whose}?",
        options=(_KEEP, _DROP),
        descriptions=("`kaa worktrees` lists, merges and drops them", "their changes are lost"),
        details="\n".join(one.worktree for one in others),
    )
    answer = await context.asker.ask(question)
    if not isinstance(answer, Chosen) or answer.option != _DROP:
        return _by_hand(attempts, taken)
    kept = []
    for one in others:
        try:
            await context.worktrees.drop(one.worktree)
        except CommandError as error:
            kept.append(f"{one.worktree} was not dropped: {error}")
    return "\n".join([f"Dropped {counted(len(others) - len(kept), 'worktree')}.", *kept])


def _shortened(task: str) -> str:
    line = " ".join(task.split())
    return line if len(line) <= _MOST_TASK_CHARACTERS else f"{line[:_MOST_TASK_CHARACTERS]}…"


def _by_hand(attempts: Sequence[AttemptResult], taken: AttemptResult | None = None) -> str:
    """How the user gets at the worktrees that were not taken over; empty for none."""
    names = [one.worktree for one in attempts if one.worktree and one is not taken]
    if not names:
        return ""
    return (
        f"Worktrees that stay: {', '.join(names)}. `kaa worktrees diff NAME`, `merge NAME` and `drop NAME` handle them."
    )


_MOST_MESSAGE_CHARACTERS = 400
_MOST_MISSING_CHARACTERS = 800


def _best(attempts: Sequence[AttemptResult], wanted: Wanted) -> AttemptResult | None:
    """The attempt with the smallest changes among those that ended well and pass all checks; None if there is none."""
    good = [one for one in attempts if one.changes.files and one.state == "done" and one.passed == len(wanted.checks)]
    return min(
        good, key=lambda one: (one.changes.added + one.changes.removed, one.changes.files, one.number), default=None
    )


def _comparison(attempts: Sequence[AttemptResult], wanted: Wanted) -> list[DisplayValue]:
    """The comparison, for frontends that show display values."""
    head, *rows = _rows(attempts, wanted)
    return [Table(tuple(head), tuple(map(tuple, rows))), *(Text(one, "muted") for one in _messages(attempts))]


def _comparison_as_text(attempts: Sequence[AttemptResult], wanted: Wanted) -> str:
    """The comparison as text."""
    return "\n".join([*aligned(_rows(attempts, wanted), left=2), "", *_messages(attempts)])


def _rows(attempts: Sequence[AttemptResult], wanted: Wanted) -> list[list[str]]:
    columns = {
        "": [str(one.number) for one in attempts],
        "Ended": [one.state for one in attempts],
        "Checks": [
            "-" if one.passed is None or not wanted.checks else f"{one.passed}/{len(wanted.checks)}" for one in attempts
        ],
        "Files": [str(one.changes.files) for one in attempts],
        "Lines": [f"+{one.changes.added} -{one.changes.removed}" for one in attempts],
        "Tokens": [f"{one.used.tokens:,}" for one in attempts],
        "Cost": [dollars(None if one.used.unpriced else one.used.cost) for one in attempts],
        "Time": [f"{one.seconds:.0f} s" for one in attempts],
    }
    if wanted.models:
        columns["Model"] = [one.model for one in attempts]
    return [list(columns), *(list(row) for row in zip(*columns.values(), strict=True))]


def _messages(attempts: Sequence[AttemptResult]) -> list[str]:
    """What the attempts say, the checks that do not succeed, and files that no merge takes over."""
    lines = []
    for one in attempts:
        named = one.worktree or one.agent
        said = _cut(one.message or "(it said nothing)", _MOST_MESSAGE_CHARACTERS)
        lines.append(f"{one.number}{f' ({named})' if named else ''}: {said}")
        if one.missing:
            lines.append(_cut(one.missing, _MOST_MISSING_CHARACTERS))
        if one.changes.left_out:
            left_out = f"Not merged, because git ignores or cannot add it: {', '.join(one.changes.left_out)}"
            lines.append(_cut(left_out, _MOST_MESSAGE_CHARACTERS))
    return lines


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
