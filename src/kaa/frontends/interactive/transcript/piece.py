"""What most blocks are made on: cached lines, and a beginning that stays as it is once it has left the screen."""

from abc import ABC, abstractmethod

from kaa.frontends.interactive.transcript.view_options import ViewOptions


class Piece(ABC):
    """A block that lays out all of its lines whenever something about it has changed.

    Its first line is empty: the distance to the block before it.

    When its first lines leave the screen they are kept as they are; what follows is taken from the current layout,
    from the line on that was next when they left.
    """

    is_prompt = False

    def __init__(self, view: ViewOptions) -> None:
        self.view = view
        self.context = view.context
        self.finished = False
        self._lines: list[str] = []
        self._painted_for: tuple[int, int, int] | None = None
        self._frozen: list[str] = []
        self._next = 0  # line of the layout that follows the frozen ones
        self._started_at = 0  # line of the layout with which `_lines` goes on behind the frozen ones
        self._has_left = False  # all of it, the end included
        self._left_unfinished = False  # all of it that there was, and the end was still to come

    @abstractmethod
    def layout(self, width: int) -> list[str]:
        """All lines but the empty first one, as things are now."""

    @property
    def verdict(self) -> int:
        """How many of the last lines say how it ended: they are shown however much of the rest has left the screen."""
        return 0

    @property
    def settled(self) -> int:
        """How many lines are final."""
        return len(self._lines) if self.finished else 0

    @property
    def height(self) -> int:
        """How many lines there were when it was rendered last."""
        return len(self._lines)

    @property
    def left(self) -> int:
        """How many lines have left the screen."""
        return len(self._frozen)

    def changed(self) -> None:
        """Lay out anew with the next frame."""
        self._painted_for = None

    def render(self, width: int) -> list[str]:
        painted_for = (width, self.context.palette.version, self.view.version)
        if self._painted_for == painted_for:
            return self._lines
        self._painted_for = painted_for
        if self._has_left:
            return self._lines
        lines = ["", *self.layout(width)]
        if self._frozen:
            self._started_at = max(min(self._next, len(lines) - self.verdict), 0)
            lines = [*self._frozen, *lines[self._started_at :]]
        if lines != self._lines:
            self._lines = lines
        return self._lines

    def freeze(self, lines: int) -> None:
        """Keep the first lines as they are; 0 lets them go."""
        if lines == 0:
            self._next = self._started_at = 0
            self._frozen = []
            self._has_left = self._left_unfinished = False
            self.changed()
            return
        if lines > len(self._frozen):
            self._next = self._started_at = self._started_at + lines - len(self._frozen)
            self._frozen = self._lines[:lines]
            if lines >= len(self._lines) and not self.finished:
                self._left_unfinished = True
                self.changed()
        self._has_left = self.finished and self._painted_for is not None and lines >= len(self._lines)
