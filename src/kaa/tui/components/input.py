"""One line of text to be entered: a search, a name, a reason, a secret."""

from collections.abc import Callable, Iterator

from kaa.tui.context import Context
from kaa.tui.editing import movement
from kaa.tui.editing.buffer import Buffer
from kaa.tui.editing.commands import EditingCommands
from kaa.tui.events import Input as InputEvent
from kaa.tui.events import Paste
from kaa.tui.sanitize import one_line
from kaa.tui.style import INVERSE, Span, paint_spans
from kaa.tui.width import cells, clip, fit

# More code points than any grapheme of one cell has.
_POINTS_PER_CELL = 8


class Input:
    """A line that is edited. It scrolls sideways if it is longer than there is room for.

    Args:
        context: palette and keymap.
        label: what stands before it.
        placeholder: what is shown as long as it is empty.
        mask: a character of one cell that is shown instead of each of the text's; nothing can be copied then.

    Attributes:
        buffer: what is edited.
        on_submit: called with the text; without it, the key is left to others.
        on_cancel: called when it is cancelled; without it, the key is left to others.
        on_change: called after each change of the text.
        on_copy: takes what is copied.
    """

    def __init__(self, context: Context, label: str = "", *, placeholder: str = "", mask: str = "") -> None:
        self.label = label
        self.placeholder = placeholder
        self.on_submit: Callable[[str], None] | None = None
        self.on_cancel: Callable[[], None] | None = None
        self.on_change: Callable[[], None] | None = None
        self._context = context
        self._mask = mask
        self.buffer = Buffer()
        self._commands = EditingCommands(self.buffer, context.keymap)
        self._first = 0  # offset of the first character shown
        self._column = 0
        self._state: object = None
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        """The text."""
        return self.buffer.text

    def set_text(self, text: str) -> None:
        """Replace the text; the caret goes to its end."""
        self.buffer.reset(one_line(text))
        if self.on_change:
            self.on_change()

    @property
    def on_copy(self) -> Callable[[str], None] | None:
        """Takes what is copied; a masked line is not."""
        return self._commands.on_copy

    @on_copy.setter
    def on_copy(self, take: Callable[[str], None] | None) -> None:
        self._commands.on_copy = None if self._mask else take

    def key(self, key: InputEvent) -> bool:
        """Edit, submit or cancel."""
        text = self.buffer.text
        is_handled = self._handle(key)
        if self.buffer.text is not text and self.on_change:
            self.on_change()
        return is_handled

    def _handle(self, key: InputEvent) -> bool:
        if isinstance(key, Paste):
            self.buffer.insert(one_line(key.text))
            return True
        if key.action == "release":
            return False
        if self._commands.key(key):
            return True
        if self.on_submit and self._context.keymap.matches(key, "tui.input.submit"):
            self.on_submit(self.text)
            return True
        if self.on_cancel and self._context.keymap.matches(key, "tui.select.cancel"):
            self.on_cancel()
            return True
        if key.text:
            self.buffer.insert(one_line(key.text), typed=True)
        return bool(key.text)

    def render(self, width: int) -> list[str]:
        """One line."""
        state = (width, self._context.palette.version, self.buffer.revision, self.label, self.placeholder)
        if state != self._state:
            self._state = state
            self._lines = [fit(paint_spans(self._spans(width)), width)]
        return self._lines

    def cursor(self) -> tuple[int, int]:
        """Where the caret is."""
        return 0, self._column

    def _spans(self, width: int) -> Iterator[Span]:
        label = clip(self.label, max(0, width - 1))
        room = max(1, width - cells(label))
        text = self._mask * len(self.text) if self._mask else self.text
        self._scroll(text, room)
        caret = self.buffer.caret
        self._column = min(cells(label) + cells(text[self._first : caret]), max(0, width - 1))
        if label:
            yield label, self._context.palette["muted"]
        if not text:
            yield clip(self.placeholder, room), self._context.palette["dim"]
            return
        end = self._first + len(clip(text[self._first : self._first + room * _POINTS_PER_CELL], room))
        start, stop = (min(max(at, self._first), end) for at in self.buffer.selection or (0, 0))
        yield text[self._first : start], ""
        if start < stop:
            yield text[start:stop], self._context.palette["selectedBg"] or INVERSE
        yield text[stop:end], ""

    def _scroll(self, text: str, room: int) -> None:
        """Let the caret be in view, with a cell behind the text for it."""
        caret = self.buffer.caret
        earliest = caret
        used = 0
        while earliest > 0:
            before = movement.left(text, earliest)
            used += cells(text[before:earliest])
            if used > room - 1:
                break
            earliest = before
        self._first = max(earliest, min(self._first, caret))
