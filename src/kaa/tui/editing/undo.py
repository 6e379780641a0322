"""What was changed, so that it can be undone and redone: changes of text in steps, each step as small as its change."""

from typing import NamedTuple


class TextChange(NamedTuple):
    """At offset `at`, `removed` gave way to `inserted`; the caret went from `before` to `after`."""

    at: int
    removed: str
    inserted: str
    before: int
    after: int

    def followed_by(self, later: "TextChange") -> "TextChange | None":
        """Both as one, if they are one piece of typing or of erasing."""
        if self.inserted and not later.removed and later.at == self.at + len(self.inserted):
            starts_word = self.inserted[-1:].isspace() and not later.inserted[:1].isspace()
            return None if starts_word else self._replace(inserted=self.inserted + later.inserted, after=later.after)
        if not self.inserted and not later.inserted:
            if later.at + len(later.removed) == self.at:
                return TextChange(later.at, later.removed + self.removed, "", self.before, later.after)
            if later.at == self.at:
                return self._replace(removed=self.removed + later.removed, after=later.after)
        return None


class UndoLog:
    """Steps that can be undone and, until something else is changed, redone."""

    def __init__(self) -> None:
        self._done: list[tuple[TextChange, ...]] = []
        self._undone: list[tuple[TextChange, ...]] = []
        self._is_open = False

    @property
    def depth(self) -> int:
        """How many steps can be undone."""
        return len(self._done)

    def record(self, change: TextChange, *, continues: bool) -> None:
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

    def undo(self) -> tuple[TextChange, ...]:
        """The changes to be taken back, in the order in which to do that; empty if there are none."""
        self.close()
        if not self._done:
            return ()
        self._undone.append(self._done.pop())
        return self._undone[-1][::-1]

    def redo(self) -> tuple[TextChange, ...]:
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
