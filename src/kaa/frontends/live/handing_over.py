"""Hands a conversation of a terminal to a process without one, while something is under way in it."""

import asyncio
from collections.abc import Sequence

from kaa.builtin.looping import Looped
from kaa.core.budget import LEAST, MEASURES, BudgetScope
from kaa.frontends.live.errors import LiveError, NotHandedOverError
from kaa.frontends.live.serving import LiveServer
from kaa.frontends.live.starting import HandedOver, Limit, Orders, Started, start
from kaa.shell.conversation import Conversation
from kaa.shell.host import Host, HostedConversation

_NOTE = (
    "[kaa] The user left the terminal, and you continue without one, in a new process. Running work was stopped: a"
    " reply or call that was interrupted did not finish. Look at what interrupted calls have done before you repeat"
    " them, and continue the task. Questions to the user wait until somebody attaches."
)
_AGENTS = " These agents were stopped, too; resume them with the tool agent, in the background: "
_ONLY_AGENTS = "[kaa] The user left the terminal, and the conversation continues without one, in a new process."


async def hand_over(
    host: Host, hosted: HostedConversation, server: LiveServer | None, arguments: Sequence[str], directory: str
) -> Started:
    """End the conversation here, and have another process go on with it.

    Args:
        server: listens for it here, until it has ended here.

    Raises:
        LiveError: the session is not kept, or nothing is under way.
        NotHandedOverError: the process does not start.
    """
    conversation = hosted.conversation
    if conversation.session_path is None or not conversation.is_kept:
        raise LiveError("this session is not saved, so no other process can continue it")
    agents = [one.agent for one in conversation.agents.list() if one.state == "working" and one.parent is None]
    was_running, loop = hosted.work.is_busy, conversation.state(Looped, Looped)
    loops = [f"/loop {loop.interval} {loop.prompt}"] if loop.prompt else []
    if not was_running and not agents and not loops:
        raise LiveError("nothing is running: leave kaa, and kaa -c resumes the session")
    note = _NOTE if was_running else _ONLY_AGENTS if agents else ""
    note += _AGENTS + ", ".join(agents) if agents else ""
    model, limits = conversation.models.current, _left(conversation, was_running=was_running)
    conversation.leave(await hosted.work.abort())  # a kill of either process leaves them there
    if server is not None:
        server.close()
    await host.end(hosted)
    handed = HandedOver(conversation.session_path, model.name, model.thinking, limits, note, tuple(loops))
    try:
        return await asyncio.to_thread(start, Orders(tuple(arguments), handed), directory)
    except (LiveError, OSError) as error:
        raise NotHandedOverError(f"kaa cannot continue in the background: {error}") from error


def _left(conversation: Conversation, *, was_running: bool) -> tuple[Limit, ...]:
    """What the run and the session may still use. What the session used is in its file; what the run used is not."""
    scopes: tuple[BudgetScope, ...] = ("run", "session")
    limits: list[Limit] = []
    for scope in scopes:
        budget, used = conversation.budget.limits(scope), conversation.budget.used(scope)
        for measure in MEASURES:
            if (limit := budget.limit(measure)) is not None:
                gone = used.amount(measure) if scope == "run" and was_running else 0
                limits.append(Limit(scope, measure, max(limit - gone, LEAST.get(measure, 1))))
    return tuple(limits)
