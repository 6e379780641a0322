"""The terminal as the kernel has it: two descriptors, line settings, a size."""

import errno
import fcntl
import os
import select
import sys
import termios
from typing import Any

# Indices into what `termios.tcgetattr` returns.
_INPUT, _CONTROL, _LOCAL, _CHARACTERS = 0, 2, 3, 6
_READ_SIZE = 65536


class Device:
    """Bytes to and from the terminal.

    Attributes:
        gone: it was closed or hung up; what is written is thrown away, what is read is empty.
        erase: what its backspace key sends.
        is_cut_off: the last `write` was interrupted by an exception, or is by the signal that is being handled.

    Args:
        input_fd: descriptor to read from, by default standard input if it is a terminal, or the process's terminal.
        output_fd: descriptor to write to, in the same way.

    Raises:
        OSError: there is no terminal.
    """

    def __init__(self, input_fd: int | None = None, output_fd: int | None = None) -> None:
        self._opened: list[int] = []
        self.input_fd = self._terminal(0, os.O_RDONLY) if input_fd is None else input_fd
        self.output_fd = self._terminal(1, os.O_WRONLY) if output_fd is None else output_fd
        self.gone = False
        self.is_cut_off = False
        self._typed_ahead = 0
        self._saved = termios.tcgetattr(self.input_fd)
        self.erase = self._saved[_CHARACTERS][termios.VERASE].decode("latin-1")

    def _terminal(self, fd: int, flags: int) -> int:
        if os.isatty(fd):
            return fd
        opened = os.open("/dev/tty", flags | os.O_NOCTTY | os.O_CLOEXEC)
        self._opened.append(opened)
        return opened

    @property
    def is_raw(self) -> bool:
        """Whether keys come one by one. Shells change that behind our back when they stop us."""
        try:
            return not termios.tcgetattr(self.input_fd)[_LOCAL] & termios.ICANON
        except termios.error:
            return False

    def make_raw(self) -> None:
        """Get every key as it is typed. Keys that were typed before are kept."""
        try:
            self._saved = termios.tcgetattr(self.input_fd)
            raw = termios.tcgetattr(self.input_fd)
            raw[_INPUT] &= ~(
                termios.BRKINT
                | termios.ICRNL
                | termios.IGNCR
                | termios.INLCR
                | termios.INPCK
                | termios.ISTRIP
                | termios.IXON
            )
            raw[_CONTROL] = raw[_CONTROL] & ~(termios.CSIZE | termios.PARENB) | termios.CS8
            raw[_LOCAL] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
            raw[_CHARACTERS][termios.VMIN] = 1
            raw[_CHARACTERS][termios.VTIME] = 0
            self._set_line(raw)
            self._typed_ahead = self._waiting()
        except (termios.error, OSError):
            self.gone = True

    def make_cooked(self) -> None:
        """Set the line as it was."""
        try:
            self._set_line(self._saved)
        except termios.error:
            self.gone = True

    def _set_line(self, settings: list[Any]) -> None:
        # Not TCSAFLUSH, which throws away what was typed. Nobody waits for a terminal that takes nothing any more.
        when = termios.TCSANOW if self.gone else termios.TCSADRAIN
        while True:
            try:
                termios.tcsetattr(self.input_fd, when, settings)
            except termios.error as error:
                # Who does this in the background is stopped, and interrupted when it goes on.
                if error.args[0] != errno.EINTR:
                    raise
            else:
                return

    def read(self) -> bytes:
        """What is there, waiting for something; empty if the terminal is gone."""
        try:
            data = os.read(self.input_fd, _READ_SIZE)
        except BlockingIOError:
            select.select((self.input_fd,), (), ())
            return self.read()
        except OSError:
            data = b""
        if not data:
            self.gone = True
        if self._typed_ahead:
            # The kernel had already turned these carriage returns into line feeds.
            early, data = data[: self._typed_ahead], data[self._typed_ahead :]
            self._typed_ahead -= len(early)
            data = early.replace(b"\n", b"\r") + data
        return data

    def read_within(self, seconds: float) -> bytes:
        """What comes first within this time; empty if nothing does."""
        try:
            ready, _, _ = select.select((self.input_fd,), (), (), seconds)
        except OSError:
            return b""
        return self.read() if ready else b""

    @property
    def is_blocked(self) -> bool:
        """Whether the terminal takes nothing at the moment: it is paused, or its connection is stuck."""
        try:
            return not select.select((), (self.output_fd,), (), 0)[1]
        except OSError:
            return True

    def write(self, text: str) -> None:
        """All of it; waits for a terminal that is slow."""
        left = memoryview(text.encode("utf-8", "replace"))
        self.is_cut_off = True
        while left and not self.gone:
            try:
                left = left[os.write(self.output_fd, left) :]
            except BlockingIOError:  # whoever shares the descriptor with us made it so
                select.select((), (self.output_fd,), ())
            except OSError:  # whatever it is called, nobody sees what we write any more
                self.gone = True
        self.is_cut_off = False

    def size(self) -> tuple[int, int] | None:
        """Columns and rows; None if it does not know them."""
        try:
            columns, rows = os.get_terminal_size(self.output_fd)
        except OSError:
            return None
        return (columns, rows) if columns and rows else None

    def close(self) -> None:
        """Close what was opened."""
        while self._opened:
            os.close(self._opened.pop())

    def _waiting(self) -> int:
        """How many bytes can be read at once."""
        count = fcntl.ioctl(self.input_fd, termios.FIONREAD, b"\0\0\0\0")
        return int.from_bytes(count, sys.byteorder)
