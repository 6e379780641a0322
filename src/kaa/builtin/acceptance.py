"""Reads and runs commands of the user's or of a plan that show whether work is done: as calls of the tool `bash`."""

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from typing import Literal

import msgspec

from kaa.core.messages import Json, TextContent
from kaa.core.tool import ToolError, ToolResult
from kaa.ext.api import ConversationContext
from kaa.ext.errors import CommandError

_MOST_OUTPUT_CHARACTERS = 4_000
_SECONDS = 600
_MOST_CHECKS = 8
_KIND = "checks"  # of the session's entries


class RanCheck(msgspec.Struct, frozen=True):
    """A command that was run.

    Attributes:
        result: `notPermitted`: an approval or the sandbox refused what it needs; `notRun`: for another reason.
        missing: what is wrong, with its output, for the model; empty if it succeeds.
        refusal: what was not permitted, for people.
    """

    command: str
    result: Literal["passed", "failed", "timedOut", "notPermitted", "notRun"]
    seconds: float = 0.0
    missing: str = ""
    refusal: str = ""


class Checked(msgspec.Struct, frozen=True):
    """What commands said.

    Attributes:
        missing: which do not succeed, with their output, for the model; empty if all do.
        failed: one could not be run at all.
    """

    missing: str = ""
    failed: bool = False

    @property
    def digest(self) -> str:
        """The same for the same result, without what differs each time."""
        from kaa.builtin.loop_detection.repeats import digest, without_volatile  # lazy: only goals compare results

        return digest(without_volatile(self.missing))


def options_in(typed: str, *names: str) -> tuple[str, list[tuple[str, str]]]:
    """What was typed before the first option, and the options with what follows each of them.

    The value of an option ends at the next one, unless it is in quotation marks: `--check "ruff format --check ."`.

    Args:
        names: of the options, without `--`.
    """
    marks = list(re.finditer(rf"(?:^|\s)--({'|'.join(names)})(?=\s|$)", typed))
    text = typed[: marks[0].start()] if marks else typed
    options = []
    while marks:
        mark = marks.pop(0)
        ends = [*(one.start() for one in marks), len(typed)]
        value = typed[mark.end() : ends[0]].strip()
        if value.startswith(("'", '"')):
            for place, end in enumerate(ends):
                longer = typed[mark.end() : end].strip()
                if len(longer) > 1 and longer.count(longer[0]) == 2 and longer.endswith(longer[0]):
                    value = longer[1:-1].strip()
                    del marks[:place]
                    break
        options.append((mark[1], value))
    return text.strip(), options


def checks_in(options: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The commands of the options `check`.

    Raises:
        CommandError: one is missing, or there are too many.
    """
    checks = tuple(value for name, value in options if name == "check")
    if not all(checks):
        raise CommandError("A --check has no command: --check COMMAND")
    if len(checks) > _MOST_CHECKS:
        raise CommandError(f"At most {_MOST_CHECKS} commands can check a result; join some with &&.")
    return checks


async def run_checks(commands: tuple[str, ...], context: ConversationContext, until: float = inf) -> Checked:
    """Run commands, with the sandbox and the approvals of the model's own. The session keeps what they say.

    Args:
        until: when the time for all of it is used up, as `time.monotonic` has it.
    """
    if "bash" not in context.active_tools:
        return Checked("The commands cannot be run: the tool bash is switched off.", failed=True)
    ran = [await run_check(command, context, until) for command in commands]
    kept: list[Json] = [
        {"command": one.command, "result": one.result, "seconds": one.seconds, "missing": one.missing} for one in ran
    ]
    if kept:
        with suppress(CommandError):  # the session cannot be written: whoever writes next says it
            context.session.append({"commands": kept}, _KIND)
    missing = "\n\n".join(one.missing for one in ran if one.missing)
    return Checked(missing, any(one.result not in ("passed", "failed") for one in ran))


async def run_check(command: str, context: ConversationContext, until: float = inf) -> RanCheck:
    """Run a command, likewise, for no longer than the budget of the run has time, and than `until`."""
    began = time.monotonic()
    limits = (one.limit - one.used for one in context.limits if one.measure == "seconds")
    left = min(_SECONDS, until - began, *limits)
    if left <= 0:
        return RanCheck(command, "timedOut", missing=f"`{command}` was not run: the time for this run is used up")
    try:
        result = await context.call_tool("bash", {"command": command, "timeout": left})
    except (CommandError, ToolError) as error:
        return RanCheck(command, "notRun", missing=f"`{command}` could not be run: {error}")
    seconds = round(time.monotonic() - began, 1)
    if not result.is_error:
        return RanCheck(command, "passed", seconds)
    how = _how(result)
    output = "".join(part.text for part in result.content if isinstance(part, TextContent)).strip()
    cut = "…\n" if len(output) > _MOST_OUTPUT_CHARACTERS else ""
    said = {"failed": "fails", "timedOut": "does not end", "notPermitted": "needs what is not permitted"}
    text = f"`{command}` {said.get(how, 'could not be run')}:\n{cut}{output[-_MOST_OUTPUT_CHARACTERS:]}"
    return RanCheck(command, how, seconds, text, "; ".join(result.denials))


def _how(result: ToolResult) -> Literal["failed", "timedOut", "notPermitted", "notRun"]:
    details = result.details if isinstance(result.details, dict) else {}
    if result.denials:
        return "notPermitted"
    if details.get("timedOut"):
        return "timedOut"
    return "failed" if details.get("exitCode") is not None else "notRun"
