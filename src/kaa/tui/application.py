"""A program in the terminal: events go in, frames come out, and nothing else writes to the terminal.

What is typed is painted at once. What comes from elsewhere (`refresh`) is painted with the next frame: at most thirty
times a second, and so that painting takes a third of the time at most. (Stage 1.)
"""

import signal
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kaa.tui.context import Context
from kaa.tui.document import MAX_ROWS, Document
from kaa.tui.events import Event, Input, Mouse, Reply
from kaa.tui.main_screen import MainScreen
from kaa.tui.reactor import Reactor, Timer
from kaa.tui.terminal import Terminal
from kaa.tui.terminal_input import TerminalInput

if TYPE_CHECKING:
    from kaa.tui.alternate_screen import AlternateScreen

# Text that flows faster is not easier to read, and every frame costs.
_FRAME_SECONDS = 1 / 30
# Between two frames there is this many times the time that the last one took.
_PAUSE_FACTOR = 2.0
# A window that is dragged changes its width many times a second; each change paints everything anew.
_WIDTH_SECONDS = 0.15
# Nobody wants to wait longer for a terminal to say where the cursor is; what it says later is about another screen.
_CURSOR_SECONDS = 0.5
# A terminal that has not said it by now never will.
_LATE_SECONDS = 10.0


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
        rebuilds: whether a change of the width lays out anew what is in the terminal's scrollback, which erases what
            was there before the program; otherwise only what is on the screen.
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
        self.rebuilds = True
        self._last_words: list[str] | None = None  # what the presenter writes while it takes its leave
        self._main = MainScreen(self._write, terminal.size.columns, terminal.size.rows)
        self._alternate: AlternateScreen | None = None
        self._looks_back_at: AlternateScreen | None = None  # what was shown before another document
        self._input: TerminalInput | None = None
        self._frame: Timer | None = None
        self._painted_at = 0.0
        self._paint_seconds = 0.0
        self._resize: Timer | None = None
        self._cursor_wait: Timer | None = None
        self._is_stale = False  # the main screen is to be painted anew when it comes back

    def start(self) -> None:
        """Take the terminal and paint the first frame."""
        self.terminal.open()
        self.terminal.farewell = self._farewell
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
        self.terminal.ask()

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
        elif self._main.takes_frames:
            self.document.leave(self._main.frame(self.document.tail(self._main.columns)))
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
            self._is_stale = True
            return
        self._is_stale = False
        # What is above the screen stays there, unless it was erased; whatever was on it is painted.
        is_whole = clear_scrollback or not self.document.has_left
        self.document.reset(MAX_ROWS if is_whole else self.context.size.rows)
        tail = self.document.tail(self._main.columns)
        self.document.leave(self._main.repaint(tail, clear_scrollback=clear_scrollback))

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

        def run() -> None:
            with self.terminal.released():
                program()

        self.reactor.ignoring((signal.SIGINT,), run)
        self._come_back()

    def stop(self) -> None:
        """Give the terminal back, with what is above the dock left on it."""
        try:
            if self._alternate is not None:
                self._leave_fullscreen()
                self._resync(None)  # nobody will take the answer
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
            case Reply(kind="cursor", values=(row, _)):
                self._resync(row)
                return True
            case _:
                return False

    def _resized(self) -> None:
        """The terminal has another size. Whether it wrapped its lines anew, and how, only it knows."""
        size = self.context.size
        if self._alternate is not None:
            self._alternate.forget()
            self.paint()
            return
        width_changed = size.columns != self._main.columns
        self._resize_main()
        if width_changed:
            if self._resize is not None:
                self._resize.cancel()
            self._resize = self.reactor.call_later(_WIDTH_SECONDS, self._widen)

    def _widen(self) -> None:
        self._resize = None
        self.repaint(clear_scrollback=self.rebuilds and (self.document.has_left or self._main.has_spilled))

    def _wait_for_cursor(self) -> None:
        if self._cursor_wait is not None:
            self._cursor_wait.cancel()
        self._cursor_wait = self.reactor.call_later(_CURSOR_SECONDS, self._give_up_on_cursor)

    def _give_up_on_cursor(self) -> None:
        self._resync(None)
        self.reactor.call_later(_LATE_SECONDS, self._main.expect_no_answers)
        self.paint()

    def _resync(self, row: int | None) -> None:
        self.document.leave(self._main.resync(row))
        if self._cursor_wait is not None and not self._main.is_waiting:
            self._cursor_wait.cancel()
            self._cursor_wait = None

    def _come_back(self) -> None:
        """The terminal was somebody else's, who may have left it with another size."""
        if self._alternate is not None:
            self._alternate.forget()
            self.paint()
            return
        if self._main.resume(self.context.size.columns, self.context.size.rows):
            self._widen()
        else:
            self.paint()

    def _resumed(self) -> None:
        """Somebody else stopped the process, and a shell has written on the screen since then."""
        size = self.context.size
        if self._alternate is not None or self._main.resume(size.columns, size.rows):
            self._come_back()
            return
        # What had not left the screen, and no more: what is above it is there.
        tail = self.document.tail(self._main.columns)
        self.document.leave(self._main.repaint(tail, clear_scrollback=False))

    def _farewell(self) -> str:
        """Erases the dock and leaves the cursor where a shell's prompt is to come."""
        if self._alternate is not None:
            return ""  # the terminal switches to the main screen, which is as it was
        self._last_words = []
        self.document.leave(self._main.release_dock())
        words, self._last_words = self._last_words, None
        return "".join(words)

    def _enter_fullscreen(self, context: Context, document: Document) -> None:
        # Lazily: the first frame is on the main screen.
        from kaa.tui.alternate_screen import AlternateScreen

        self._resync(None)  # who waits for an answer now would paint on a screen that is not shown
        self._alternate = AlternateScreen(context, document, self.terminal.write, on_copy=self._copy)
        self.terminal.set_alternate_screen(on=True)
        self.terminal.set_mouse(on=True)
        self._alternate.forget()

    def _leave_fullscreen(self) -> None:
        self._alternate = None
        self.terminal.set_mouse(on=False)
        self.terminal.set_alternate_screen(on=False)
        size = self.context.size
        width_changed = size.columns != self._main.columns
        height_changed = size.rows != self._main.rows
        # What left the screen with its height must be what the document believes to have left.
        is_other = not width_changed and height_changed and not self._main.shows(self.document.tail(size.columns))
        self._resize_main()
        if width_changed or is_other or self._is_stale:
            self.repaint(clear_scrollback=self.rebuilds)

    def _resize_main(self) -> None:
        """Tell the main screen the size; where its rows are then, the terminal has to say."""
        size = self.context.size
        if self._main.resize(size.columns, size.rows) and self._input is not None:
            self._input.ask_cursor()
            self._wait_for_cursor()

    def _copy(self, text: str) -> None:
        self.on_copy(text)

    def _search_on(self) -> None:
        """Search a long document piece by piece, between keys."""
        if self._alternate is not None and self._alternate.work():
            self.reactor.post(self._search_on)
        self.refresh()

    def _write(self, text: str) -> None:
        if self._last_words is None:
            self.terminal.write(text)
        else:
            self._last_words.append(text)

    def _gone(self) -> None:
        self.on_gone()
