"""A program in the terminal: events go in, frames come out, and nothing else writes to the terminal.

What is typed is painted at once. What comes from elsewhere (`refresh`) is painted with the next frame: at most thirty
times a second, and so that painting takes a third of the time at most. (Stage 1.)
"""

import signal
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kaa.tui.context import Context
from kaa.tui.decoder import InputDecoder
from kaa.tui.document import Document
from kaa.tui.events import Event, Input, Mouse, TerminalReply
from kaa.tui.inline_view import InlineView
from kaa.tui.reactor import Reactor, Timer
from kaa.tui.terminal import Terminal

if TYPE_CHECKING:
    from kaa.tui.alternate_screen import AlternateScreen


# Text that flows faster is not easier to read, and every frame costs.
_FRAME_SECONDS = 1 / 30
# Between two frames there is this many times the time that the last one took.
_PAUSE_FACTOR = 2.0


class Application:
    """Paints a document, and hands over what is typed.

    Args:
        terminal: opened by `start`.
        reactor: the loop of this thread.
        context: size, colours and keys.
        document: what is painted; the keys go to its dock first.

    Attributes:
        on_events: gets what is typed and everything else that comes from the terminal, in batches; after each one
            a frame is painted. The cursor's position and resizes are dealt with already.
        on_gone: called when the terminal was closed.
        on_copy: takes what was selected with the mouse.
        is_looking: whether another document is shown than the program's own.
    """

    def __init__(self, terminal: Terminal, reactor: Reactor, context: Context, document: Document) -> None:
        self.terminal = terminal
        self.reactor = reactor
        self.context = context
        self.document = document
        self.on_events: Callable[[Sequence[Event]], object] = lambda _: None
        self.on_gone: Callable[[], object] = reactor.stop
        self.on_copy: Callable[[str], object] = lambda _: None
        self.is_looking = False
        self._main = InlineView(terminal, reactor, context, document, self.paint)
        self._alternate: AlternateScreen | None = None
        self._looks_back_at: AlternateScreen | None = None  # what was shown before another document
        self._is_searching = False  # it goes on by itself
        self._input: TerminalInput | None = None
        self._frame: Timer | None = None
        self._painted_at = 0.0
        self._paint_seconds = 0.0

    def start(self) -> None:
        """Take the terminal and paint the first frame."""
        self.terminal.open()
        self.terminal.farewell = self._main.farewell
        self.document.marks_prompts = self.terminal.capabilities.takes_strings
        self.paint()
        self._input = TerminalInput(
            self.terminal,
            self.reactor,
            self._take,
            on_resize=self._resized,
            on_resume=self._resumed,
            on_gone=self._gone,
        )
        self._main.ask_cursor = self._input.ask_cursor
        self.terminal.ask()

    @property
    def rebuilds(self) -> bool:
        """Whether a change of the width lays out anew what is in the terminal's scrollback (`InlineView.rebuilds`)."""
        return self._main.rebuilds

    @rebuilds.setter
    def rebuilds(self, rebuilds: bool) -> None:
        self._main.rebuilds = rebuilds

    def refresh(self) -> None:
        """Something is different: paint it with the next frame."""
        if self._frame is None:
            due = self._painted_at + max(_FRAME_SECONDS, _PAUSE_FACTOR * self._paint_seconds)
            self._frame = self.reactor.call_later(max(0.0, due - time.monotonic()), self.paint)

    def paint(self) -> None:
        """Paint what is different, now."""
        if self._frame is not None:
            self._frame.cancel()
            self._frame = None
        begun = time.monotonic()
        if self._alternate is not None:
            self._alternate.frame()
        else:
            self._main.frame()
        self._painted_at = time.monotonic()
        self._paint_seconds = self._painted_at - begun

    def repaint(self, *, clear_scrollback: bool = False) -> None:
        """Paint everything anew.

        Args:
            clear_scrollback: erase what is above the screen as well, and bring it back as it is to look now.
        """
        if self._alternate is not None:
            self._alternate.forget()
            self._alternate.frame()
        self._main.repaint(clear_scrollback=clear_scrollback)

    def repaint_all(self) -> None:
        """Everything looks different now, what has left the screen too.

        As long as nothing has, what was on the terminal before the program stays.
        """
        if self.document.has_left or self._alternate is not None:
            self.repaint(clear_scrollback=True)
        else:
            self.paint()

    @property
    def is_fullscreen(self) -> bool:
        """Whether the alternate screen is shown."""
        return self._alternate is not None

    def toggle_fullscreen(self) -> None:
        """Show the document on the alternate screen, where it can be scrolled and searched, or no longer."""
        if self._alternate is None:
            self._enter_fullscreen(self.context, self.document)
        else:
            self._leave_fullscreen()
        self.paint()

    def look_at(self, context: Context, document: Document) -> None:
        """Show another document on the alternate screen, until `look_away`.

        Args:
            context: its keys.
            document: what is shown; its dock gets no keys.
        """
        self.look_away()
        self._looks_back_at = self._alternate
        self._enter_fullscreen(context, document)
        self.is_looking = True
        self.paint()

    def look_away(self) -> None:
        """Show the program's own document again, on the screen it was on; nothing if it is shown."""
        if not self.is_looking:
            return
        self.is_looking = False
        if self._looks_back_at is None:
            self._leave_fullscreen()
        else:
            self._alternate, self._looks_back_at = self._looks_back_at, None
            self._alternate.forget()
        self.paint()

    def take_view_key(self, key: Input) -> bool:
        """Let the alternate screen, if it is shown, scroll and search. False: the key means nothing to it."""
        if self._alternate is None or not self._alternate.key(key):
            return False
        if not self._is_searching:
            self._search_on()
        return True

    def take_mouse(self, event: Mouse) -> None:
        """Let the alternate screen scroll and select."""
        if self._alternate is not None:
            self._alternate.mouse(event)

    def suspend(self) -> None:
        """Stop the process, as Ctrl+Z does; go on painting when it goes on."""
        self.terminal.suspend()
        self._come_back()

    def run_elsewhere(self, program: Callable[[], object]) -> None:
        """Leave the terminal to another program while this function runs."""
        lend(self.terminal, self.reactor, program)
        self._come_back()

    def stop(self) -> None:
        """Give the terminal back, with what is above the dock left on it."""
        try:
            if self._alternate is not None:
                self._leave_fullscreen()
                self._main.answered(None)  # nobody will take the answer
                self.paint()
        finally:
            self.terminal.close()

    def _take(self, events: list[Event]) -> None:
        """Deal with what came from the terminal, and show what it led to."""
        others = [event for event in events if not self._is_cursor(event)]
        if others:
            self.on_events(others)
        self.paint()

    def _is_cursor(self, event: Event) -> bool:
        match event:
            case TerminalReply(kind="cursor", values=(row, _)):
                self._main.answered(row)
                return True
            case _:
                return False

    def _resized(self) -> None:
        if self._alternate is None:
            self._main.resized()
        else:
            self._repaint_alternate(self._alternate)

    def _come_back(self) -> None:
        if self._alternate is None:
            self._main.come_back()
        else:
            self._repaint_alternate(self._alternate)

    def _resumed(self) -> None:
        if self._alternate is None:
            self._main.resumed()
        else:
            self._repaint_alternate(self._alternate)

    def _repaint_alternate(self, screen: "AlternateScreen") -> None:
        screen.forget()
        self.paint()

    def _enter_fullscreen(self, context: Context, document: Document) -> None:
        # Lazily: the first frame is on the main screen.
        from kaa.tui.alternate_screen import AlternateScreen

        self._main.hide()
        self._alternate = AlternateScreen(context, document, self.terminal.write, on_copy=self._copy)
        self.terminal.set_alternate_screen(on=True)
        self.terminal.set_mouse(on=True)
        self._alternate.forget()

    def _leave_fullscreen(self) -> None:
        self._alternate = None
        self.terminal.set_mouse(on=False)
        self.terminal.set_alternate_screen(on=False)
        self._main.show()

    def _copy(self, text: str) -> None:
        self.on_copy(text)

    def _search_on(self) -> None:
        """Search a long document piece by piece, between keys."""
        self._is_searching = self._alternate is not None and self._alternate.work()
        if self._is_searching:
            self.reactor.post(self._search_on)
        self.refresh()

    def _gone(self) -> None:
        self.on_gone()


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
