"""What the user wants of `/try`: reads what was typed."""

import msgspec

from kaa.builtin.acceptance import checks_in, options_in
from kaa.builtin.agents.running import MOST_AT_ONCE
from kaa.ext.errors import CommandError

_LEAST = 2
_USAGE = "/try N TASK [--check COMMAND]... [--models A,B,...] [--take best]"


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
