"""Brings what the terminal sends, and signals about it, to the thread that runs the reactor."""

import signal
from collections.abc import Callable

from kaa.tui.decoder import InputDecoder
from kaa.tui.events import Event, TerminalReply
from kaa.tui.reactor import Reactor, Timer
from kaa.tui.terminal import Terminal

# How long after an escape the rest of a sequence may take.
_PAUSE_SECONDS, _PAUSE_SECONDS_OVER_SSH = 0.03, 0.1


class TerminalInput:
    """Reads, decodes and hands over in batches: what came in one read can be shown in one frame.

    Args:
        terminal: learns from its answers before they are handed over.
        reactor: calls all of these.
        on_events: gets every batch; never an empty one.
        on_resize: the size has changed.
        on_resume: the process was stopped by somebody else than us, and goes on: everything has to be painted again.
        on_gone: the terminal was closed.
    """

    def __init__(
        self,
        terminal: Terminal,
        reactor: Reactor,
        on_events: Callable[[list[Event]], object],
        *,
        on_resize: Callable[[], object],
        on_resume: Callable[[], object],
        on_gone: Callable[[], object],
    ) -> None:
        self._terminal = terminal
        self._reactor = reactor
        self._on_events = on_events
        self._on_resize = on_resize
        self._on_resume = on_resume
        self._on_gone = on_gone
        self._decoder = InputDecoder(terminal.device.erase)
        self._pause = _PAUSE_SECONDS_OVER_SSH if terminal.capabilities.over_ssh else _PAUSE_SECONDS
        self._timer: Timer | None = None
        reactor.watch(terminal.device.input_fd, self._read)
        reactor.on_signal(signal.SIGWINCH, self._resized)
        reactor.on_signal(signal.SIGCONT, self._continued)
        # It may have changed before anybody listened.
        reactor.post(self._resized)

    def ask_cursor(self) -> None:
        """Ask where the cursor is; a `cursor` reply tells, if the terminal does."""
        self._decoder.expect_cursor_report()
        self._terminal.write("\x1b[6n")

    def _read(self) -> None:
        data = self._terminal.device.read()
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if not data:
            self._reactor.unwatch(self._terminal.device.input_fd)
            self._on_gone()
            return
        self._hand_over(self._decoder.feed(data))
        if self._decoder.pending:
            self._timer = self._reactor.call_later(self._pause, self._paused)

    def _paused(self) -> None:
        self._timer = None
        self._hand_over(self._decoder.flush())

    def _hand_over(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, TerminalReply):
                self._terminal.learn(event)
        if events:
            self._on_events(events)

    def _resized(self) -> None:
        if self._terminal.update_size():
            self._on_resize()

    def _continued(self) -> None:
        if self._terminal.resume():
            self._on_resume()
