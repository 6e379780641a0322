"""Limits the text of each tool result: the model gets its beginning and its end, and a file has all of it.

kaa's own tools keep to a limit of their own. Results of extensions come here as they are.
"""

import msgspec

from kaa.builtin.truncate import MAX_BYTES, MAX_LINES, format_size, keep_head, keep_tail
from kaa.core.hooks import AfterTool
from kaa.core.messages import TextContent, ToolCall
from kaa.core.tool import ToolResult
from kaa.workspace.protocol import Workspace

# Kaa's own tools use their whole limit and add a note.
_NOTE_LINES, _NOTE_BYTES = 50, 4 * 1024


def limiting(workspace: Workspace) -> AfterTool:
    """A hook after tools."""

    async def limit(_: ToolCall, result: ToolResult) -> ToolResult | None:
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        if sum(map(len, texts)) <= MAX_BYTES // 4 and sum(text.count("\n") for text in texts) < MAX_LINES:
            return None  # whatever characters these are
        whole = "\n".join(texts)
        lines, size = whole.split("\n"), len(whole.encode(errors="replace"))
        if len(lines) <= MAX_LINES + _NOTE_LINES and size <= MAX_BYTES + _NOTE_BYTES:
            return None
        head = keep_head(lines, MAX_LINES // 2, MAX_BYTES // 2)
        tail = keep_tail(lines[len(head.lines) :], MAX_LINES // 2, MAX_BYTES // 2)
        path = await workspace.keep(whole)
        left_out = f"[{format_size(size - head.size - tail.size)} of {format_size(size)} are left out here. "
        left_out += f"Full result: {path}]" if path is not None else "They were not kept]"
        text = "\n".join((*head.lines, left_out, *tail.lines))
        others = (block for block in result.content if not isinstance(block, TextContent))
        return msgspec.structs.replace(result, content=(TextContent(text), *others))

    return limit
