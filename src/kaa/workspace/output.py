"""What is kept of a command's output: its end, its size and, if it is long, all of it in a file."""

import os

from kaa.workspace.protocol import OnOutput

# A command that prints without end writes half a gigabyte per second; the disk is the user's.
_MAX_LOG_BYTES = 1024**3


class OutputCollector:
    """Takes output as it comes and holds a bounded part of it in memory.

    Args:
        logs: directory in which the whole output is kept when it is longer than that; None keeps no more.
        spill_lines: keep it also when it has more lines than this.
        on_output: sees everything as it comes.
        max_log_bytes: how large the log may become.

    Attributes:
        size: bytes so far.
        log_path: where the whole output is; None if it was short or a log could not be written.
        log_cut: the log has only the beginning of the output, as there was too much of it.
    """

    def __init__(
        self,
        tail_bytes: int,
        *,
        logs: str | None,
        spill_lines: int | None = None,
        on_output: OnOutput | None,
        max_log_bytes: int = _MAX_LOG_BYTES,
        suffix: str = ".log",
    ) -> None:
        self._tail_bytes = tail_bytes
        self._logs = logs
        self._spill_lines = spill_lines
        self._on_output = on_output
        self._max_log_bytes = max_log_bytes
        self._suffix = suffix
        self._tail = bytearray()
        self._line_feeds = 0
        self._unterminated = False
        self._log: int | None = None
        self.size = 0
        self.log_path: str | None = None
        self.log_cut = False

    @property
    def tail(self) -> bytes:
        """The last bytes of the output."""
        return bytes(self._tail[-self._tail_bytes :]) if self._tail_bytes else b""

    @property
    def lines(self) -> int:
        """Lines so far, an unterminated last one included."""
        return self._line_feeds + self._unterminated

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of output, which is not empty."""
        self.size += len(chunk)
        self._line_feeds += chunk.count(b"\n")
        self._unterminated = not chunk.endswith(b"\n")
        if self._logs is not None and self._is_long():
            self._write_log(self._logs, chunk)
        self._keep_tail(chunk)
        if self._on_output is not None:
            self._on_output(chunk)

    def close(self) -> None:
        if self._log is not None:
            os.close(self._log)
            self._log = None

    def _is_long(self) -> bool:
        many_lines = self._spill_lines is not None and self.lines > self._spill_lines
        return many_lines or self.size > self._tail_bytes

    def _keep_tail(self, chunk: bytes) -> None:
        if len(chunk) >= self._tail_bytes:
            self._tail[:] = chunk[len(chunk) - self._tail_bytes :]
            return
        self._tail += chunk
        if len(self._tail) > 2 * self._tail_bytes:  # not every time: moving the tail costs more than keeping two
            del self._tail[: -self._tail_bytes]

    def _write_log(self, directory: str, chunk: bytes) -> None:
        try:
            if self._log is None:
                from kaa.workspace.logs import open_log  # lazy: few outputs are so long

                self._log, self.log_path = open_log(directory, self._suffix)
                _write_all(self._log, bytes(self._tail))  # up to now it was all of the output
            room = max(self._max_log_bytes - (self.size - len(chunk)), 0)
            _write_all(self._log, chunk[:room])
            if room < len(chunk):
                self.log_cut, self._logs = True, None
        except OSError:
            # No room for the log is no reason to stop the command; what `tail` holds remains.
            self._logs = None
            self._give_up_log()

    def _give_up_log(self) -> None:
        self.close()
        if self.log_path is not None:
            os.unlink(self.log_path)
            self.log_path = None


def _write_all(descriptor: int, data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]
