"""The terminal: set up, asked, written to, and always given back as it was."""

import atexit
import os
import signal
import time
from collections.abc import Callable, Mapping
from types import FrameType, TracebackType

from kaa.tui import control
from kaa.tui.capabilities import Capabilities, questions
from kaa.tui.context import Size
from kaa.tui.decoder import InputDecoder
from kaa.tui.device import Device
from kaa.tui.events import TerminalReply

# Flags 1 (escape codes that are not ambiguous) and 4 (alternate keys: shortcuts work on layouts that are not Latin) of
# the Kitty keyboard protocol. Not 2: nothing here acts on releases, and reporting them doubles what every key sends.
# Not 8 and 16: text comes as text, which works with every input method.
_KEYBOARD_ON, _KEYBOARD_OFF = "\x1b[>5u", "\x1b[<u"

# Each with what turns it on and off.
_MODES = {
    "bracketed paste": ("\x1b[?2004h", "\x1b[?2004l"),
    "focus": ("\x1b[?1004h", "\x1b[?1004l"),
    "color scheme": ("\x1b[?2031h", "\x1b[?2031l"),
    "keyboard": (_KEYBOARD_ON, _KEYBOARD_OFF),
    # xterm's modifyOtherKeys, which tmux knows too: for terminals that do not know the Kitty protocol.
    "other keys": ("\x1b[>4;2m", "\x1b[>4;0m"),
    "mouse": ("\x1b[?1002h\x1b[?1006h", "\x1b[?1006l\x1b[?1002l"),
    # With the keyboard: terminals keep its flags for each screen.
    "alternate screen": ("\x1b[?1049h" + _KEYBOARD_ON, _KEYBOARD_OFF + "\x1b[?1049l"),
}

# Ends a sequence that was cut off.
END_OF_STRING = "\x1b\\"
# Ends what frames switch on: synchronized output, no wrapping, a hidden cursor, a style.
_SETTLE = "\x1b[?2026l\x1b[?7h\x1b[?25h\x1b[0m"

# Puts right a terminal in which kaa was killed: `printf` it.
RESET_SEQUENCE = END_OF_STRING + _SETTLE + "".join(off for _, off in reversed(_MODES.values()))


class Modes:
    """Which modes are on. Every method returns what to send."""

    def __init__(self) -> None:
        self._on: list[str] = []

    def turn(self, name: str, *, on: bool) -> str:
        """Switch a mode; empty if that is how it is."""
        if (name in self._on) == on:
            return ""
        if on:
            self._on.append(name)
            return _MODES[name][0]
        self._on.remove(name)
        return _MODES[name][1]

    def enter(self) -> str:
        """All that are on, again."""
        return "".join(_MODES[name][0] for name in self._on)

    def leave(self) -> str:
        """Back to how the terminal was, the last one first; they still count as on."""
        return _SETTLE + "".join(_MODES[name][1] for name in reversed(self._on))


# Signals that end a process without a word to Python's `finally`.
_DEADLY = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# How long the end may wait for answers that are on their way, so that the shell does not get them as keys.
_ANSWER_SECONDS = 0.3


class Terminal:
    """Everything that is written goes through `write`; everything that is switched on is switched off again.

    That happens on `close`, when the process ends in any way that Python sees, and on signals that would end it, unless
    somebody handles those. Only SIGKILL leaves the terminal as it is: see `terminal_modes.RESET_SEQUENCE`.

    Attributes:
        capabilities: what is known of it.
        size: kept up to date by `update_size`, for all who share it.
        farewell: asked, if set, for what to write before the terminal is given back for a while or for good, such as
            moving the cursor below what was painted.

    Args:
        environment: variables of the process.
        device: by default the process's terminal.

    Raises:
        OSError: there is no terminal.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ, device: Device | None = None) -> None:
        self.device = device or Device()
        self.capabilities = Capabilities(environment)
        self.size = Size()
        self.farewell: Callable[[], str] | None = None
        self._modes = Modes()
        self._title: str | None = None
        self._is_busy = False
        self._is_ours = False
        self._is_answering = False
        self._owner = os.getpid()
        self._previous_handlers: dict[int, object] = {}
        self.update_size()

    def __enter__(self) -> "Terminal":
        self.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # The life of the terminal.

    def open(self) -> None:
        """Make it ours: keys come one by one, and so that they can be told apart. Asks nothing."""
        atexit.register(self.close)
        for signum in _DEADLY:
            # Whoever ignores SIGHUP (nohup) or handles it goes on doing so.
            if signal.getsignal(signum) == signal.SIG_DFL:
                self._previous_handlers[signum] = signal.signal(signum, self._die)
        modes: tuple[str, ...] = ()
        if self.capabilities.takes_strings:
            modes = ("bracketed paste", "focus", "color scheme", "keyboard")
        elif not self.capabilities.dumb:
            modes = ("bracketed paste",)
        self.device.make_raw()
        self._is_ours = True
        self.write("".join(self._modes.turn(name, on=True) for name in modes))

    def ask(self) -> None:
        """Ask what it can do, after the first frame. Answers arrive as events and go to `learn`, or never come."""
        if asked := questions(self.capabilities):
            self._is_answering = True
            self.write(asked)

    def learn(self, reply: TerminalReply) -> None:
        """Take an answer."""
        self.capabilities.learn(reply)
        if reply.kind == "attributes" and self._is_answering:
            self._is_answering = False
            # Never both protocols, and none before it is known that the better one is missing: some terminals do odd
            # things with sequences they half know.
            if not self.capabilities.kitty_keyboard and self.capabilities.program != "apple":
                self.write(self._modes.turn("other keys", on=True))

    def close(self) -> None:
        """Give it back as it was. Nothing if that was done."""
        # A forked process shares the terminal, but it is not its to restore.
        if os.getpid() != self._owner:
            return
        self._give_back()
        atexit.unregister(self.close)
        for signum, handler in self._previous_handlers.items():
            if signal.getsignal(signum) == self._die:
                signal.signal(signum, handler)  # type: ignore[arg-type]  # what `signal.signal` returned
        self._previous_handlers.clear()
        self.device.close()

    def suspend(self) -> None:
        """Stop the processes of this job, as Ctrl+Z does; when they go on, it is set up again if it was ours.

        Whoever painted the screen has to do so again.
        """
        was_ours = self._give_back()
        # To the whole group: what we started in it would go on writing to the terminal of the shell.
        previous = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(0, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, previous)
        if was_ours:
            self._take()

    def resume(self) -> bool:
        """After SIGCONT: set up again what a shell has changed meanwhile. True: it had; paint again."""
        if not self._is_ours or self.device.is_raw:
            return False
        self.write(self._modes.leave())
        self._take()
        return True

    def released(self) -> "Released":
        """A context in which the terminal is as it was before, for another program such as an editor.

        Keys such as Ctrl+C send signals to all programs of the terminal: they are for that one. But Ctrl+Z stops us
        too, so that the shell has the terminal.
        """
        return Released(self._give_back, self._take)

    def _give_back(self) -> bool:
        """Give it back; whether it was ours."""
        if not self._is_ours:
            return False
        if self.device.is_cut_off:
            self.device.write(END_OF_STRING)
        try:
            if self.farewell:
                self.device.write(self.farewell())
        finally:
            self._is_ours = False
            if not self.capabilities.dumb:
                progress = control.progress(busy=False) if self._is_busy else ""
                title = control.POP_TITLE if self._title is not None else ""
                self.device.write(progress + title + self._modes.leave())
            self._drain()
            self.device.make_cooked()
        return True

    def _take(self) -> None:
        self.device.make_raw()
        self._is_ours = True
        title = control.PUSH_TITLE + control.title(self._title) if self._title is not None else ""
        self.write(self._modes.enter() + title)
        self.update_size()

    def _drain(self) -> None:
        """Read what it answers until it has answered all."""
        if not self._is_answering:
            return
        decoder = InputDecoder()
        end = time.monotonic() + _ANSWER_SECONDS
        while self._is_answering and (data := self.device.read_within(max(0, end - time.monotonic()))):
            answers = decoder.feed(data)
            self._is_answering = not any(
                isinstance(event, TerminalReply) and event.kind == "attributes" for event in answers
            )
        self._is_answering = False

    def _die(self, signum: int, _: FrameType | None) -> None:
        if self.device.is_cut_off and self.device.is_blocked:
            self.device.gone = True  # it would have to be waited for
        self.close()
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)

    # What is shown.

    def write(self, text: str) -> None:
        """Write all of it, in one go where the terminal takes it so. Nothing while the terminal is not ours."""
        if text and self._is_ours:
            self.device.write(text)

    def update_size(self) -> bool:
        """After SIGWINCH: look how large it is. True: `size` has changed."""
        new = self.device.size()
        if new is None or new == (self.size.columns, self.size.rows):
            return False
        self.size.columns, self.size.rows = new
        return True

    def set_mouse(self, *, on: bool) -> None:
        """Whether clicks, drags and the wheel are ours. The terminal's own selection needs shift meanwhile."""
        self.write(self._modes.turn("mouse", on=on))

    def set_alternate_screen(self, *, on: bool) -> None:
        """Which screen is shown. What was on the main screen is there again afterwards."""
        self.write(self._modes.turn("alternate screen", on=on))

    def set_title(self, title: str) -> None:
        """The window's title; the one before comes back when the terminal is given back."""
        if not self.capabilities.takes_strings or title == self._title:
            return
        self.write((control.PUSH_TITLE if self._title is None else "") + control.title(title))
        self._title = title

    def set_progress(self, *, busy: bool) -> None:
        """Whether the terminal's tab or taskbar shows that work goes on, where it can."""
        if self.capabilities.progress and busy != self._is_busy:
            self._is_busy = busy
            self.write(control.progress(busy=busy))

    def bell(self) -> None:
        """Ring the bell."""
        self.write("\a")

    def notify(self, title: str, text: str) -> None:
        """Have the desktop say something, where the terminal can. Nothing elsewhere: see `bell`."""
        self.write(control.notification(self.capabilities.program, title, text))


class Released:
    """See `Terminal.released`."""

    def __init__(self, give_back: Callable[[], bool], take: Callable[[], None]) -> None:
        self._give_back = give_back
        self._take = take
        self._was_ours = False
        self._handlers: dict[int, object] = {}

    def __enter__(self) -> None:
        self._was_ours = self._give_back()
        # A function, because a program that is started inherits what is ignored.
        self._handlers = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
        self._handlers[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, signal.SIG_DFL)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what `signal.signal` returned
        if self._was_ours:
            self._take()
