"""The ls tool: the names in a directory."""

from typing import Annotated

import msgspec
from msgspec import Meta

from kaa.core.tool import ToolError, ToolResult, TypedTool
from kaa.ext.context import ToolContext

_DEFAULT_LIMIT = 500
_DESCRIPTION = "List a directory; names of directories end with /."


class LsArguments(msgspec.Struct, rename="camel", frozen=True):
    """Which directory to list."""

    path: str = "."
    limit: Annotated[int, Meta(description=f"Default {_DEFAULT_LIMIT}")] = _DEFAULT_LIMIT


def ls_tool() -> TypedTool[LsArguments, ToolContext]:
    """The tool."""
    return TypedTool("ls", _DESCRIPTION, LsArguments, _ls_call)


async def _ls_call(arguments: LsArguments, context: ToolContext) -> ToolResult:
    from kaa.builtin.file_paths import existing, explained  # lazy: many turns call no tool
    from kaa.builtin.tools.listing import listing_result

    workspace = context.workspace
    path = (await existing(workspace, arguments.path)).path
    try:
        entries = await workspace.list(path)
    except NotADirectoryError as error:
        raise ToolError(f"{path} is a file, not a directory.") from error
    except OSError as error:
        raise await explained(workspace, path, error) from error
    names = sorted((entry.name + "/" * (entry.kind == "directory") for entry in entries), key=_without_case)
    limit = max(arguments.limit, 1)
    notes = [f"{limit} of {len(names)} names shown: set limit={len(names)} for all"] if len(names) > limit else []
    return listing_result(names[:limit], notes, none="(empty directory)")


def _without_case(name: str) -> tuple[str, str]:
    return name.casefold(), name
