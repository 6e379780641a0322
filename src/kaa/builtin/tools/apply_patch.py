"""The tool apply_patch: several files changed by one patch, for models that were trained to write such patches.

It changes nothing itself: each change is a call of the tools that other models have, so that hooks, approvals,
checkpoints and rules treat it as they treat those, and bytes outside of the patched lines stay as they are.
"""

import asyncio
import posixpath
from collections.abc import Sequence

import msgspec

from kaa.builtin.encoding import detect_encoding
from kaa.builtin.file_paths import explained, locate, locate_file
from kaa.builtin.patches import AddFile, DeleteFile, FileChange, UpdateFile, parse_patch, replacements
from kaa.builtin.replacement import EditError
from kaa.builtin.tools.edit import NOW_READS
from kaa.builtin.tools.whole_files import removal
from kaa.core.messages import Json, TextContent
from kaa.core.tool import ToolError, ToolResult
from kaa.ext.context import ToolContext

_MAX_FILE_BYTES = 32 * 1024 * 1024


class _Step(msgspec.Struct, frozen=True):
    """A call that makes a part of the patch."""

    tool: str
    arguments: dict[str, Json]


class _Removal(msgspec.Struct, frozen=True):
    """A file that goes, as earlier steps left it. `target`: its new path; empty: it is deleted."""

    path: str
    target: str = ""


async def apply_patch(patch: str, context: ToolContext) -> ToolResult:
    """Apply a patch: all of it is understood and found in the files before anything is changed.

    Raises:
        ToolError: it cannot be read or does not fit; nothing was changed.
    """
    try:
        changes = parse_patch(patch)
        _check_paths(changes)
        await _check_unseen(changes, context)
        steps = [step for change in changes for step in await _steps(change, context)]
    except EditError as error:
        raise ToolError(f"Nothing was changed: {error}") from error
    done: list[str] = []
    for step in steps:
        result = await _take(step, context)
        # A patch has the lines around its changes already.
        texts = (one.text.partition(NOW_READS)[0] for one in result.content if isinstance(one, TextContent))
        text = "\n".join(texts)
        if result.is_error:
            until = "Changed before that:" if done else "Nothing was changed."
            return ToolResult((TextContent("\n".join([text, until, *done])),), None, True, result.denials)
        done.append(text)
    return ToolResult((TextContent("\n".join(done)),), {"display": [{"type": "diff", "text": patch}]})


async def _take(step: _Step | _Removal, context: ToolContext) -> ToolResult:
    if isinstance(step, _Step):
        return await context.call_tool(step.tool, step.arguments)
    return await context.call_tool("edit", await removal(context.workspace, step.path, step.target))


def _check_paths(changes: Sequence[FileChange]) -> None:
    """Refuse two sections about one file: the lines of the second would be looked for before the first is applied."""
    seen: dict[str, FileChange] = {}
    for change in changes:
        targets = [change.target] if isinstance(change, UpdateFile) and change.target else []
        for path in map(posixpath.normpath, (change.path, *targets)):
            is_replaced = isinstance(change, AddFile) and isinstance(seen.get(path), DeleteFile)
            if path in seen and not is_replaced:
                raise EditError(f"two sections of the patch are about {path}. Merge them into one.")
            seen[path] = change


async def _check_unseen(changes: Sequence[FileChange], context: ToolContext) -> None:
    """Refuse to add a file where there is one that the model neither saw nor deletes."""
    deleted = {change.path for change in changes if isinstance(change, DeleteFile)}
    added = [change for change in changes if isinstance(change, AddFile) and change.path not in deleted]
    if added:
        from kaa.builtin.seen_files import check_write  # lazy: many turns call no tool

        for change in added:
            await check_write({"path": change.path, "content": change.content}, context)


async def _steps(change: FileChange, context: ToolContext) -> Sequence[_Step | _Removal]:
    match change:
        case AddFile(path=path, content=content):
            return [_Step("write", {"path": path, "content": content})]
        case DeleteFile(path=path):
            found = await locate_file(context.workspace, path)
            return [_Removal(found.path)]
        case UpdateFile():
            return await _updates(change, context)


async def _updates(change: UpdateFile, context: ToolContext) -> Sequence[_Step | _Removal]:
    workspace = context.workspace
    file = await locate_file(workspace, change.path)
    steps: list[_Step | _Removal] = []
    if change.hunks:
        if file.info.size > _MAX_FILE_BYTES:
            raise EditError(f"{file.path} is too large to be patched. Change it by a command.")
        try:
            data = (await workspace.read(file.path)).data
        except OSError as error:
            raise await explained(workspace, file.path, error) from error
        if data:
            edits = await asyncio.to_thread(_edits, data, change)
            steps.append(_Step("edit", {"path": file.path, "edits": edits}))
        else:
            added = "".join(f"{line}\n" for hunk in change.hunks for sign, line in hunk.lines if sign == "+")
            steps.append(_Step("write", {"path": file.path, "content": added}))
    if change.target:
        if await locate(workspace, change.target) is not None:
            raise EditError(f"{change.target} exists already, so {file.path} cannot be moved there.")
        steps.append(_Removal(file.path, change.target))
    return steps


def _edits(data: bytes, change: UpdateFile) -> list[Json]:
    try:
        found = replacements(detect_encoding(data).decode(data), change.hunks)
    except EditError as error:
        raise EditError(f"{change.path}: {error}") from error
    return [{"oldText": one.old_text, "newText": one.new_text} for one in found]
