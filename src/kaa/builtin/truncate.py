"""Keeping tool output within what a model's context can bear, at whole lines where possible."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

MAX_LINES = 2000
MAX_BYTES = 50 * 1024
# Of the end of an output, where something else that matters comes before it.
SHORT_END_LINES = 60
SHORT_END_BYTES = 6 * 1024


class TruncatedText(msgspec.Struct, frozen=True):
    """What is left of some lines.

    Attributes:
        size: their size in UTF-8 bytes, line feeds between them included.
        cut_by: the limit that dropped lines, None if all were kept.
        partial: the only line kept is itself cut.
    """

    lines: tuple[str, ...]
    size: int
    cut_by: Literal["lines", "bytes"] | None = None
    partial: bool = False

    @property
    def text(self) -> str:
        """The lines kept, as one text."""
        return "\n".join(self.lines)


class TruncationDetails(msgspec.Struct, rename="camel", frozen=True):
    """For frontends: what was left out of a result. Field names as in pi."""

    truncated_by: Literal["lines", "bytes"]
    output_lines: int
    output_bytes: int
    total_bytes: int
    total_lines: int | None = None
    truncated: bool = True
    max_lines: int = MAX_LINES
    max_bytes: int = MAX_BYTES


def keep_head(lines: Iterable[str], max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> TruncatedText:
    """The first lines that fit, whole; none if the first one is too long."""
    kept: list[str] = []
    size = -1
    for line in lines:
        if len(kept) == max_lines:
            return TruncatedText(tuple(kept), max(size, 0), "lines")
        grown = size + 1 + _utf8_size(line)
        if grown > max_bytes:
            return TruncatedText(tuple(kept), max(size, 0), "bytes")
        kept.append(line)
        size = grown
    return TruncatedText(tuple(kept), max(size, 0))


def keep_tail(lines: Sequence[str], max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> TruncatedText:
    """The last lines that fit, whole; the end of the last one if that alone is too long."""
    kept = keep_head(reversed(lines), max_lines, max_bytes)
    if kept.cut_by == "bytes" and not kept.lines:
        end = lines[-1].encode("utf-8", "replace")[-max_bytes:].decode("utf-8", "ignore") if max_bytes else ""
        return TruncatedText((end,), _utf8_size(end), "bytes", partial=True)
    return TruncatedText(kept.lines[::-1], kept.size, kept.cut_by)


def cut_line(line: str, max_characters: int) -> str:
    """A line, cut with a visible mark if it is too long."""
    return line if len(line) <= max_characters else f"{line[:max_characters]}... [cut]"


def format_size(size: int) -> str:
    """A number of bytes for people: `700 B`, `50.0 KB`, `3.2 MB`."""
    if size < 1024:
        return f"{size} B"
    if size < 1024 * 1024:
        return f"{size / 1024:.1f} KB"
    return f"{size / (1024 * 1024):.1f} MB"


def _utf8_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
