"""`/loop INTERVAL PROMPT`: gives the model the same message again and again while kaa is open."""

import asyncio
import re
from functools import partial

import msgspec

from kaa.core.events import AgentEnd
from kaa.ext.api import CommandAction, CommandContext, ConversationContext, Reply
from kaa.ext.errors import CommandError

_INTERVAL = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([smh])")
_SECONDS_OF = {"s": 1.0, "m": 60.0, "h": 3600.0}
_LEAST_SECONDS = 0.1
_MOST_FAILURES = 3


class Looped(msgspec.Struct):
    """What the conversation repeats at present; an empty prompt: nothing."""

    prompt: str = ""
    interval: str = ""
    rounds: int = 0
    failures: int = 0
    number: int = 0  # of the loop: an older one ends when it sees another
    idle: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


async def loop(arguments: str, context: CommandContext) -> CommandAction:
    """Run /loop.

    Args:
        arguments: nothing; `stop`; or the interval and the prompt.

    Raises:
        CommandError: the interval or the prompt is missing, or nobody is there.
    """
    looped = context.state(Looped, Looped)
    word, _, prompt = arguments.strip().partition(" ")
    if not word:
        return Reply(_told(looped))
    if word == "stop" and not prompt:
        if not looped.prompt:
            raise CommandError("Nothing is repeated. /loop INTERVAL PROMPT repeats a prompt.")
        looped.prompt = ""
        return Reply("The prompt is no longer repeated.")
    found = _INTERVAL.fullmatch(word)
    seconds = float(found[1]) * _SECONDS_OF[found[2]] if found else 0.0
    if seconds < _LEAST_SECONDS or not prompt.strip():
        raise CommandError("Say how often and what: /loop 5m PROMPT. Intervals are 30s, 5m or 1h, and at least 0.1s.")
    if not context.asker.can_ask:
        raise CommandError("Nobody is here to stop it: /loop works in the terminal and in rpc mode.")
    looped.prompt, looped.interval, looped.number = prompt.strip(), word, looped.number + 1
    looped.rounds = looped.failures = 0
    context.run_beside(partial(_repeat, looped.number, seconds, context))
    return Reply(_told(looped))


def observe(end: AgentEnd, context: ConversationContext) -> None:
    """Learn how a run ended."""
    looped = context.state(Looped, Looped)
    if end.agent is not None or not looped.prompt:
        return
    if end.reason == "aborted":
        looped.prompt = ""
        context.show.notice("The prompt is no longer repeated, because you stopped it.")
    looped.failures = 0 if end.reason in ("done", "denied", "unfinished", "unverified") else looped.failures + 1
    looped.idle.set()


async def _repeat(number: int, seconds: float, context: CommandContext) -> None:
    looped = context.state(Looped, Looped)
    while looped.number == number and looped.prompt:
        looped.idle.clear()
        looped.rounds += 1
        try:
            context.send(looped.prompt)
        except CommandError as error:
            looped.prompt = ""
            context.show.notice(f"The prompt is no longer repeated: {error}", "warning")
            return
        await looped.idle.wait()
        if looped.failures >= _MOST_FAILURES:
            looped.prompt = ""
            context.show.notice(f"The prompt is no longer repeated: {_MOST_FAILURES} runs failed in a row.", "warning")
            return
        await asyncio.sleep(seconds)


def _told(looped: Looped) -> str:
    if not looped.prompt:
        return "Nothing is repeated. /loop INTERVAL PROMPT repeats a prompt."
    return f"Every {looped.interval}, {looped.rounds} times until now; /loop stop ends it: {looped.prompt}"
