"""The bash tool, as models see it."""

import shlex
from typing import Annotated

import msgspec
from msgspec import Meta

from kaa.builtin.tools.argument_names import renamed
from kaa.core.messages import Json
from kaa.core.tool import ToolResult, TypedTool
from kaa.ext.context import ToolContext

DEFAULT_TIMEOUT_SECONDS = 120
_DESCRIPTION = (
    "Run a command in a new shell in the project's root, without stdin. cd and variables do not last. "
    "Gives the beginning and the end of a long output. What it leaves running ends with it."
)
_NAMES = {
    **dict.fromkeys(("cmd", "script", "commandLine"), "command"),
    **dict.fromkeys(("workdir", "cwd", "directory", "working_directory"), "folder"),
}
_SHELLS = ("sh", "bash", "zsh", "dash")


class BashArguments(msgspec.Struct, rename="camel", frozen=True):
    """What to run, for how many seconds at most, and whether to wait for its end."""

    command: str
    timeout: Annotated[float | None, Meta(description=f"Seconds, default {DEFAULT_TIMEOUT_SECONDS}")] = None
    background: Annotated[bool, Meta(description="Do not wait for it")] = False


class BashCall(BashArguments, frozen=True):
    """What `process` also calls the tool for: a command that is written to a process as input."""

    process: int | None = None


def bash_tool() -> TypedTool[BashCall, ToolContext]:
    """The tool."""
    return TypedTool("bash", _DESCRIPTION, BashCall, _bash, prepare=with_own_names, shown=BashArguments)


def with_own_names(arguments: dict[str, Json]) -> dict[str, Json]:
    """Understand the arguments of other agents' shells: their names, a list of words, and a folder to work in."""
    repaired = renamed(arguments, _NAMES)
    match repaired.get("command"):
        case [str(shell), "-c" | "-lc", str(script)] if shell.rpartition("/")[2] in _SHELLS:
            repaired["command"] = script
        case [*words] if all(isinstance(word, str) for word in words):
            repaired["command"] = shlex.join(map(str, words))
    folder, command = repaired.pop("folder", None), repaired.get("command")
    if folder and isinstance(folder, str) and isinstance(command, str):
        place = f"./{folder}" if folder.startswith("-") else folder
        repaired["command"] = f"cd {shlex.quote(place)} || exit\n{command}"
    return repaired


async def _bash(arguments: BashCall, context: ToolContext) -> ToolResult:
    from kaa.builtin.tools.running import run_command  # lazy: many turns run nothing

    return await run_command(arguments, context)
