"""Components below each other, and empty lines between them. *Stage 1*."""

from collections.abc import Iterable

from kaa.tui.component import Component
from kaa.tui.events import Input


class Stack:
    """Children below each other. Keys go to the focused child, whose cursor is shown.

    Args:
        children: from top to bottom; `children` may be changed at any time.
        focus: the child that gets the keys.
    """

    def __init__(self, children: Iterable[Component] = (), focus: Component | None = None) -> None:
        self.children: list[Component] = list(children)
        self.focus = focus
        self._parts: list[list[str]] = []
        self._lines: list[str] = []
        self._cursor_offset: int | None = None

    def render(self, width: int) -> list[str]:
        """The lines of all children."""
        parts = [child.render(width) for child in self.children]
        # Children give the same object when nothing changed: comparing them does not look at lines.
        if len(parts) != len(self._parts) or any(new is not old for new, old in zip(parts, self._parts, strict=True)):
            self._parts = parts
            self._lines = [line for part in parts for line in part]
        self._cursor_offset = self._offset_of_focus(parts)
        return self._lines

    def key(self, key: Input) -> bool:
        """What the focused child says to it."""
        return self.focus is not None and self.focus.key(key)

    def cursor(self) -> tuple[int, int] | None:
        """That of the focused child."""
        if self.focus is None or self._cursor_offset is None:
            return None
        position = self.focus.cursor()
        return position and (position[0] + self._cursor_offset, position[1])

    def _offset_of_focus(self, parts: list[list[str]]) -> int | None:
        offset = 0
        for child, part in zip(self.children, parts, strict=True):
            if child is self.focus:
                return offset
            offset += len(part)
        return None


class Spacer:
    """Empty lines.

    Args:
        lines: how many.
    """

    def __init__(self, lines: int = 1) -> None:
        self._lines = [""] * lines

    def render(self, width: int) -> list[str]:
        """The empty lines, at every width."""
        return self._lines

    def key(self, key: Input) -> bool:
        """Takes none."""
        return False

    def cursor(self) -> tuple[int, int] | None:
        """Shows none."""
        return None
