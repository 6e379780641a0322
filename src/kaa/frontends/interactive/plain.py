"""The interactive terminal line by line: for screen readers, and for terminals that cannot draw.

It has the same main view and the same commands. Text is written once, when it is final; input is lines, which the
terminal itself edits. A dialog is written when it opens, and the next line answers it.
"""

import os
import signal
from collections.abc import Callable, Sequence

from kaa.frontends.interactive.dialogs.choices import DialogChoices
from kaa.frontends.interactive.dialogs.frame import DialogFrame
from kaa.frontends.interactive.main_view import MainView
from kaa.tui.application import lend
from kaa.tui.component import Component
from kaa.tui.components.select_list import SelectList
from kaa.tui.context import Context
from kaa.tui.document import Document
from kaa.tui.events import Event, Input, Key, Mouse, Paste
from kaa.tui.linear import Linear
from kaa.tui.reactor import Reactor
from kaa.tui.sanitize import squeezed
from kaa.tui.terminal import Terminal
from kaa.tui.width import plain

_PROMPT = "> "
_READ_BYTES = 65536
# What is to be written within this time is written at once.
_WRITE_SECONDS = 0.05
# What extensions show beside the conversation is written this late, so that what changes often is written seldom.
_ASIDE_SECONDS = 1.0


class PlainMainView(MainView):
    """A main view whose words about what just happened are lines like all others, and that has no keys but Enter."""

    shows_typing = True
    hints = ()
    shows = ("notice", "status", "widget", "title")  # the terminal itself edits lines

    def __init__(self, folder: str, terminal: Terminal, reactor: Reactor) -> None:
        super().__init__(folder, terminal, reactor, PlainSurface)
        self.view.linear = True
        surface = self.app
        assert isinstance(surface, PlainSurface)
        surface.serve(self)
        self._surface = surface
        self._aside: dict[str, list[str]] = {}  # of extensions, by place
        self._aside_written: dict[str, list[str]] = {}
        self._is_aside_due = False

    def show_sections(self, sections: Sequence[tuple[str, str]]) -> None:
        """Write those that are new or changed, when nothing goes on."""
        self._write_aside("status", [squeezed(text) for text, _ in sections])

    def show_widgets(self, placement: str, widgets: Sequence[Sequence[Component]]) -> None:
        """Write the lines that are new or changed, when nothing goes on."""
        width = self.context.size.columns
        lines = (line for widget in widgets for component in widget for line in component.render(width))
        self._write_aside(placement, [plain(line) for line in lines])

    def _write_aside(self, place: str, lines: list[str]) -> None:
        self._aside[place] = lines
        if not self._is_aside_due:
            self._is_aside_due = True
            self.app.reactor.call_later(_ASIDE_SECONDS, self._write_asides)

    def _write_asides(self) -> None:
        if self.working.is_shown:
            self.app.reactor.call_later(_ASIDE_SECONDS, self._write_asides)
            return
        self._is_aside_due = False
        for place, lines in self._aside.items():
            known = self._aside_written.get(place, [])
            for line in lines:
                if line not in known:
                    self._surface.write_line(f"[{line}]")
        self._aside_written = dict(self._aside)

    def say(self, text: str, token: str = "muted", seconds: float = 0.0) -> None:
        """Write a word about what just happened."""
        self._surface.write_line(f"[{squeezed(text)}]")


class PlainSurface:
    """Writes lines and reads lines (`kaa.frontends.interactive.main_view.Surface`).

    Args:
        terminal: of the user; stays in the mode in which it edits lines itself.
    """

    is_fullscreen = False
    is_looking = False

    def __init__(self, terminal: Terminal, reactor: Reactor, context: Context, document: Document) -> None:
        self.terminal = terminal
        self.reactor = reactor
        self.on_events: Callable[[Sequence[Event]], object] = lambda _: None
        self.on_gone: Callable[[], object] = reactor.stop
        self.on_copy: Callable[[str], object] = lambda _: None
        self.rebuilds = False
        self._main_view: MainView | None = None
        self._size = context.size
        self._linear = self._presenter(context, document)
        self._is_due = False
        self._is_prompted = False
        self._dialog: DialogFrame | None = None  # the one that is written down
        self._dialog_lines: list[str] = []
        self._continued: list[str] = []  # lines that ended with a backslash
        self._unread = b""

    def serve(self, main_view: MainView) -> None:
        """Write for this main view, which made this."""
        self._main_view = main_view

    def start(self) -> None:
        """Write what there is, and wait for lines."""
        self.reactor.watch(self.terminal.device.input_fd, self._read)
        self.reactor.on_signal(signal.SIGINT, lambda: self._hand_over([Key("ctrl+c")]))
        self._update()

    def stop(self) -> None:
        """Write what is left."""
        self._linear.flush()
        if self._is_prompted:
            self._write("")

    def refresh(self) -> None:
        """Write soon what has settled."""
        if not self._is_due:
            self._is_due = True
            self.reactor.call_later(_WRITE_SECONDS, self._update)

    def repaint(self, *, clear_scrollback: bool = False) -> None:
        """What is written stays."""
        self.refresh()

    def repaint_all(self) -> None:
        """What is written stays."""
        self.refresh()

    def suspend(self) -> None:
        self.terminal.suspend()
        self._come_back()

    def run_elsewhere(self, program: Callable[[], object]) -> None:
        lend(self.terminal, self.reactor, program)
        self._come_back()

    def _come_back(self) -> None:
        """Somebody else has written: ask again."""
        self._is_prompted = False
        self.refresh()

    def toggle_fullscreen(self) -> None:
        """There is no screen to fill."""
        self.write_line("[--plain has no full-screen mode; start kaa without it]")

    def look_at(self, context: Context, document: Document) -> None:
        """Write the other document, too."""
        whole = Document(document.dock)
        whole.blocks = list(document.earlier)
        self._presenter(context, whole).flush()
        self.refresh()

    def look_away(self) -> None:
        """What is written stays."""

    def take_view_key(self, key: Input) -> bool:
        """There is nothing to scroll."""
        return False

    def take_mouse(self, event: Mouse) -> None: ...

    def write_line(self, text: str) -> None:
        """Write a line of our own."""
        self._write(f"{text}\n")
        self.refresh()

    # Writing

    def _presenter(self, context: Context, document: Document) -> Linear:
        return Linear(document, self._write, context.size.columns, ascii_only=not self.terminal.capabilities.utf8)

    def _update(self) -> None:
        self._is_due = False
        assert self._main_view is not None
        working = self._main_view.working.is_shown
        if working:
            self._linear.update()
        else:
            self._linear.flush()
        self._write_dialog(self._main_view)
        if self._dialog is None and not working and not self._is_prompted:
            self._is_prompted = True
            self.terminal.device.write(_PROMPT)

    def _write_dialog(self, main_view: MainView) -> None:
        """Write the dialog down when it opens, and when it asks something else."""
        dialog = main_view.dock.dialog
        if dialog is None or not dialog.takes_keys:
            self._dialog = None
            return
        lines = dialog.render(self._size.columns)
        if dialog is not self._dialog or lines is not self._dialog_lines:
            self._dialog, self._dialog_lines = dialog, lines
            # What has a frame on a screen is read without it.
            read = dialog.written(self._size.columns)
            self._write("".join(f"{self._linear.worded(line)}\n" for line in read))
            self._write(f"Answer with {_asked_for(dialog)}, then Enter; an empty line cancels.\n")

    def _write(self, text: str) -> None:
        if self._is_prompted:
            self._is_prompted = False
            text = f"\n{text}"
        self.terminal.device.write(text)

    # Reading

    def _read(self) -> None:
        try:
            data = os.read(self.terminal.device.input_fd, _READ_BYTES)
        except OSError:  # it was closed
            self.on_gone()
            return
        if not data:  # Ctrl+D
            self._hand_over([Key("ctrl+d")])
        self._unread += data
        while b"\n" in self._unread:
            line, _, self._unread = self._unread.partition(b"\n")
            self._is_prompted = False
            self._take(line.decode("utf-8", "replace"))

    def _take(self, line: str) -> None:
        assert self._main_view is not None
        # What was typed before a question could be read is no answer to it.
        if self._dialog is not None and self._main_view.dock.dialog is self._dialog:
            self._answer(self._dialog, line)
        elif line.endswith("\\"):
            self._continued.append(line[:-1])
        else:
            text = "\n".join([*self._continued, line])
            self._continued = []
            self._main_view.editor.set_text(text)
            if self._main_view.editor.on_submit is not None:
                self._main_view.editor.on_submit(text)
        self.refresh()

    def _answer(self, dialog: DialogFrame, line: str) -> None:
        """A letter chooses. A text is typed and entered, but in a list only if it says which entry is meant."""
        assert self._main_view is not None
        if not line.strip():
            self._hand_over([Key("escape")])
        elif isinstance(dialog.control, DialogChoices):
            # Never Enter: it gives the first answer, which may be a yes.
            if not dialog.control.take(line):
                self.write_line("[invalid answer: enter the letter of one of the answers]")
        elif isinstance(dialog.control, SelectList):
            if dialog.control.seek(line):
                self._hand_over([Key("enter")])
            elif not dialog.control.query:
                self.write_line("[invalid answer: enter the beginning of a name from the list]")
        else:
            self._hand_over([Key("ctrl+a"), Key("ctrl+k"), Paste(line), Key("enter")])

    def _hand_over(self, events: Sequence[Event]) -> None:
        self.on_events(events)
        self.refresh()


def _asked_for(dialog: DialogFrame) -> str:
    """What the next line should have."""
    match dialog.control:
        case DialogChoices():
            return "a letter"
        case SelectList():
            return "a name from the list"
        case _:
            return "a text"
