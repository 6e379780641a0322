"""Pursues a goal: checks it when the model would stop, and has the model go on as long as that changes something."""

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from kaa.builtin.acceptance import checks_in, options_in, run_checks
from kaa.builtin.amounts import counted
from kaa.builtin.goal import Goal, Pursued
from kaa.core.hooks import Continue, GiveUp
from kaa.core.messages import AssistantMessage, TextContent, UserMessage
from kaa.ext.api import CommandAction, CommandContext, ConversationContext, Reply, Submit
from kaa.ext.errors import CommandError

# Hooks may have a run go on ten times.
_MOST_TRIES = 10
_MOST_STILL = 3
_MOST_FAILURES = 3
_MOST_RESULT_CHARACTERS = 2_000
_MOST_JUDGED_CHARACTERS = 12_000
_KIND = "goal"

_JUDGE = """\
An agent pursues a goal of its user. Judge whether it is reached. Believe only what the work shows, not what the agent \
claims or promises. `done`: nothing is missing. `blocked`: the agent cannot continue without the user. `missing`: what \
is missing, in one or two sentences; empty if nothing is.\
"""


class _Verdict(msgspec.Struct):
    """What the model says that judges."""

    done: bool
    blocked: bool = False
    missing: str = ""


class _Finding(msgspec.Struct, frozen=True):
    """What a check found.

    Attributes:
        missing: what the model is told; empty if the goal is reached.
        failed: the goal could not be checked, or is out of reach.
        seen: what it said, without what differs each time.
    """

    missing: str = ""
    failed: bool = False
    seen: str = ""


def goal_command(arguments: str, context: CommandContext) -> CommandAction:
    """Run /goal.

    Args:
        arguments: nothing; `go`; `stop`; or the goal, and a command behind each ` --check `.

    Raises:
        CommandError: there is no goal, or what was typed is none.
    """
    match arguments.strip():
        case "":
            goal = _kept(context)
            if goal.state == "pursued" and context.state(Pursued, Pursued).goal is None:
                goal.state = "interrupted"  # kaa was started anew
            return Reply(_told(goal))
        case "stop":
            goal = _kept(context)
            _keep(msgspec.structs.replace(goal, state="stopped"), context)
            return Reply("The goal is no longer pursued. /goal go pursues it again.")
        case "go":
            goal = msgspec.structs.replace(_kept(context), state="pursued", tries=0, still=0, failures=0)
        case typed:
            goal = _goal_in(typed)
    _keep(goal, context)
    return Submit(_prompt(goal))


async def check(reply: AssistantMessage, context: ConversationContext) -> Continue | GiveUp | None:
    """Check the goal, now that the model would stop, and have it go on unless the goal is reached or that is useless.

    Args:
        reply: its last one.
    """
    goal = context.state(Pursued, Pursued).goal
    if goal is None or goal not in _all_kept(context):
        context.state(Pursued, Pursued).goal = None  # the user went back to before it
        return None
    finding = await (_checked(goal, context) if goal.checks else _judge(goal, reply, context))
    changed = finding.seen != goal.seen
    goal = msgspec.structs.replace(
        goal,
        tries=goal.tries + 1,
        still=0 if changed else goal.still + 1,
        failures=goal.failures + 1 if finding.failed else 0,
        why=finding.missing,
        seen=finding.seen,
    )
    goal.state = _state_after(goal)
    _keep(goal, context)
    if goal.state == "reached":
        context.show.notice(_told(goal))
        return None
    if goal.state != "pursued":
        return GiveUp(_told(goal))
    return Continue(f"The goal is not reached yet: {goal.text}\n\n{finding.missing}\n\nContinue.")


def _state_after(goal: Goal) -> str:
    if not goal.why:
        return "reached"
    if goal.failures >= _MOST_FAILURES:
        return "blocked"
    if goal.still >= _MOST_STILL:
        return "stalled"
    return "paused" if goal.tries >= _MOST_TRIES else "pursued"


def _goal_in(typed: str) -> Goal:
    text, options = options_in(typed, "check")
    if not text:
        raise CommandError("Say what is to be reached: /goal TEXT --check COMMAND")
    return Goal(text, checks_in(options))


def _prompt(goal: Goal) -> str:
    if not goal.checks:
        return f"{goal.text}\n\nWork until this is reached. When you stop, it is judged by what you show to be done."
    checks = "\n".join(f"- `{one}`" for one in goal.checks)
    return (
        f"{goal.text}\n\nWork until this is reached. When you stop, these commands are run, and all have to succeed."
        f" Do not change what they check in order to have them succeed.\n{checks}"
    )


async def _checked(goal: Goal, context: ConversationContext) -> _Finding:
    found = await run_checks(goal.checks, context)
    return _Finding(found.missing, found.failed, found.digest)


async def _judge(goal: Goal, reply: AssistantMessage, context: ConversationContext) -> _Finding:
    """Ask a model, which sees the end of the conversation. Nothing has changed if no tool was called."""
    work = "\n\n".join(_line(message) for message in context.session.messages)[-_MOST_JUDGED_CHARACTERS:]
    calls = sum(len(one.tool_calls) for one in context.session.messages if isinstance(one, AssistantMessage))
    prompt = f"<goal>\n{goal.text}\n</goal>\n\n<work>\n{work}\n</work>\n\n<last>\n{reply.text}\n</last>"
    try:
        verdict = await context.complete(prompt, system=_JUDGE, schema=_Verdict)
    except CommandError as error:
        return _Finding(f"It could not be judged: {error}", failed=True, seen=str(calls))
    missing = "" if verdict.done else verdict.missing or "The judge does not say what is missing."
    return _Finding(missing, verdict.blocked, str(calls))


def _line(message: object) -> str:
    match message:
        case UserMessage():
            return f"user: {''.join(part.text for part in message.content if isinstance(part, TextContent))}"
        case AssistantMessage():
            calls = "".join(
                f"\n{call.name} {msgspec.json.encode(call.arguments).decode()}" for call in message.tool_calls
            )
            return f"agent: {message.text}{calls}"
        case _:
            content = getattr(message, "content", ())
            text = "".join(part.text for part in content if isinstance(part, TextContent))
            return f"result: {text[-_MOST_RESULT_CHARACTERS:]}"


def _keep(goal: Goal, context: CommandContext | ConversationContext) -> None:
    context.session.append(msgspec.to_builtins(goal), _KIND)
    context.state(Pursued, Pursued).goal = goal if goal.state == "pursued" else None


def _kept(context: CommandContext | ConversationContext) -> Goal:
    """The last goal of this branch of the session.

    Raises:
        CommandError: there is none.
    """
    goals = _all_kept(context)
    if not goals:
        raise CommandError("There is no goal. /goal TEXT --check COMMAND sets one.")
    return goals[-1]


def _all_kept(context: CommandContext | ConversationContext) -> Sequence[Goal]:
    """What was kept of goals on this branch of the session, the last one last."""
    goals = []
    for entry in context.session.entries(_KIND):
        with suppress(msgspec.ValidationError):  # of another version of kaa
            goals.append(msgspec.convert(entry.data, Goal))
    return goals


def _told(goal: Goal) -> str:
    """The goal and its state, for people."""
    how = {
        "reached": f"reached after {counted(goal.tries, 'check')}",
        "stalled": f"given up: nothing changed in the last {_MOST_STILL} turns",
        "blocked": "blocked",
        "paused": f"not reached after {counted(goal.tries, 'check')}",
    }.get(goal.state, goal.state)
    lines = [f"Goal {how}: {goal.text}", *(f"  {one}" for one in goal.checks)]
    if goal.why:
        lines.append(goal.why)
    if goal.state not in ("pursued", "reached"):
        lines.append("/goal go pursues it again.")
    return "\n".join(lines)
