"""Makes plans: tells the model what is wanted, and takes the plan out of its reply."""

from functools import partial

import msgspec

from kaa.builtin.amounts import counted
from kaa.builtin.plan import PlanState
from kaa.builtin.plan.document import FORM, Plan, PlanError, begins_like_plan, find, parse
from kaa.builtin.plan.kept import KeptPlan, keep
from kaa.core.hooks import Continue, GiveUp
from kaa.core.messages import AssistantMessage
from kaa.ext.api import CommandContext, ConversationContext
from kaa.ext.errors import CommandError

_MOST_REJECTED = 2
_MOST_REJECTED_BEGINNINGS = 1  # such a text may be meant as an answer

_PLANNING = f"""\
[Plan mode] You plan now: nothing can be changed, and nobody is asked for permission. Explore with commands that only \
read. If a decision belongs to the user, ask in your reply. When you know enough, reply with the whole plan and \
nothing else, in this form, and with all of it again whenever it changes:

{FORM}

A step leaves the project working. Its check is a command that fails before the step and succeeds after it; kaa runs \
it. Write `Check: none` only if no command can show it. If the user only asks something, answer without a plan.\
"""
_WORKING = "[Plan mode is over] You can change files again."


def note_of(*, plans: bool) -> str:
    """What the model is told of the mode."""
    return _PLANNING if plans else _WORKING


def take_plan(reply: AssistantMessage, context: ConversationContext) -> Continue | GiveUp | None:
    """Keep the plan in a reply, if there is one.

    One that cannot be read goes back to the model twice, a text that only begins like a plan once.
    """
    state = context.state(PlanState, PlanState)
    text, most = find(reply.text), _MOST_REJECTED
    if not text and begins_like_plan(reply.text):
        text, most = reply.text, _MOST_REJECTED_BEGINNINGS
    if not text:
        state.rejected = 0
        if state.target and not context.asker.can_ask:
            return GiveUp(f"The reply has no step (`## 1. What the step does`), so {state.target} was not written")
        return None
    try:
        plan = parse(text)
    except PlanError as error:
        state.rejected += 1
        if state.rejected > most:
            state.rejected = 0
            return GiveUp(f"The plan cannot be read:\n{error}")
        return Continue(f"kaa cannot read this plan:\n{error}\nReply with the whole plan again.")
    state.rejected = 0
    keep(KeptPlan(plan.text), context)
    context.show.notice(_summary(plan), "info")
    if state.target:
        context.when_idle(partial(write_target, plan.text))
    return None


async def write_target(text: str, context: CommandContext) -> None:
    """Write a plan into the file that was named for it.

    Raises:
        CommandError: it cannot be written.
    """
    state = context.state(PlanState, PlanState)
    await save(text, state.target, context, force=state.written)
    state.written = True


async def save(text: str, name: str, context: CommandContext, *, force: bool) -> str:
    """Write a plan into a file of the user's. Returns its path.

    Raises:
        CommandError: it cannot be written.
    """
    from kaa.session.export.request import ExportError  # lazy: few plans are saved

    try:
        return await context.exporting.write_text(name, text, force=force)
    except ExportError as error:
        raise CommandError(str(error)) from error


def edited(kept: KeptPlan, text: str) -> KeptPlan:
    """The plan as the user left it.

    Raises:
        PlanError: it is none.
    """
    return msgspec.structs.replace(kept.with_plan(parse(text)), tries=0, still=0, seen="")


def _summary(plan: Plan) -> str:
    unchecked = [str(number) for number, step in enumerate(plan.steps, 1) if not step.checks]
    lines = [f"Plan with {counted(len(plan.steps), 'step')}. /plan run executes it, /plan edit changes it."]
    if unchecked:
        steps = "Step" if len(unchecked) == 1 else "Steps"
        verb = "has" if len(unchecked) == 1 else "have"
        lines.append(f"{steps} {', '.join(unchecked)} {verb} no check: kaa cannot tell whether the work is done.")
    return "\n".join(lines)
