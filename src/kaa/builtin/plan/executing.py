"""Executes plans: gives the model one step after the other, and runs the checks of each when the model stops."""

from functools import partial
from shlex import quote

import msgspec

from kaa.builtin.acceptance import run_checks
from kaa.builtin.amounts import counted
from kaa.builtin.plan import WORK_KIND, PlanState
from kaa.builtin.plan.document import Plan, Step, parse
from kaa.builtin.plan.kept import KeptPlan, keep, last_plan
from kaa.builtin.plan.other_files import after_step, digests, in_project, named
from kaa.core.hooks import Continue, GiveUp
from kaa.ext.api import CommandContext, ConversationContext
from kaa.workspace.protocol import ContentChangedError, FileDigest

_MOST_TRIES = 5
_MOST_STILL = 2
_MOST_WHY_CHARACTERS = 1_000
_STATUS = "plan"

_EXECUTE = """\
Execute this plan, one step at a time. When you stop, kaa runs the checks of the step and gives you the next one. Do \
what the present step says and nothing of later ones. Change other files than the step names only if it cannot be done \
otherwise, and do not change what a check checks in order to have it succeed. If a step cannot be done as planned, say \
why and stop.

<plan>
{plan}</plan>

Now step {number}: {title}\
"""


async def begin(kept: KeptPlan, context: CommandContext) -> str:
    """Begin with the first step that is not done, or go on with it. Returns the prompt.

    Args:
        kept: the plan, of which a step is not done.

    Raises:
        CommandError: the session cannot be written.
    """
    plan = parse(kept.text)
    number = plan.next
    assert number is not None
    goes_on = kept.phase == "executing"
    plan = plan.at(number, "in progress")
    kept = msgspec.structs.replace(kept.with_plan(plan), phase="executing", tries=0, still=0, seen="", why="")
    state = context.state(PlanState, PlanState)
    state.began = None if goes_on else await digests(context)  # files keep what was done before
    state.before, state.allowed = state.began, set()
    keep(kept, context)
    state.executing = True
    _show(plan, number, kept.file, context)
    return _EXECUTE.format(plan=plan.text, number=number + 1, title=plan.steps[number].title)


async def check_step(context: ConversationContext) -> Continue | GiveUp | None:
    """Check the present step, now that the model would stop, and go on."""
    kept = last_plan(context)
    number = None if kept is None or kept.phase != "executing" else parse(kept.text).next
    if kept is None or number is None:
        context.state(PlanState, PlanState).executing = False  # the user went elsewhere in the session
        context.show.status(_STATUS, "")
        return None
    plan = parse(kept.text)
    step = plan.steps[number]
    found = await run_checks(step.checks, context)
    if not found.missing and context.other_files != "report":
        match await after_step(plan, number, context):
            case str(why):
                return await _failed(kept, plan.at(number, "failed"), number, why, context)
            case Continue() as answer if kept.tries + 1 < _MOST_TRIES:
                keep(msgspec.structs.replace(kept, tries=kept.tries + 1), context)
                return answer
            case Continue(reason=why):
                return await _failed(kept, plan.at(number, "failed"), number, why, context)
            case None:
                pass
    if not found.missing:
        return await _next(kept, plan.at(number, "done"), number, context)
    tries, still = kept.tries + 1, kept.still + 1 if found.digest == kept.seen else 0
    if found.failed or tries >= _MOST_TRIES or still >= _MOST_STILL:
        return await _failed(kept, plan.at(number, "failed"), number, found.missing, context)
    keep(msgspec.structs.replace(kept, tries=tries, still=still, seen=found.digest), context)
    return Continue(f"Step {number + 1} is not done:\n\n{found.missing}\n\nCorrect the cause.")


async def _next(kept: KeptPlan, plan: Plan, number: int, context: ConversationContext) -> Continue | None:
    following = plan.next
    if following is not None:
        plan = plan.at(following, "in progress")
    phase = "executing" if following is not None else "done"
    if checks := plan.steps[number].checks:
        context.show.notice(f"Step {number + 1} is done: {', '.join(f'`{one}`' for one in checks)} succeeded.")
    kept = msgspec.structs.replace(kept.with_plan(plan), phase=phase, tries=0, still=0, seen="")
    keep(await _written(kept, context), context)
    if following is not None:
        _show(plan, following, kept.file, context)
        return Continue(_go_on(number, following, plan.steps[following]), progress=True)
    context.show.notice(f"Plan executed: {counted(len(plan.steps), 'step')} done. {plan.goal}{_unchecked(plan)}")
    _end(plan, kept, context)
    return None


async def _failed(kept: KeptPlan, plan: Plan, number: int, why: str, context: ConversationContext) -> GiveUp:
    kept = msgspec.structs.replace(kept.with_plan(plan), phase="failed", why=why)
    keep(await _written(kept, context), context)
    _end(plan, kept, context)
    cut = "…" if len(why) > _MOST_WHY_CHARACTERS else ""
    again = f" (without a terminal: kaa plan run {kept.file})" if kept.file else ""
    return GiveUp(
        f"Step {number + 1} of the plan failed: {plan.steps[number].title}\n{why[:_MOST_WHY_CHARACTERS]}{cut}\n"
        f"/plan revise returns it to the planner, /plan run tries again{again}"
    )


def _end(plan: Plan, kept: KeptPlan, context: ConversationContext) -> None:
    context.state(PlanState, PlanState).executing = False
    context.show.status(_STATUS, "")
    context.when_idle(partial(_report_others, plan, kept.file))


async def _report_others(plan: Plan, file: str, context: CommandContext) -> None:
    """Name the files that changed although no step names them."""
    before = context.state(PlanState, PlanState).began or {}
    now = await digests(context) or {}
    changed = (path for path, digest in now.items() if before.get(path) != digest)
    others = [path for path in changed if not plan.covers(path) and path != in_project(file, context)]
    if others:
        context.show.notice(f"Changed, but not named by the plan: {named(others)}. /diff shows the changes.", "warning")


async def _written(kept: KeptPlan, context: ConversationContext) -> KeptPlan:
    """Write the states into the file of the plan, unless somebody changed it meanwhile. Returns what to keep."""
    if not kept.file:
        return kept
    try:
        await context.workspace.write(kept.file, kept.text.encode(), expected=FileDigest(kept.digest))
    except ContentChangedError:
        reason = "it was changed meanwhile"
    except OSError as error:
        reason = str(error)
    else:
        content = await context.workspace.read(kept.file)
        return msgspec.structs.replace(kept, digest=content.digest or "")
    context.show.notice(f"The state of the plan is not written into {kept.file}: {reason}. /plan shows it.", "warning")
    return msgspec.structs.replace(kept, file="", digest="")


def _show(plan: Plan, number: int, file: str, context: CommandContext | ConversationContext) -> None:
    """Show which step is executed, and note it for the case that kaa is killed meanwhile."""
    step = f"step {number + 1}/{len(plan.steps)}: {plan.steps[number].title}"
    context.show.status(_STATUS, f"executing {step}", "success")
    command = f"/plan run {quote(in_project(file, context) or file)}" if file else "/plan run"
    context.session.note_work(
        WORK_KIND,
        f"`{command}`, {step}. The same command continues with this step; `/diff` shows what was changed, `/undo` takes"
        " it back.",
    )
    context.state(PlanState, PlanState).noted = True


def _go_on(done: int, number: int, step: Step) -> str:
    return f"Step {done + 1} is done. Now step {number + 1}:\n\n{step.text}"


def _unchecked(plan: Plan) -> str:
    numbers = [str(number) for number, step in enumerate(plan.steps, 1) if not step.checks]
    return f"\nWithout a check, so kaa cannot tell: {', '.join(numbers)}." if numbers else ""
