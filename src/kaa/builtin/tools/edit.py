"""The edit tool: quoted pieces of a file replaced, everything else left byte for byte."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from kaa.builtin.file_locks import FileLocks
from kaa.builtin.replacement import EditError, Replacement
from kaa.builtin.tools.argument_names import PATHS, renamed
from kaa.builtin.truncate import format_size
from kaa.core.messages import Json
from kaa.core.tool import ToolError, ToolResult, TypedTool, text_result
from kaa.ext.context import ToolContext
from kaa.workspace.protocol import ContentChangedError, FileDigest

if TYPE_CHECKING:
    from kaa.builtin.diff import EditDiff
    from kaa.builtin.file_paths import Located

_DESCRIPTION = "Replace text in a file. All edits are applied to the original, or none."
_MAX_FILE_BYTES = 32 * 1024 * 1024
_INLINE_BYTES = 256 * 1024  # editing more than this takes long enough to go to a thread
_ATTEMPTS = 2
NOW_READS = "\nIt now reads:\n"
"""What stands before the changed lines in a result."""
_TEXT_NAMES = {
    **dict.fromkeys(("old_text", "old_string", "oldString", "old_str", "oldStr"), "oldText"),
    **dict.fromkeys(("new_text", "new_string", "newString", "new_str", "newStr"), "newText"),
}


class EditArguments(msgspec.Struct, rename="camel", frozen=True):
    """What to replace in which file."""

    path: str
    edits: Annotated[tuple[Replacement, ...], Meta(description="Must not overlap")]


class _EditCall(EditArguments, frozen=True):
    """What `apply_patch` also calls the tool for: a file that goes as a whole (`whole_files`)."""

    delete: bool = False
    move_to: str = ""


def edit_tool(locks: FileLocks) -> TypedTool[_EditCall, ToolContext]:
    """The tool. `locks` are shared with the other tools that change files."""

    async def edit(arguments: _EditCall, context: ToolContext) -> ToolResult:
        from kaa.builtin.file_paths import explained, locate_file  # lazy: many turns call no tool

        workspace = context.workspace
        if arguments.delete or arguments.move_to:
            from kaa.builtin.tools import whole_files  # lazy: few models write patches

            if arguments.delete:
                return await whole_files.delete(arguments.path, context)
            return await whole_files.move(arguments.path, arguments.move_to, context)
        if not arguments.edits:
            raise ToolError("edits is empty. Give at least one {oldText, newText}.")
        file = await locate_file(workspace, arguments.path)
        if file.info.size > _MAX_FILE_BYTES:
            most = format_size(_MAX_FILE_BYTES)
            raise ToolError(f"{file.path} is larger than {most}. Change it by a command: sed, perl or python3.")
        try:
            async with locks.hold(file.info.real_path):
                diff, lines = await _edit_file(context, file, arguments.edits)
        except EditError as error:
            raise ToolError(f"{file.path} was not changed. {error}") from error
        except OSError as error:
            raise await explained(workspace, file.path, error) from error
        count, line = len(arguments.edits), diff.first_changed_line
        several = f"Applied {count} edits to {file.path}, the first in line {line}."
        text = f"Edited {file.path} in line {line}." if count == 1 else several
        if lines and context.features.edited_lines:
            text += f"{NOW_READS}{lines}"
        return text_result(text, details=msgspec.to_builtins(diff))

    return TypedTool("edit", _DESCRIPTION, _EditCall, edit, prepare=normalize_edit_arguments, shown=EditArguments)


async def _edit_file(
    context: ToolContext, file: "Located", replacements: tuple[Replacement, ...]
) -> "tuple[EditDiff, str]":
    """Read, edit and write back, once more if someone else changed the file in between.

    Returns the diff for people, and for the model the lines that changed.
    """
    from kaa.builtin.seen_files import seen_files  # lazy: many turns call no tool

    workspace = context.workspace
    for _ in range(_ATTEMPTS):
        content = await workspace.read(file.path)
        if content.digest is None:
            break
        if len(content.data) > _INLINE_BYTES:
            data, diff, lines = await asyncio.to_thread(_edited, content.data, replacements)
        else:
            data, diff, lines = _edited(content.data, replacements)
        try:
            written = await workspace.write(file.path, data, FileDigest(content.digest))
        except ContentChangedError:
            continue
        seen_files(context).note_edit(file.info, content.data, written, data, context)
        return diff, lines
    raise EditError("Another program keeps changing the file. Read it again, then retry.")


def _edited(data: bytes, replacements: tuple[Replacement, ...]) -> tuple[bytes, "EditDiff", str]:
    # Lazy: the engine would be loaded at every start for the first edit, which may never come.
    from kaa.builtin.diff import changed_lines, diff_of_changes
    from kaa.builtin.text_edit import edit_bytes

    edited = edit_bytes(data, replacements)
    diff = diff_of_changes(edited.text, edited.changes)
    return edited.data, diff, changed_lines(edited.text, edited.changes)


def normalize_edit_arguments(arguments: dict[str, Json]) -> dict[str, Json]:
    """Understand other agents' names of these arguments, and one replacement given without a list."""
    repaired = renamed(arguments, {**PATHS, **_TEXT_NAMES})
    edits = repaired.get("edits")
    if isinstance(edits, str):
        edits = _decoded(edits)
    if isinstance(edits, dict):
        edits = [edits]
    if edits is None:
        edits = []
    if not isinstance(edits, list):
        return repaired
    edits = [renamed(edit, _TEXT_NAMES) if isinstance(edit, dict) else edit for edit in edits]
    if "oldText" in repaired and "newText" in repaired:
        edits.append({"oldText": repaired.pop("oldText"), "newText": repaired.pop("newText")})
    return {**repaired, "edits": edits} if edits or "edits" in repaired else repaired


def _decoded(text: str) -> Json:
    """The JSON a text holds, or the text."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
