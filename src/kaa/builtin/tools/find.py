"""The find tool: files by the pattern of their path."""

import posixpath
from typing import Annotated

import msgspec
from msgspec import Meta

from kaa.core.tool import ToolError, ToolResult, TypedTool
from kaa.ext.context import ToolContext
from kaa.workspace.protocol import SearchError

_DEFAULT_LIMIT = 1000
_MAX_LIMIT = 10_000
_DESCRIPTION = "Find files by glob; ignores what .gitignore names."


class FindArguments(msgspec.Struct, rename="camel", frozen=True):
    """Which files to find, and where."""

    pattern: Annotated[str, Meta(description="Glob, as *.py or src/**/test_*.py")]
    path: Annotated[str, Meta(description="Directory")] = "."
    limit: Annotated[int, Meta(description=f"Default {_DEFAULT_LIMIT}")] = _DEFAULT_LIMIT


def find_tool() -> TypedTool[FindArguments, ToolContext]:
    """The tool."""
    return TypedTool("find", _DESCRIPTION, FindArguments, _find_call)


async def _find_call(arguments: FindArguments, context: ToolContext) -> ToolResult:
    from kaa.builtin.file_paths import existing, explained  # lazy: many turns call no tool
    from kaa.builtin.tools.listing import listing_result

    workspace = context.workspace
    path = (await existing(workspace, arguments.path)).path
    limit = min(max(arguments.limit, 1), _MAX_LIMIT)
    pattern = _from_path(arguments.pattern)
    notes = []
    try:
        result = await workspace.find(pattern, path, limit)
        if not result.paths and pattern != arguments.pattern:
            result = await workspace.find(arguments.pattern, path, limit)
            if result.paths:
                notes.append(f"nothing matches from {path} on: these match further down")
    except SearchError as error:
        raise ToolError(f"{error} Correct the pattern.") from error
    except OSError as error:
        raise await explained(workspace, path, error) from error
    if result.limit_reached:
        notes.append(f"stopped at {limit} files: refine the pattern or set limit={limit * 2}")
    if result.timed_out:
        notes.append("the search took too long and was stopped: narrow it with path")
    prefix = "" if path in (".", "./") else path
    return listing_result([posixpath.join(prefix, found) for found in result.paths], notes, none="No files found")


def _from_path(pattern: str) -> str:
    """A pattern with a `/` begins at the searched directory, as in pi 1.6 and Claude Code."""
    relative = pattern.removeprefix("./")
    return f"/{relative}" if "/" in relative and not relative.startswith(("/", "**/")) else pattern
