"""How the tools that answer with a list of lines present it."""

from collections.abc import Sequence

import msgspec

from kaa.builtin.truncate import MAX_BYTES, TruncationDetails, format_size, keep_head
from kaa.core.tool import ToolResult, text_result


def listing_result(lines: Sequence[str], notes: Sequence[str], *, none: str) -> ToolResult:
    """The lines, as many as fit, and in brackets what the model should know of those that are missing.

    Args:
        none: what stands there if there are no lines.
    """
    if not lines:
        return text_result("\n\n".join([none, *(f"[{note}]" for note in notes)]))
    kept = keep_head(lines, max_lines=len(lines))
    details = None
    if kept.cut_by is not None:
        notes = [*notes, f"{len(kept.lines)} of {len(lines)} lines shown, {format_size(MAX_BYTES)} at most: narrow it"]
        total_bytes = sum(len(line.encode()) + 1 for line in lines) - 1
        truncation = TruncationDetails(
            kept.cut_by, len(kept.lines), kept.size, total_bytes, len(lines), max_lines=len(lines)
        )
        details = {"truncation": msgspec.to_builtins(truncation)}
    return text_result("\n\n".join([kept.text, *(f"[{note}]" for note in notes)]), details=details)
