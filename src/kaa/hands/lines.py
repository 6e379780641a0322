"""Whole lines out of a stream of bytes, without reading more of it than needed."""

from collections.abc import Callable
from typing import NamedTuple

CHUNK_BYTES = 256 * 1024


class Lines(NamedTuple):
    """Some lines of a file. Fields as in the workspace's `LineSlice`."""

    data: bytes
    lines: int
    total_lines: int | None
    end_of_file: bool
    first_line_cut: bool


class _CountingReader:
    """Reads on and keeps count of the lines that went by."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._line_feeds = 0
        self._last = b"\n"
        self.ended = False

    def chunk(self) -> bytes:
        """The next bytes; empty at the end of the file."""
        data = self._read(CHUNK_BYTES)
        if data:
            self._line_feeds += data.count(b"\n")
            self._last = data[-1:]
        else:
            self.ended = True
        return data

    def lines(self) -> int:
        """How many lines went by, an unterminated last one included."""
        return self._line_feeds + (self._last != b"\n")


def slice_lines(read: Callable[[int], bytes], start: int, max_lines: int, max_bytes: int, *, count: bool) -> Lines:
    """Take up to `max_lines` whole lines and `max_bytes` bytes from line `start` on.

    Args:
        read: gives up to so many bytes, at least one before the end of the file.
        start: number of the first line, from 1.
        max_lines: how many lines at most.
        max_bytes: how many bytes at most, line endings included.
        count: read to the end of the file in order to know how many lines it has.
    """
    reader = _CountingReader(read)
    window = _skip_lines(reader, start - 1)
    line_feeds = window.count(b"\n")
    while len(window) <= max_bytes and line_feeds < max_lines and (chunk := reader.chunk()):
        line_feeds += chunk.count(b"\n")
        window += chunk

    data = _whole_lines(window, max_lines, max_bytes, complete=reader.ended)
    beyond = len(data) < len(window)
    if not beyond and not reader.ended:
        beyond = bool(reader.chunk())
    while count and reader.chunk():
        pass
    return Lines(
        data=data,
        lines=data.count(b"\n") + (bool(data) and not data.endswith(b"\n")),
        total_lines=reader.lines() if reader.ended else None,
        end_of_file=not beyond,
        first_line_cut=beyond and not data and max_lines > 0,
    )


def _skip_lines(reader: _CountingReader, lines: int) -> bytearray:
    """Go past so many lines; returns what of the following was read along."""
    while chunk := reader.chunk():
        in_chunk = chunk.count(b"\n")
        if in_chunk < lines:
            lines -= in_chunk
            continue
        return bytearray(chunk[_after_lines(chunk, lines) :])
    return bytearray()


def _after_lines(data: bytes | bytearray, lines: int) -> int:
    """Offset after the `lines`-th line feed; the length of `data` if it has fewer."""
    offset = 0
    for _ in range(lines):
        offset = data.find(b"\n", offset) + 1
        if offset == 0:
            return len(data)
    return offset


def _whole_lines(window: bytearray, max_lines: int, max_bytes: int, *, complete: bool) -> bytes:
    """The whole lines at the start of `window`. `complete`: the file ends where `window` ends."""
    all_fits = complete and len(window) <= max_bytes
    end = len(window) if all_fits else window.rfind(b"\n", 0, max_bytes) + 1
    return bytes(window[: min(end, _after_lines(window, max_lines))])
