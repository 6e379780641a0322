"""Lends the terminal to another program, such as an editor: modes, signals and all."""

import signal
from collections.abc import Callable

from kaa.tui.reactor import Reactor
from kaa.tui.terminal import Terminal


def lend(terminal: Terminal, reactor: Reactor, program: Callable[[], object]) -> None:
    """Leave the terminal to another program while `program` runs it. What Ctrl+C says then is said to that one.

    Args:
        terminal: ours again afterwards.
        reactor: hears nothing of it.
        program: runs the other program to its end.
    """

    def run() -> None:
        with terminal.released():
            program()

    reactor.ignoring((signal.SIGINT,), run)
