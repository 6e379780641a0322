"""Reads and runs commands of the user's or of a plan that show whether work is done: as calls of the tool `bash`."""

import re
from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from kaa.core.messages import TextContent
from kaa.core.tool import ToolError
from kaa.ext.api import ConversationContext
from kaa.ext.errors import CommandError

_MOST_OUTPUT_CHARACTERS = 4_000
_SECONDS = 600
_MOST_CHECKS = 8
# What differs although nothing has changed: how long something took, and where in memory it was.
_VOLATILE = re.compile(r"\d+[.:]\d+[\d.:]*|\b\d+ ?(?:ns|us|µs|ms|s|sec|seconds?|min|minutes?)\b|0x[0-9a-f]+")


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
        return digest(_VOLATILE.sub("", self.missing))


def options_in(typed: str, *names: str) -> tuple[str, list[tuple[str, str]]]:
    """What was typed before the first option, and the options with what follows each of them.

    The value of an option ends at the next one, unless it is in quotation marks: `--check "ruff format --check ."`.

    Args:
        typed: behind the name of a slash command.
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


async def run_checks(commands: tuple[str, ...], context: ConversationContext) -> Checked:
    """Run commands, with the sandbox and the approvals of the model's own."""
    missing, failed = [], False
    if "bash" not in context.active_tools:
        return Checked("The commands cannot be run: the tool bash is switched off.", failed=True)
    for command in commands:
        try:
            result = await context.call_tool("bash", {"command": command, "timeout": _SECONDS})
        except (CommandError, ToolError) as error:
            missing.append(f"`{command}` could not be run: {error}")
            failed = True
            continue
        if not result.is_error:
            continue
        was_run = isinstance(result.details, dict) and result.details.get("exitCode") is not None
        failed = failed or not was_run
        output = "".join(part.text for part in result.content if isinstance(part, TextContent)).strip()
        cut = "…\n" if len(output) > _MOST_OUTPUT_CHARACTERS else ""
        how = "fails" if was_run else "could not be run"
        missing.append(f"`{command}` {how}:\n{cut}{output[-_MOST_OUTPUT_CHARACTERS:]}")
    return Checked("\n\n".join(missing), failed)


def digest(text: str) -> str:
    """A short digest of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
