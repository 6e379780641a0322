"""What a call of a file tool would change, for the question whether it may run: nothing of the change is left out."""

import asyncio
from difflib import SequenceMatcher
from itertools import accumulate

import msgspec

from kaa.builtin.diff import diff_of_changes, split_lines
from kaa.builtin.file_paths import locate
from kaa.builtin.replacement import EditError
from kaa.builtin.text_edit import Substitution, edit_bytes
from kaa.builtin.tools.argument_names import with_path
from kaa.builtin.tools.edit import EditArguments, normalize_edit_arguments
from kaa.builtin.tools.write import WriteArguments
from kaa.core.arguments import ArgumentError, parse_arguments
from kaa.core.messages import Json
from kaa.core.tool import ToolError
from kaa.workspace.protocol import Workspace

# Beyond these, comparing would keep the question waiting; the question then shows the arguments.
_MAX_BYTES = 1024 * 1024
_MAX_LINES = 2_000
_CONTEXT_LINES = 3


async def change_preview(workspace: Workspace, tool: str, arguments: dict[str, Json]) -> str:
    """The change as a diff with the file's line numbers and lines around it (`kaa.builtin.diff`).

    Returns:
        The diff; empty if the file is new, cannot be read or is too large, or if the tool would refuse the call.
    """
    try:
        match tool:
            case "edit":
                edit = parse_arguments(normalize_edit_arguments(arguments), EditArguments)
                before = await _read(workspace, edit.path)
                return "" if before is None else await asyncio.to_thread(_edited, before, edit)
            case "write":
                write = parse_arguments(with_path(arguments), WriteArguments)
                before = await _read(workspace, write.path)
                return "" if before is None else await asyncio.to_thread(text_change, before.decode(), write.content)
            case _:
                return ""
    except (ArgumentError, ToolError, EditError, OSError, UnicodeError, msgspec.ValidationError):
        return ""


async def _read(workspace: Workspace, path: str) -> bytes | None:
    found = await locate(workspace, path)
    if found is None or found.info.kind == "directory" or found.info.size > _MAX_BYTES:
        return None
    return (await workspace.read(found.path, 0, _MAX_BYTES)).data


def _edited(before: bytes, edit: EditArguments) -> str:
    edited = edit_bytes(before, edit.edits)
    if _has_old_endings(edited.text):
        return ""
    return diff_of_changes(edited.text, edited.changes, context_lines=_CONTEXT_LINES, line_characters=None).diff


def text_change(before: str, after: str) -> str:
    """Return the diff between two texts; empty if they are equal, or too long to be compared."""
    old, new = split_lines(before, "\n"), split_lines(after, "\n")
    if max(len(old), len(new)) > _MAX_LINES or _has_old_endings(before):
        return ""
    starts = list(accumulate(map(len, old), initial=0))
    changes = [
        Substitution(starts[first], starts[end], "".join(new[new_first:new_end]))
        for kind, first, end, new_first, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind != "equal"
    ]
    if not changes:
        return ""
    return diff_of_changes(before, changes, context_lines=_CONTEXT_LINES, line_characters=None).diff


def _has_old_endings(text: str) -> bool:
    """Whether lines end with carriage returns only: a line feed in new text would look like a line of the diff."""
    return "\r" in text and "\n" not in text
