"""The whole user interface in one thread: on an emulated terminal, with a clock that only moves when it is told to."""

import os
import signal
import time
from pathlib import Path
from types import TracebackType

import pytest

from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.ui import InteractiveUI
from kaa.tui.reactor import Reactor
from kaa.tui.terminal import Terminal
from tests.frontends.interactive.scripted_core import ScriptedCore
from tests.support.screen import Screen
from tests.support.screen_device import ScreenDevice

# What a shell writes when a program is stopped and goes on.
SHELL_LINE = "\u23fb"


class Puppet:
    """A main view with somebody at it.

    Args:
        folder: kaa's home.
        screen: what is looked at.
        core: what happens.
        monkeypatch: stops the clock, and the stopping of processes.
        environment: variables that tell of the terminal.

    Attributes:
        exit_codes: what the program wanted to end with.
    """

    def __init__(
        self,
        folder: Path,
        screen: Screen,
        core: ScriptedCore,
        monkeypatch: pytest.MonkeyPatch,
        environment: dict[str, str],
    ) -> None:
        self.screen = screen
        self.core = core
        self.device = ScreenDevice(screen)
        self.reactor = Reactor()
        self.exit_codes: list[int] = []
        self._now = 1000.0
        self._kill = os.kill
        monkeypatch.setattr(time, "monotonic", lambda: self._now)
        monkeypatch.setattr(os, "kill", self._stopped)
        self.terminal = Terminal({"TERM": "xterm-256color", **environment}, self.device)
        self.main_view = MainView(str(folder), self.terminal, self.reactor)
        self.ui = InteractiveUI(self.main_view, core, lambda code, _: self.exit_codes.append(code))  # type: ignore[arg-type]  # it stands for the thread
        core.audience, core.respondent = self.ui.presenter, self.ui.questions

    def __enter__(self) -> "Puppet":
        self.main_view.app.start()
        self.ui.take_over(())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.main_view.app.stop()
        self.reactor.close()

    def turn(self, seconds: float = 0.0) -> None:
        """Let the loop do what there is to do, so many seconds later."""
        self._now += seconds
        # Timers come behind what was posted in the same turn.
        self.reactor.post(lambda: self.reactor.post(self.reactor.stop))
        self.reactor.run()

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        self.screen.resize(columns, rows)
        self._kill(os.getpid(), signal.SIGWINCH)

    def interrupt(self) -> None:
        """Stop the process by SIGSTOP, and let it go on."""
        self.device.make_cooked()
        self.screen.feed(f"\r\n{SHELL_LINE}\r\n")
        self._kill(os.getpid(), signal.SIGCONT)

    def _stopped(self, pid: int, signum: int) -> None:
        """What stops the process: the shell has the terminal meanwhile."""
        if signum == signal.SIGTSTP:
            self.screen.feed(f"{SHELL_LINE}\r\n")
        else:
            self._kill(pid, signum)
