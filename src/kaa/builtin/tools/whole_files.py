"""Deleting and moving files for `apply_patch`, as calls of `edit` and `write`.

Whoever watches or forbids changes of a file goes by calls of these two tools: rules, hooks, extensions and agents with
limits. So a deletion is an edit of the file that leaves nothing of it, and a move is one together with a write of the
target. All of these calls are judged before the last one, a command, changes anything.
"""

import posixpath
import shlex
from typing import Final

import msgspec

from kaa.builtin.file_paths import locate, locate_file
from kaa.core.messages import Json
from kaa.core.tool import ToolError, ToolResult, text_result
from kaa.ext.context import ToolContext
from kaa.ext.errors import RegistrationError
from kaa.workspace.protocol import Workspace

# What is shown of a file that goes: for questions and hooks, which want to see a change and not a book.
_SHOWN_BYTES: Final = 256 * 1024


class _Moves(msgspec.Struct):
    """The moves, as pairs of paths, that `edit` may make and asks `write` about."""

    asked: set[tuple[str, str]] = msgspec.field(default_factory=set)


async def removal(workspace: Workspace, path: str, target: str = "") -> dict[str, Json]:
    """The arguments of `edit` for a file that goes.

    Args:
        target: where it is moved; empty if it is deleted.
    """
    text = await _text(workspace, path)
    edits: list[Json] = [{"oldText": text, "newText": ""}] if text else []
    return {"path": path, "edits": edits, **({"moveTo": target} if target else {"delete": True})}


async def delete(path: str, context: ToolContext) -> ToolResult:
    """Delete a file."""
    file = await locate_file(context.workspace, path)
    return await _run(f"rm -- {shlex.quote(file.path)}", f"Deleted {file.path}.", context)


async def move(path: str, target: str, context: ToolContext) -> ToolResult:
    """Move a file, by a call of `write` for the target."""
    file = await locate_file(context.workspace, path)
    if await locate(context.workspace, target) is not None:
        raise ToolError(f"{target} exists already, so {file.path} cannot be moved there.")
    content = await _text(context.workspace, file.path)
    asked = context.state(_Moves, _Moves).asked
    asked.add((file.path, target))
    try:
        return await _called("write", {"path": target, "content": content, "moveFrom": file.path}, context)
    finally:
        asked.discard((file.path, target))


async def receive(path: str, target: str, context: ToolContext) -> ToolResult:
    """Move a file where `write` may write, if `edit` may take it away."""
    if (path, target) not in context.state(_Moves, _Moves).asked:
        raise ToolError(f"{path} cannot be moved by this tool. Move it by a command: mv.")
    folder = posixpath.dirname(target)
    made = f"mkdir -p -- {shlex.quote(folder)} && " if folder else ""
    command = f"{made}mv -n -- {shlex.quote(path)} {shlex.quote(target)}"
    return await _run(command, f"Moved {path} to {target}.", context)


async def _run(command: str, done: str, context: ToolContext) -> ToolResult:
    result = await _called("bash", {"command": command}, context)
    return result if result.is_error else text_result(done)


async def _called(tool: str, arguments: dict[str, Json], context: ToolContext) -> ToolResult:
    try:
        return await context.call_tool(tool, arguments)
    except RegistrationError as error:
        raise ToolError(
            f"Nothing was changed: deleting and moving files needs the tool {tool!r}, which is off."
        ) from error


async def _text(workspace: Workspace, path: str) -> str:
    """The content of a file; empty if it is none, or too large to be shown."""
    data = (await workspace.read(path, 0, _SHOWN_BYTES + 1)).data
    try:
        return data.decode() if len(data) <= _SHOWN_BYTES else ""
    except UnicodeDecodeError:
        return ""
