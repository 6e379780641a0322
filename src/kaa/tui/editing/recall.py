"""Takes what was entered before into a buffer, and the draft back out of it again."""

from kaa.tui.editing.buffer import Buffer
from kaa.tui.editing.history import HistoryWalk, InputHistory
from kaa.tui.editing.layout import TextLayout


class Recall:
    """The history as seen from a buffer. However far one walks through it, undoing brings back the draft.

    Args:
        buffer: where entries are shown.
        history: the entries.
        layout: of the buffer.
    """

    def __init__(self, buffer: Buffer, history: InputHistory, layout: TextLayout) -> None:
        self._buffer = buffer
        self._walk = HistoryWalk(history)
        self._layout = layout
        self._changes = -1  # of the buffer when something was shown last
        self._steps = 0  # that could be undone when the walk began

    def earlier(self) -> bool:
        """Show the entry before. False if there is none."""
        self._notice_edits()
        text = self._walk.back(self._buffer.text)
        if text is None:
            return False
        self._show(text)
        # At the end of the first row one is ready both to go on typing and to go further back.
        first = self._layout.row(0)
        self._buffer.move(first.end if first.ends_line else self._layout.offset(0, self._layout.width))
        return True

    def later(self) -> bool:
        """Show the entry after, at last the draft. False if that is shown already."""
        self._notice_edits()
        text = self._walk.forward()
        if text is None:
            return False
        self._show(text)
        return True

    def show(self, text: str) -> None:
        """Show any text; it is the draft from now on."""
        self._notice_edits()
        self._show(text)
        self._walk.end()

    @property
    def is_shown(self) -> bool:
        """Whether the buffer has what was put there, unedited."""
        return self._buffer.changes == self._changes

    def _show(self, text: str) -> None:
        if not self.is_shown:
            self._steps = self._buffer.steps
        if text != self._buffer.text:
            self._buffer.replace(0, len(self._buffer.text), text)
            self._buffer.join_steps(self._steps)
        self._changes = self._buffer.changes
        self._layout.update(text)

    def _notice_edits(self) -> None:
        if not self.is_shown:
            self._walk.end()
