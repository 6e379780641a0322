"""The text being edited, its caret and its selection. Every change goes through `replace` and can be undone."""

from typing import NamedTuple


class Buffer:
    """Text with a caret. Offsets count code points, from 0 to the length of the text.

    Attributes:
        revision: grows with every change of the text, the caret or the selection.
        changes: grows with every change of the text.
    """

    def __init__(self, text: str = "") -> None:
        self._text = text
        self._caret = len(text)
        self._anchor: int | None = None
        self._log = _UndoLog()
        self.revision = 0
        self.changes = 0

    @property
    def text(self) -> str:
        """The text; the same object as long as it is not changed."""
        return self._text

    @property
    def caret(self) -> int:
        """The offset that text is inserted at."""
        return self._caret

    @property
    def selection(self) -> tuple[int, int] | None:
        """Start and end of what is selected; None if nothing is."""
        if self._anchor is None or self._anchor == self._caret:
            return None
        return min(self._anchor, self._caret), max(self._anchor, self._caret)

    @property
    def selected(self) -> str:
        """The selected text."""
        return self._text[slice(*self.selection)] if self.selection else ""

    def move(self, to: int, *, selecting: bool = False) -> None:
        """Put the caret at `to`. With `selecting` the selection reaches from where it began to there."""
        self._anchor = (self._caret if self._anchor is None else self._anchor) if selecting else None
        self._caret = max(0, min(to, len(self._text)))
        self.revision += 1
        self._log.close()

    def select(self, start: int, end: int) -> None:
        """Select from `start` to `end`, which becomes the caret."""
        self.move(start)
        self.move(end, selecting=True)

    def insert(self, text: str, *, typed: bool = False) -> None:
        """Put `text` at the caret, in place of the selection. Undoing takes back `typed` text word by word."""
        start, end = self.selection or (self._caret, self._caret)
        self.replace(start, end, text, continues=typed)

    def replace(self, start: int, end: int, text: str, *, continues: bool = False, caret: int | None = None) -> None:
        """Replace what is between `start` and `end`.

        Args:
            start: offset of the first character to go.
            end: offset behind the last one.
            text: what comes in its place.
            continues: this may be undone together with the change before.
            caret: where the caret goes; behind `text` if None.
        """
        removed = self._text[start:end]
        after = start + len(text) if caret is None else caret
        self._anchor = None
        if not removed and not text:
            self.move(after)
            return
        self._log.record(_TextChange(start, removed, text, self._caret, after), continues=continues)
        self._set(start, end, text, after)

    def undo(self) -> bool:
        """Take the last step back. False if there is none."""
        changes = self._log.undo()
        for change in changes:
            self._set(change.at, change.at + len(change.inserted), change.removed, change.before)
        return bool(changes)

    def redo(self) -> bool:
        """Make the step again that was taken back last. False if there is none."""
        changes = self._log.redo()
        for change in changes:
            self._set(change.at, change.at + len(change.removed), change.inserted, change.after)
        return bool(changes)

    @property
    def steps(self) -> int:
        """How many steps can be undone."""
        return self._log.depth

    def join_steps(self, since: int) -> None:
        """Let what was done since there were `since` steps be undone at once."""
        self._log.join(since)

    def reset(self, text: str = "") -> None:
        """Begin anew with `text`: nothing can be undone."""
        self._log.clear()
        self._anchor = None
        self._set(0, len(self._text), text, len(text))

    def _set(self, start: int, end: int, text: str, caret: int) -> None:
        self._text = self._text[:start] + text + self._text[end:]
        self._caret = caret
        self._anchor = None
        self.revision += 1
        self.changes += 1


class _TextChange(NamedTuple):
    """At offset `at`, `removed` gave way to `inserted`; the caret went from `before` to `after`."""

    at: int
    removed: str
    inserted: str
    before: int
    after: int

    def followed_by(self, later: "_TextChange") -> "_TextChange | None":
        """Both as one, if they are one piece of typing or of erasing."""
        if self.inserted and not later.removed and later.at == self.at + len(self.inserted):
            starts_word = self.inserted[-1:].isspace() and not later.inserted[:1].isspace()
            return None if starts_word else self._replace(inserted=self.inserted + later.inserted, after=later.after)
        if not self.inserted and not later.inserted:
            if later.at + len(later.removed) == self.at:
                return _TextChange(later.at, later.removed + self.removed, "", self.before, later.after)
            if later.at == self.at:
                return self._replace(removed=self.removed + later.removed, after=later.after)
        return None


class _UndoLog:
    """Steps that can be undone and, until something else is changed, redone."""

    def __init__(self) -> None:
        self._done: list[tuple[_TextChange, ...]] = []
        self._undone: list[tuple[_TextChange, ...]] = []
        self._is_open = False

    @property
    def depth(self) -> int:
        """How many steps can be undone."""
        return len(self._done)

    def record(self, change: _TextChange, *, continues: bool) -> None:
        """Remember a change.

        Args:
            change: what was done.
            continues: it may become one step with the one before (typing, erasing), if nothing came between.
        """
        self._undone.clear()
        if continues and self._is_open:
            *earlier, last = self._done[-1]
            if joined := last.followed_by(change):
                self._done[-1] = (*earlier, joined)
                return
        self._done.append((change,))
        self._is_open = continues

    def close(self) -> None:
        """What is typed from now on is a step of its own."""
        self._is_open = False

    def join(self, depth: int) -> None:
        """Make one step of those since `depth` was the depth."""
        steps = self._done[depth:]
        if len(steps) > 1:
            self._done[depth:] = [tuple(change for step in steps for change in step)]
        self.close()

    def undo(self) -> tuple[_TextChange, ...]:
        """The changes to be taken back, in the order in which to do that; empty if there are none."""
        self.close()
        if not self._done:
            return ()
        self._undone.append(self._done.pop())
        return self._undone[-1][::-1]

    def redo(self) -> tuple[_TextChange, ...]:
        """The changes to be made again, in order; empty if there are none."""
        self.close()
        if not self._undone:
            return ()
        self._done.append(self._undone.pop())
        return self._done[-1]

    def clear(self) -> None:
        """Forget everything."""
        self._done.clear()
        self._undone.clear()
        self.close()
