"""What is selected in Visual: from one character to another, both included, or the lines that they are in."""

from kaa.tui.editing import movement
from kaa.tui.editing.buffer import Buffer
from kaa.tui.editing.movement import line_end, line_start
from kaa.tui.vim.motions import Span


class VisualSelection:
    """Characters of a buffer.

    Attributes:
        head: the character that motions start from.
        linewise: whole lines are selected.
    """

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._anchor = 0
        self.head = 0
        self.linewise = False

    def begin(self, *, linewise: bool) -> None:
        """Select the character that the caret is on, or its line."""
        self._anchor = self.head = self._buffer.caret
        self.linewise = linewise

    def swap(self) -> None:
        """Let motions move the other end."""
        self._anchor, self.head = self.head, self._anchor

    def take(self, span: Span) -> None:
        """Select a span that is not empty."""
        self._anchor, self.head = span.start, movement.left(self._buffer.text, span.end)

    @property
    def span(self) -> Span:
        """What is selected, as operators take it."""
        start, end = sorted((self._anchor, self.head))
        return Span(start, end if self.linewise else movement.right(self._buffer.text, end), self.linewise)

    def show(self) -> None:
        """Let the buffer have it selected."""
        text, (start, end, linewise) = self._buffer.text, self.span
        if linewise:
            start, end = line_start(text, start), line_end(text, end)
        if self._anchor <= self.head:
            self._buffer.select(start, end)
        else:
            self._buffer.select(end, start)
