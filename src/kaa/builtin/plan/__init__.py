"""`/plan`: kaa plans where nothing can be changed, the user approves, and kaa checks each step that is executed.

The mode `plan` of approvals holds the planner (`kaa.shell.permissions`); a plan is the reply that has its form.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from kaa.core import events
from kaa.core.hooks import Block, Continue, GiveUp
from kaa.core.messages import AssistantMessage, ToolCall, UserMessage
from kaa.ext.api import CommandAction, CommandContext, ConversationContext, ExtensionAPI, SessionEnd, Suggestion

if TYPE_CHECKING:
    from kaa.builtin.plan.commands import ExecutionLock

MODE: Final = "plan"
CHANGING_NOTHING: Final = (MODE, "read-only")
"""The modes in which no plan can be executed."""
NOTE_KIND: Final = "plan-mode"
WORK_KIND: Final = "plan"
"""The kind of work that is noted while a step is executed."""
_WORDS = ("run", "edit", "save", "revise", "off")


class PlanState(msgspec.Struct):
    """What a conversation has to do with plans at present; the plan itself is in the session.

    Attributes:
        told: whether the model was told last that it plans; None: that is not known.
        executing: it executes the plan of this branch.
        rejected: how many replies in a row looked like a plan and were none.
        target: a file that gets each plan; empty for none.
        written: the target was written by this conversation.
        allowed: files that the present step may change although it does not name them; None: any file.
        before: a digest of each file that had changed before the present step, by path; None: that is not known.
        began: the same before the first step that this conversation executed.
        lock: keeps others from executing the plan of the same file.
        noted: the session notes that a step is under way.
    """

    told: bool | None = None
    executing: bool = False
    rejected: int = 0
    target: str = ""
    written: bool = False
    allowed: set[str] | None = msgspec.field(default_factory=set)
    before: dict[str, int] | None = None
    began: dict[str, int] | None = None
    lock: "ExecutionLock | None" = None
    noted: bool = False


def extend(api: ExtensionAPI) -> None:
    """Register the command, and what follows plans through runs."""
    about = "Plan a task where nothing can be changed; show, edit, save or execute the plan"
    hint = "[TASK|run [FILE] [MODE]|edit|save FILE|revise|off]"
    api.register_command("plan", about, _plan, argument_hint=hint, complete=_suggest)
    api.on_user_message(_tell_mode)
    api.before_tool(_guard)
    api.before_end(_look)
    api.carry_through_compaction("plan", _carried)
    api.on_event(events.BranchChanged)(_forget_told)
    api.on_event(events.CompactionEnd)(_forget_told)
    api.on_event(events.AgentEnd)(_release)
    api.on_session_end(_end)


async def _plan(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.plan.commands import plan_command  # lazy, as below: few conversations plan

    return await plan_command(arguments, context)


def _suggest(typed: str, context: CommandContext) -> Sequence[Suggestion]:
    if typed.startswith("run "):
        before, _, last = typed.rpartition(" ")
        modes = {mode: about for mode, about in context.approvals.policies.items() if mode not in CHANGING_NOTHING}
        return [Suggestion(f"{before} {mode}", about) for mode, about in modes.items() if mode.startswith(last)]
    return [Suggestion(word) for word in _WORDS if word.startswith(typed)]


async def _tell_mode(_message: UserMessage, context: ConversationContext) -> None:
    """Tell the model, before the user's message, that it plans, or does so no longer."""
    state, plans = context.state(PlanState, PlanState), context.approval_mode == MODE
    if state.told is None:
        state.told = _was_told(context)
    if state.told != plans:
        from kaa.builtin.plan.planning import note_of

        context.session.add_message(note_of(plans=plans), NOTE_KIND, display=False, details=plans)
        state.told = plans


def _was_told(context: ConversationContext) -> bool:
    for message in reversed(context.session.messages):
        if isinstance(message, UserMessage) and message.note is not None and message.note.kind == NOTE_KIND:
            return message.note.details is True
    return False


async def _look(reply: AssistantMessage, context: ConversationContext) -> Continue | GiveUp | None:
    if context.approval_mode == MODE:
        from kaa.builtin.plan.planning import take_plan

        return take_plan(reply, context)
    if context.state(PlanState, PlanState).executing:
        from kaa.builtin.plan.executing import check_step

        return await check_step(context)
    return None


async def _guard(call: ToolCall, context: ConversationContext) -> Block | None:
    """Before files are changed that the present step does not name: ask, if the user wants that."""
    if not context.state(PlanState, PlanState).executing or context.other_files == "report":
        return None
    from kaa.builtin.plan.other_files import objection_to

    return await objection_to(call, context)


def _carried(context: ConversationContext) -> str | None:
    """A summary repeats the plan while it is made or executed."""
    if context.approval_mode != MODE and not context.state(PlanState, PlanState).executing:
        return None
    from kaa.builtin.plan.kept import last_plan

    kept = last_plan(context)
    return None if kept is None else kept.text


def _forget_told(_event: object, context: ConversationContext) -> None:
    context.state(PlanState, PlanState).told = None


def _release(_event: object, context: ConversationContext) -> None:
    state = context.state(PlanState, PlanState)
    if state.lock is not None:
        state.lock.release()
        state.lock = None
    if state.noted and not state.executing:  # one that was stopped is told when the session is opened again
        context.session.note_work(WORK_KIND, "")
        state.noted = False


async def _end(_end: SessionEnd, context: ConversationContext) -> None:
    _release(None, context)
