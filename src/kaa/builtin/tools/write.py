"""The write tool: a whole file at once, atomically."""

import msgspec

from kaa.builtin.file_locks import FileLocks
from kaa.builtin.tools.argument_names import with_path
from kaa.core.tool import ToolError, ToolResult, TypedTool, text_result
from kaa.ext.context import ToolContext

_DESCRIPTION = "Create or overwrite a file; missing directories are made."


class WriteArguments(msgspec.Struct, rename="camel", frozen=True):
    """What to write where."""

    path: str
    content: str


class _WriteCall(WriteArguments, frozen=True):
    """What `apply_patch` also calls the tool for: a file that is moved (`whole_files`)."""

    move_from: str = ""


def write_tool(locks: FileLocks) -> TypedTool[_WriteCall, ToolContext]:
    """The tool. `locks` are shared with the other tools that change files."""

    async def write(arguments: _WriteCall, context: ToolContext) -> ToolResult:
        from kaa.builtin.file_paths import explained, future_path, is_git_hook, locate  # lazy: many turns call no tool

        if arguments.move_from:
            from kaa.builtin.tools import whole_files  # lazy: few models write patches

            return await whole_files.receive(arguments.move_from, arguments.path, context)
        workspace = context.workspace
        data = _encoded(arguments.content)
        present = await locate(workspace, arguments.path)
        path = arguments.path if present is None else present.path
        try:
            real_path = await future_path(workspace, path) if present is None else present.info.real_path
            async with locks.hold(real_path):
                from kaa.builtin.seen_files import seen_files  # lazy: many turns call no tool

                seen = seen_files(context)
                if present is not None and context.model_calls:
                    await seen.check(path, present.info, data, context)
                executable = is_git_hook(real_path) and data.startswith(b"#!")
                written = await workspace.write(path, data, executable=executable)
                seen.note(written, data, context)
        except OSError as error:
            raise await explained(workspace, path, error) from error
        done = f"{'Created' if present is None else 'Overwrote'} {path} ({len(data)} bytes)."
        return text_result("\n".join(filter(None, (done, written.outside))))

    return TypedTool("write", _DESCRIPTION, _WriteCall, write, prepare=with_path, shown=WriteArguments)


def _encoded(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        position = f"character {error.start} of content"
        raise ToolError(f"{position} is half of a surrogate pair, which no file can hold. Send it whole.") from error
