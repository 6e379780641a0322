"""`/goal`: the model works until commands of the user's succeed, which kaa runs whenever it would stop."""

from collections.abc import Sequence

import msgspec

from kaa.core.hooks import Continue, GiveUp
from kaa.core.messages import AssistantMessage
from kaa.ext.api import CommandAction, CommandContext, ConversationContext, ExtensionAPI, Suggestion


class Pursued(msgspec.Struct):
    """The goal that a conversation pursues; None: it pursues none at present. What was kept is in the session."""

    goal: "Goal | None" = None


class Goal(msgspec.Struct, rename="camel", omit_defaults=True):
    """A goal, and how far it is.

    Attributes:
        text: what is to be reached.
        checks: commands that succeed when it is; without any, a model judges.
        state: `pursued`; `reached`; `stalled`: nothing changed in the last turns; `blocked`: it cannot be reached or
            checked; `paused`: it was pursued long enough for once; `stopped`: by the user.
        tries: how often it was checked since the user last asked for it.
        still: how often in a row nothing had changed.
        failures: how often in a row it could not be checked, or was judged out of reach.
        why: what is missing, for people.
        seen: a digest of what the checks said last.
    """

    text: str
    checks: tuple[str, ...] = ()
    state: str = "pursued"
    tries: int = 0
    still: int = 0
    failures: int = 0
    why: str = ""
    seen: str = ""


def extend(api: ExtensionAPI) -> None:
    """Register the command, and the hook at the end of runs."""
    about = "Work until commands succeed: --check COMMAND names one. Show, resume or stop the goal"
    api.register_command("goal", about, _goal, argument_hint="[TEXT [--check COMMAND]...|go|stop]", complete=_suggest)
    api.before_end(_check)


async def _goal(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.goal.pursuing import goal_command  # lazy: few conversations have a goal

    return goal_command(arguments, context)


def _suggest(typed: str, _context: CommandContext) -> Sequence[Suggestion]:
    return [Suggestion(word) for word in ("go", "stop") if word.startswith(typed)]


async def _check(reply: AssistantMessage, context: ConversationContext) -> Continue | GiveUp | None:
    if context.state(Pursued, Pursued).goal is None:
        return None
    from kaa.builtin.goal.pursuing import check  # lazy, as above

    return await check(reply, context)
