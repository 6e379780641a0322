"""A program on a pseudo-terminal, with an emulated screen before it and fingers on its keyboard.

with Program.start(["kaa"], env=environment, cwd=project) as program:
    program.wait_for("Ask anything")
    program.type("hello")
    program.press("enter")
    program.wait_for("Hello!")
"""

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

from tests.support.key_bytes import key_bytes, mouse_bytes, paste_bytes
from tests.support.patience import HANG_SECONDS
from tests.support.processes import Processes
from tests.support.screen import Screen
from tests.support.screen_replies import CELL_HEIGHT, CELL_WIDTH
from tests.support.warm_start import KaaProcess

# What is waited for: a text on the screen, a pattern in it (`^` and `$` are ends of rows), or a condition.
Wanted: TypeAlias = str | re.Pattern[str] | Callable[[Screen], bool]

# How long a program may take to end when its terminal is closed. Then it is killed, with what it would have saved.
_HANG_UP_SECONDS = 20.0

_STEP_SECONDS = 0.02


class NotShownError(AssertionError):
    """What was waited for did not come; the message shows the screen."""


class Program:
    """A program that runs in a terminal. Nothing is read from it but while something is waited for.

    Attributes:
        screen: what it shows.
        pid: its process.
        received: how many bytes it has written.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", terminal: int, line: int, screen: Screen) -> None:
        self.screen = screen
        self.pid = process.pid
        self.received = 0
        self._process = process
        self._terminal = terminal
        # Held open, so that nothing is lost when the program ends, and to look at the line's settings afterwards.
        self._line = line

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        screen: Screen | None = None,
        limits: Mapping[str, float] = {},
    ) -> "Program":
        """Start a program.

        Args:
            argv: its path or name, and its arguments.
            env: all of its environment; `TERM` and `COLORTERM` are added where they are missing.
            cwd: where it runs.
            screen: the terminal: its size, what it answers. Without it, one of 100 columns and 30 rows.
            limits: see `KaaProcess`.
        """
        screen = screen or Screen(100, 30)
        terminal, line = os.openpty()
        _set_size(terminal, screen)
        os.set_blocking(terminal, False)
        process: KaaProcess[bytes] = KaaProcess(
            list(argv),
            terminal=os.ttyname(line),
            env={"TERM": "xterm-256color", "COLORTERM": "truecolor", **env},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            limits=limits,
        )
        return cls(process, terminal, line, screen)

    def __enter__(self) -> "Program":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Fingers

    def type(self, text: str) -> None:
        """Type a text, key by key. A line feed is the Enter key."""
        for character in text:
            is_capital = character.isupper() and len(character.lower()) == 1
            name = {"\n": "enter", "\t": "tab", " ": "space"}.get(character, character)
            self.press(f"shift+{character.lower()}" if is_capital else name)

    def press(self, *keys: str) -> None:
        """Press keys one after another, such as `ctrl+p`."""
        for key in keys:
            self.write(key_bytes(key, kitty=self.screen.keyboard, modes=self.screen.modes))

    def paste(self, text: str) -> None:
        """Paste a text."""
        self.write(paste_bytes(text, self.screen.modes))

    def click(self, row: int, column: int) -> None:
        """Press and release the left button."""
        self.write(mouse_bytes(0, column, row) + mouse_bytes(0, column, row, pressed=False))

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        self.pump()
        self.screen.resize(columns, rows)
        _set_size(self._terminal, self.screen)

    def write(self, data: bytes) -> None:
        """Send bytes as they are, reading meanwhile: a terminal's buffer is small."""
        while data:
            try:
                data = data[os.write(self._terminal, data) :]
            except BlockingIOError:
                select.select([self._terminal], [self._terminal], [], _STEP_SECONDS)
                self.pump()

    # Eyes

    def pump(self, seconds: float = 0.0) -> bool:
        """Take in what the program has written, waiting so long for something; whether there was anything."""
        if not select.select([self._terminal], [], [], seconds)[0]:
            return False
        read = False
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._terminal, 65536):
                read = True
                self.received += len(data)
                self.screen.feed(data)
                self._send_replies()
        return read

    def wait_for(self, wanted: Wanted, seconds: float = HANG_SECONDS) -> None:
        """Wait until the screen shows something.

        Raises:
            NotShownError: it does not within `seconds`, or the program ended.
        """
        deadline = time.monotonic() + seconds
        while not _shows(self.screen, wanted):
            if time.monotonic() > deadline:
                raise NotShownError(f"{_named(wanted)} did not appear within {seconds:g} s:\n{self.picture()}")
            if not self.pump(_STEP_SECONDS) and self._process.poll() is not None and not self.pump():
                if _shows(self.screen, wanted):
                    return
                raise NotShownError(f"the program ended before {_named(wanted)} appeared:\n{self.picture()}")

    def wait_until_quiet(self, seconds: float = 0.15) -> None:
        """Wait until nothing has been written for so long.

        Raises:
            NotShownError: it never stops writing.
        """
        deadline = time.monotonic() + HANG_SECONDS
        while self.pump(seconds):
            if time.monotonic() > deadline:
                raise NotShownError(f"the program does not stop writing:\n{self.picture()}")

    def picture(self) -> str:
        """The screen, framed."""
        width = self.screen.columns
        return "\n".join(
            ["┌" + "─" * width + "┐", *(f"│{line}" for line in self.screen.lines()), "└" + "─" * width + "┘"]
        )

    # Ends

    @property
    def exit_status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def wait_for_end(self, seconds: float = HANG_SECONDS) -> int:
        """Wait for the program to end; its exit status.

        Raises:
            NotShownError: it goes on.
        """
        deadline = time.monotonic() + seconds
        while self._process.poll() is None:
            if time.monotonic() > deadline:
                raise NotShownError(f"the program did not end within {seconds:g} s:\n{self.picture()}")
            self.pump(_STEP_SECONDS)
        self.pump()
        return self._process.returncode

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def close(self) -> None:
        """Close the terminal, as if its window was closed, and end what goes on all the same."""
        if self._terminal < 0:
            return
        started: list[int] = []
        if self._process.poll() is None:
            started = Processes().descendants(self.pid)
            self._process.send_signal(signal.SIGHUP)
            with contextlib.suppress(NotShownError):
                self.wait_for_end(_HANG_UP_SECONDS)
        for pid in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)
        os.close(self._line)
        self._terminal = -1

    # Measures

    @property
    def is_raw(self) -> bool:
        """Whether the terminal's line hands keys on at once and unseen, as full-screen programs want it."""
        return not termios.tcgetattr(self._line)[3] & (termios.ICANON | termios.ECHO)

    def _send_replies(self) -> None:
        while self.screen.replies:
            self.write(self.screen.replies.pop(0).encode())


def _set_size(terminal: int, screen: Screen) -> None:
    rows, columns = screen.rows, screen.columns
    fcntl.ioctl(
        terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, columns * CELL_WIDTH, rows * CELL_HEIGHT)
    )


def _shows(screen: Screen, wanted: Wanted) -> bool:
    if isinstance(wanted, str):
        return wanted in screen.text()
    if isinstance(wanted, re.Pattern):
        return re.search(wanted.pattern, screen.text(), wanted.flags | re.MULTILINE) is not None
    return wanted(screen)


def _named(wanted: Wanted) -> str:
    if callable(wanted):
        return "what was waited for"
    return repr(wanted.pattern if isinstance(wanted, re.Pattern) else wanted)
