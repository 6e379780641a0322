"""A document on the main screen, kept in its place whatever happens to the terminal.

How a terminal moves lines when its size changes only it knows: it is asked where the cursor is, and its answer is
waited for no longer than it helps. (Stage 1.)
"""

from collections.abc import Callable

from kaa.tui.context import Context
from kaa.tui.document import MAX_ROWS, Document
from kaa.tui.main_screen import MainScreen
from kaa.tui.reactor import Reactor, Timer
from kaa.tui.terminal import Terminal

# A window that is dragged changes its width many times a second; each change paints everything anew.
_WIDTH_SECONDS = 0.15
# Nobody wants to wait longer for a terminal to say where the cursor is; what it says later is about another screen.
_CURSOR_SECONDS = 0.5
# A terminal that has not said it by now never will.
_LATE_SECONDS = 10.0


class InlineView:
    """Paints the document where the terminal's own scrollback begins.

    Args:
        terminal: takes what is painted.
        reactor: has the timers.
        context: the size.
        document: what is painted.
        paint: asks for a frame at once.

    Attributes:
        ask_cursor: asks the terminal where the cursor is; `answered` gets the answer. None as long as nobody listens.
        rebuilds: whether a change of the width lays out anew what is in the terminal's scrollback, which erases what
            was there before the program; otherwise only what is on the screen.
    """

    def __init__(
        self, terminal: Terminal, reactor: Reactor, context: Context, document: Document, paint: Callable[[], None]
    ) -> None:
        self.ask_cursor: Callable[[], object] | None = None
        self.rebuilds = True
        self._terminal = terminal
        self._reactor = reactor
        self._size = context.size
        self._document = document
        self._paint = paint
        self._screen = MainScreen(self._write, terminal.size.columns, terminal.size.rows)
        self._last_words: list[str] | None = None  # what the presenter writes while it takes its leave
        self._resize: Timer | None = None
        self._cursor_wait: Timer | None = None
        self._is_hidden = False
        self._is_stale = False  # everything is to be painted anew when it is shown again

    def frame(self) -> None:
        """Paint what is different, unless it is not known where things are."""
        if self._screen.takes_frames:
            self._document.leave(self._screen.frame(self._document.tail(self._screen.columns)))

    def repaint(self, *, clear_scrollback: bool) -> None:
        """Paint everything anew, now or when it is shown again.

        Args:
            clear_scrollback: erase what is above the screen as well, and bring it back as it is to look now.
        """
        self._is_stale = self._is_hidden
        if self._is_hidden:
            return
        # What is above the screen stays there, unless it was erased; whatever was on it is painted.
        is_whole = clear_scrollback or not self._document.has_left
        self._document.reset(MAX_ROWS if is_whole else self._size.rows)
        tail = self._document.tail(self._screen.columns)
        self._document.leave(self._screen.repaint(tail, clear_scrollback=clear_scrollback))

    def hide(self) -> None:
        """The alternate screen is shown from now on."""
        self.answered(None)  # who waits for an answer now would paint on a screen that is not shown
        self._is_hidden = True

    def show(self) -> None:
        """It is shown again, as it was; the terminal may have another size."""
        self._is_hidden = False
        width_changed = self._size.columns != self._screen.columns
        height_changed = self._size.rows != self._screen.rows
        # What left the screen with its height must be what the document believes to have left.
        is_other = (
            not width_changed and height_changed and not self._screen.shows(self._document.tail(self._size.columns))
        )
        self._take_size()
        if width_changed or is_other or self._is_stale:
            self.repaint(clear_scrollback=self.rebuilds)

    def resized(self) -> None:
        """The terminal has another size. Whether it wrapped its lines anew, and how, only it knows."""
        width_changed = self._size.columns != self._screen.columns
        self._take_size()
        if width_changed:
            if self._resize is not None:
                self._resize.cancel()
            self._resize = self._reactor.call_later(_WIDTH_SECONDS, self._widen)

    def answered(self, cursor_row: int | None) -> None:
        """The terminal has told the row of the cursor, from 0; None: it is waited for no longer."""
        self._document.leave(self._screen.resync(cursor_row))
        if self._cursor_wait is not None and not self._screen.is_waiting:
            self._cursor_wait.cancel()
            self._cursor_wait = None

    def come_back(self) -> None:
        """The terminal was somebody else's, to whom it was left; it may have another size."""
        if self._screen.resume(self._size.columns, self._size.rows):
            self._widen()
        else:
            self._paint()

    def resumed(self) -> None:
        """Somebody else stopped the process, and a shell has written on the screen since then."""
        if self._screen.resume(self._size.columns, self._size.rows):
            self._widen()
            return
        # What had not left the screen, and no more: what is above it is there.
        tail = self._document.tail(self._screen.columns)
        self._document.leave(self._screen.repaint(tail, clear_scrollback=False))

    def farewell(self) -> str:
        """Erases the dock and leaves the cursor where a shell's prompt is to come."""
        if self._is_hidden:
            return ""  # the terminal switches to the main screen, which is as it was
        self._last_words = []
        self._document.leave(self._screen.release_dock())
        words, self._last_words = self._last_words, None
        return "".join(words)

    def _take_size(self) -> None:
        """Take the terminal's size; where the rows are then, the terminal has to say."""
        if self._screen.resize(self._size.columns, self._size.rows) and self.ask_cursor is not None:
            self.ask_cursor()
            if self._cursor_wait is not None:
                self._cursor_wait.cancel()
            self._cursor_wait = self._reactor.call_later(_CURSOR_SECONDS, self._give_up_on_cursor)

    def _give_up_on_cursor(self) -> None:
        self.answered(None)
        self._reactor.call_later(_LATE_SECONDS, self._screen.expect_no_answers)
        self._paint()

    def _widen(self) -> None:
        self._resize = None
        self.repaint(clear_scrollback=self.rebuilds and (self._document.has_left or self._screen.has_spilled))

    def _write(self, text: str) -> None:
        if self._last_words is None:
            self._terminal.write(text)
        else:
            self._last_words.append(text)
