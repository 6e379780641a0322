"""The read tool: a slice of a text file, or an image."""

import asyncio
import io
import shlex
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from kaa.builtin.tools.argument_names import with_path
from kaa.builtin.truncate import MAX_BYTES, MAX_LINES, TruncationDetails, format_size
from kaa.core.messages import ImageContent, TextContent
from kaa.core.tool import ToolError, ToolResult, TypedTool, text_result
from kaa.ext.context import ToolContext
from kaa.workspace.protocol import LineSlice, Workspace

if TYPE_CHECKING:
    from kaa.builtin.file_paths import Located

_DESCRIPTION = (
    "Read a text file or image. "
    f"At most {MAX_LINES} lines or {MAX_BYTES // 1024} KB: continue a longer one with offset."
)
_SAMPLE_BYTES = 4096
_MAX_WHOLE_BYTES = 64 * 1024 * 1024


class ReadArguments(msgspec.Struct, rename="camel", frozen=True):
    """What to read. `offset` counts lines from 1; `limit`: how many lines."""

    path: str
    offset: Annotated[int | None, Meta(description="First line, from 1")] = None
    limit: int | None = None


def read_tool() -> TypedTool[ReadArguments, ToolContext]:
    """The tool."""
    return TypedTool("read", _DESCRIPTION, ReadArguments, _read_call, prepare=with_path)


async def _read_call(arguments: ReadArguments, context: ToolContext) -> ToolResult:
    from kaa.builtin.file_paths import explained, locate_file  # lazy: as above

    workspace = context.workspace
    first = 1 if arguments.offset is None else max(arguments.offset, 1)
    if arguments.offset is not None and arguments.offset < 0:
        raise ToolError("offset counts lines from 1. For the end of a file run: tail -n 100 FILE")
    if arguments.limit is not None and arguments.limit < 1:
        raise ToolError("limit must be at least 1.")
    file = await locate_file(workspace, arguments.path)
    try:
        result, whole = await _read(workspace, file, first, min(arguments.limit or MAX_LINES, MAX_LINES))
    except OSError as error:
        raise await explained(workspace, arguments.path, error) from error
    from kaa.builtin.seen_files import seen_files  # lazy: many turns call no tool

    seen_files(context).note(file.info, whole, context)
    return result


async def _read(workspace: Workspace, file: "Located", first: int, limit: int) -> tuple[ToolResult, bytes | None]:
    """Return the result, and the bytes of the file if all of them are in it."""
    from kaa.builtin.encoding import detect_encoding, is_binary  # lazy: as above
    from kaa.builtin.images import image_type  # lazy: many turns read nothing

    lines = await workspace.read_lines(file.path, first, limit, MAX_BYTES)
    has_sample = first == 1 and (lines.end_of_file or len(lines.data) >= _SAMPLE_BYTES)
    begin = lines.data if has_sample else (await workspace.read(file.path, 0, _SAMPLE_BYTES)).data
    sample = begin[:_SAMPLE_BYTES]
    mime_type = image_type(sample)
    if mime_type is not None:
        return await _read_image(workspace, file, mime_type), None
    if is_binary(sample):
        return _binary(file), None
    is_wide = detect_encoding(sample).codec.startswith("utf-16")
    if is_wide:
        lines = await _wide_lines(workspace, file, first, limit)
    if is_binary(lines.data):
        return _binary(file), None
    is_whole = first == 1 and lines.end_of_file and not is_wide
    return _text(file, lines, first, limit), lines.data if is_whole else None


async def _wide_lines(workspace: Workspace, file: "Located", first: int, limit: int) -> LineSlice:
    """Lines of a UTF-16 file, as UTF-8. Where its lines end only decoding can tell, so it is read whole."""
    data = await _read_whole(workspace, file)

    def cut() -> LineSlice:
        from kaa.builtin.encoding import display_text  # lazy, as above
        from kaa.hands.lines import slice_lines  # lazy: few files are in UTF-16

        text = display_text(data).encode()
        lines = slice_lines(io.BytesIO(text).read, first, limit, MAX_BYTES, count=True)
        return LineSlice(lines.data, lines.lines, lines.total_lines, len(data), lines.end_of_file, lines.first_line_cut)

    return await asyncio.to_thread(cut)


def _text(file: "Located", lines: LineSlice, first: int, limit: int) -> ToolResult:
    from kaa.builtin.encoding import display_text  # lazy, as above

    if not lines.data and lines.total_lines == 0:  # the size says nothing: files of /proc claim to have none
        return text_result("[The file is empty.]")
    if lines.first_line_cut:
        command = f"sed -n {first}p {shlex.quote(file.path)} | cut -c 1-10000"
        return text_result(
            f"[Line {first} is longer than {format_size(MAX_BYTES)}. Read a part by a command: {command}]"
        )
    if not lines.data:
        total = f"{lines.total_lines} lines" if lines.total_lines is not None else "fewer lines"
        raise ToolError(f"offset {first} is beyond the end of {file.path}, which has {total}.")
    text = display_text(lines.data).replace("\r\n", "\n").removesuffix("\n")
    if lines.end_of_file:
        return text_result(text)
    last = first + lines.lines - 1
    extent = "; more follow" if lines.total_lines is None else f" of {lines.total_lines}"
    note = f"[Lines {first}-{last}{extent}. Continue with offset={last + 1}.]"
    details = None
    if lines.lines == MAX_LINES or lines.lines < limit:
        by_lines = lines.lines == MAX_LINES
        truncation = TruncationDetails(
            "lines" if by_lines else "bytes", lines.lines, len(lines.data), lines.size, lines.total_lines
        )
        details = {"truncation": msgspec.to_builtins(truncation)}
    return text_result(f"{text}\n\n{note}", details=details)


def _binary(file: "Located") -> ToolResult:
    size = format_size(file.info.size)
    return text_result(f"[{file.path} is a binary file of {size}. Look into it by a command: file, strings or xxd.]")


async def _read_image(workspace: Workspace, file: "Located", mime_type: str) -> ToolResult:
    from kaa.builtin.images import ImageError, prepare_image  # lazy, as above

    data = await _read_whole(workspace, file)
    try:
        image = await prepare_image(data, mime_type)
    except ImageError as error:
        raise ToolError(f"{file.path} cannot be shown: {error}. Look into it by a command: file, xxd.") from error
    width, height = image.original_size
    notes = [f"[{mime_type}, {width}x{height} pixels]", *([image.note] if image.note else [])]
    return ToolResult((TextContent("\n".join(notes)), ImageContent(image.base64, image.mime_type)))


async def _read_whole(workspace: Workspace, file: "Located") -> bytes:
    if file.info.size > _MAX_WHOLE_BYTES:
        most = format_size(_MAX_WHOLE_BYTES)
        raise ToolError(f"{file.path} is larger than {most}. Make a smaller copy by a command and read that.")
    return (await workspace.read(file.path)).data
