"""The grep tool: lines of files that match a pattern."""

import posixpath
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from kaa.builtin.truncate import cut_line
from kaa.core.tool import ToolError, ToolResult, TypedTool
from kaa.ext.context import ToolContext
from kaa.workspace.protocol import SearchError, SearchLine, SearchQuery, SearchResult

if TYPE_CHECKING:
    from kaa.builtin.file_paths import Located

_DEFAULT_LIMIT = 100
_MAX_LIMIT = 5000
_MAX_CONTEXT_LINES = 100
_MAX_LINE_CHARACTERS = 500
_DESCRIPTION = "Search file contents; ignores what .gitignore names."


class GrepArguments(msgspec.Struct, rename="camel", frozen=True):
    """What to search for, and where."""

    pattern: Annotated[str, Meta(description="Regular expression, or text if literal")]
    path: Annotated[str, Meta(description="File or directory")] = "."
    glob: Annotated[str | None, Meta(description="Only these files, as *.py")] = None
    ignore_case: bool = False
    literal: bool = False
    context: Annotated[int, Meta(description="Lines around matches")] = 0
    limit: Annotated[int, Meta(description=f"Matches, default {_DEFAULT_LIMIT}")] = _DEFAULT_LIMIT


def grep_tool() -> TypedTool[GrepArguments, ToolContext]:
    """The tool."""
    return TypedTool("grep", _DESCRIPTION, GrepArguments, _grep_call)


async def _grep_call(arguments: GrepArguments, context: ToolContext) -> ToolResult:
    from kaa.builtin.file_paths import existing, explained  # lazy: many turns call no tool

    workspace = context.workspace
    searched = await existing(workspace, arguments.path)
    query = SearchQuery(
        pattern=arguments.pattern,
        path=searched.path,
        glob=arguments.glob,
        ignore_case=arguments.ignore_case,
        literal=arguments.literal,
        context=min(max(arguments.context, 0), _MAX_CONTEXT_LINES),
        limit=min(max(arguments.limit, 1), _MAX_LIMIT),
    )
    try:
        result = await workspace.search(query)
    except SearchError as error:
        raise ToolError(f"{error} Correct the pattern, or set literal to search for it as text.") from error
    except OSError as error:
        raise await explained(workspace, searched.path, error) from error
    return _report(searched, query, result)


def _report(searched: "Located", query: SearchQuery, result: SearchResult) -> ToolResult:
    from kaa.builtin.tools.listing import listing_result  # lazy: many turns call no tool

    notes = []
    if result.limit_reached:
        notes.append(f"stopped at {query.limit} matches: refine the pattern or set limit={query.limit * 2}")
    if result.timed_out:
        notes.append("the search took too long and was stopped: narrow it with path or glob")
    lines = [_line(searched, line) for line in result.lines]
    if any(len(line.text) > _MAX_LINE_CHARACTERS for line in result.lines):
        notes.append(f"long lines cut to {_MAX_LINE_CHARACTERS} characters: read shows them whole")
    return listing_result(lines, notes, none="No matches found")


def _line(searched: "Located", line: SearchLine) -> str:
    """One line as grep prints it, with a path that can be passed on to other tools."""
    from kaa.core.terminal_text import plain_text  # lazy: as above

    text = cut_line(plain_text(line.text), _MAX_LINE_CHARACTERS)
    path = _shown_path(searched, line.path)
    return f"{path}:{line.line_number}: {text}" if line.is_match else f"{path}-{line.line_number}- {text}"


def _shown_path(searched: "Located", found: str) -> str:
    """The path of a found file, which results give relative to the searched directory, if it was one."""
    if searched.info.kind == "file":
        return searched.path
    return found if searched.path in (".", "./") else posixpath.join(searched.path, found)
