"""Changes to files that a step of a plan does not name: asks about them, or has the step fail (`plan.otherFiles`)."""

import os.path
from collections.abc import Sequence

from kaa.builtin.amounts import counted, listed
from kaa.builtin.plan import PlanState
from kaa.builtin.plan.document import Plan, Step, parse
from kaa.builtin.plan.kept import last_plan
from kaa.core.hooks import Block, Continue
from kaa.core.messages import ToolCall
from kaa.ext.api import Choice, Chosen, CommandContext, ConversationContext
from kaa.ext.errors import CommandError
from kaa.session.changed_paths import changed_paths

_THIS, _ANY, _NOT = "Change it", "Change any file in this step", "Do not change it"
_KEEP, _BACK, _FAIL = "Keep the changes", "Have them taken back", "Fail the step"
_MOST_SHOWN = 20


async def objection_to(call: ToolCall, context: ConversationContext) -> Block | None:
    """Why a call may not be made now; None if it may. The user is asked about files that the step does not name.

    Args:
        call: of any tool; it is about those that say which files they change.
    """
    kept = last_plan(context)
    number = None if kept is None or kept.phase != "executing" else parse(kept.text).next
    paths = changed_paths(call.name, call.arguments)
    if kept is None or number is None or not paths:
        return None
    step, allowed = parse(kept.text).steps[number], context.state(PlanState, PlanState).allowed
    files = [in_project(_absolute(path, context), context) for path in paths]
    others = [one for one in files if not os.path.isabs(one) and not step.covers(one)]
    if allowed is None or allowed.issuperset(others):
        return None
    file = named([one for one in others if one not in allowed])
    if not context.asker.can_ask:
        return Block(_refusal(step, number, file)) if context.other_files == "fail" else None
    question = Choice(
        f"Step {number + 1} of the plan does not name {file}. Change it?",
        options=(_THIS, _ANY, _NOT),
        details=_names(step),
    )
    match await context.asker.ask(question):
        case Chosen(option=option) if option == _THIS:
            allowed.update(others)
        case Chosen(option=option) if option == _ANY:
            context.state(PlanState, PlanState).allowed = None
        case _:
            return Block(f"The user does not want {file} changed in this step. {_names(step)}", denied=True)
    return None


async def after_step(plan: Plan, number: int, context: ConversationContext) -> Continue | str | None:
    """Look at what a step changed, now that its checks succeed; commands may have changed any file.

    Args:
        number: of the step, from 0.

    Returns:
        What the model is told, if the user wants changes taken back; why the step fails; or None, and the next step can
        begin.
    """
    step, state = plan.steps[number], context.state(PlanState, PlanState)
    try:
        now = await _digests(context)
    except CommandError as error:
        context.show.notice(f"It is not known which files step {number + 1} changed: {error}", "warning")
        return None
    earlier = plan.steps[:number] if state.before is None else ()
    before, allowed = state.before or {}, state.allowed
    kept = last_plan(context)
    own = "" if kept is None else in_project(kept.file, context)
    others = [
        path
        for path, digest in now.items()
        if before.get(path) != digest
        and not any(one.covers(path) for one in (*earlier, step))
        and path != own
        and allowed is not None
        and path not in allowed
    ]
    if others and (answer := await _answer(others, step, number, context)) is not None:
        return answer
    state.before, state.allowed = now, set()
    return None


async def digests(context: CommandContext) -> dict[str, int] | None:
    """Return a digest of each file that the conversation has changed until now, by path; None if that is not known."""
    try:
        return await _digests(context)
    except CommandError:
        return None


async def _digests(context: ConversationContext | CommandContext) -> dict[str, int]:
    changes = await context.changes()
    return {in_project(change.path, context): hash(change.after) for change in changes.files}


async def _answer(
    others: Sequence[str], step: Step, number: int, context: ConversationContext
) -> Continue | str | None:
    told = f"Step {number + 1} changed files that it does not name: {named(others)}"
    if not context.asker.can_ask:
        context.show.notice(told, "warning")
        return f"{told}. {_names(step)}" if context.other_files == "fail" else None
    question = Choice(
        f"Step {number + 1} of the plan changed {counted(len(others), 'file')} that it does not name. Keep that?",
        options=(_KEEP, _BACK, _FAIL),
        details="\n".join([*others[:_MOST_SHOWN], _names(step)]),
    )
    match await context.asker.ask(question):
        case Chosen(option=option) if option == _KEEP:
            return None
        case Chosen(option=option) if option == _BACK:
            return Continue(
                f"{told}. The user does not want that: take your changes to these files back, and do the step without"
                f" changing them. If it cannot be done so, say why and stop. {_names(step)}"
            )
        case _:
            return told


def in_project(path: str, context: ConversationContext | CommandContext) -> str:
    """A path from the project's directory; absolute if it is not in it."""
    return path.removeprefix(context.workspace.root.rstrip("/") + "/")


def _absolute(path: str, context: ConversationContext) -> str:
    return os.path.normpath(os.path.join(context.workspace.root, os.path.expanduser(path)))


def named(paths: Sequence[str]) -> str:
    """Paths, for people."""
    return listed(paths, _MOST_SHOWN)


def _refusal(step: Step, number: int, file: str) -> str:
    return (
        f"Step {number + 1} of the plan does not name {file}, and it may change only the files that it names."
        f" {_names(step)} If it cannot be done so, say why and stop."
    )


def _names(step: Step) -> str:
    return f"It names {', '.join(step.files)}." if step.files else "It names no files."
