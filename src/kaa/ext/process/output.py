"""Writes what a process prints to kaa's log, a line each, and only so much."""

import asyncio
from collections import deque

from kaa.host.allowance import RateLimiter
from kaa.host.log import LOG

_CHUNK_BYTES = 64 * 1024
_LINE_CHARACTERS = 2_000
_LAST_LINES, _LAST_CHARACTERS = 5, 300
_LINES_A_SECOND, _BURST_LINES = 100.0, 2_000.0


class OutputLog:
    """The lines of one stream.

    Args:
        name: of the extension.
        stream: `stdout` or `stderr`.
    """

    def __init__(self, name: str, stream: str) -> None:
        self._last: deque[str] = deque(maxlen=_LAST_LINES)
        self._name = name
        self._stream = stream
        self._lines = RateLimiter(_LINES_A_SECOND, _BURST_LINES)
        self._left_out = 0

    @property
    def last(self) -> str:
        """The last lines that are not empty, shortened, for messages about the end of the process."""
        return "\n".join(line[:_LAST_CHARACTERS] for line in self._last)

    def write(self, line: bytes) -> None:
        """Log one line."""
        text = "".join(one if one.isprintable() else " " for one in line.decode(errors="replace")).rstrip()
        if not text:
            return
        text = text[:_LINE_CHARACTERS]
        self._last.append(text)
        if not self._lines.take(1):
            self._left_out += 1
            return
        if self._left_out:
            LOG.warning("extension %s: %d lines of %s are not logged", self._name, self._left_out, self._stream)
            self._left_out = 0
        LOG.info("extension %s: %s: %s", self._name, self._stream, text)

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Log a stream until its end."""
        rest = b""
        while chunk := await reader.read(_CHUNK_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self.write(line)
            if len(rest) > _CHUNK_BYTES:
                self.write(rest)
                rest = b""
        self.write(rest)
