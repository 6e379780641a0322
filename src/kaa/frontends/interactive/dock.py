"""What is below the transcript: small things above, the editor or a dialog, and the footer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kaa.tui.component import Component
from kaa.tui.events import Input

if TYPE_CHECKING:
    from kaa.frontends.interactive.dialogs.frame import DialogFrame


class Dock:
    """Components below each other. One of them, the editor, gives its place to dialogs.

    Args:
        above: shown above the editor.
        editor: has the keys as long as no dialog is open.
        below: shown below it.
    """

    def __init__(self, above: Sequence[Component], editor: Component, below: Sequence[Component]) -> None:
        self._above = tuple(above)
        self._editor = editor
        self._below = tuple(below)
        self._dialogs: list[DialogFrame] = []
        self._parts: list[list[str]] = []
        self._lines: list[str] = []
        self._cursor_row = 0

    @property
    def focused(self) -> Component:
        """What has the keys: the dialog opened last, or the editor."""
        return self._dialogs[-1] if self._dialogs else self._editor

    @property
    def dialog(self) -> "DialogFrame | None":
        """The dialog that is open."""
        return self._dialogs[-1] if self._dialogs else None

    def open(self, dialog: "DialogFrame") -> None:
        """Put a dialog in the editor's place; one that is open waits behind it."""
        self._dialogs.append(dialog)

    def close(self, dialog: "DialogFrame") -> None:
        """Take a dialog away, wherever it is; nothing happens if it is not there."""
        if dialog in self._dialogs:
            self._dialogs.remove(dialog)

    def render(self, width: int) -> list[str]:
        """All parts below each other."""
        above = [part.render(width) for part in self._above]
        focused = self.focused.render(width)
        parts = [*above, focused, *(part.render(width) for part in self._below)]
        if len(parts) != len(self._parts) or any(new is not old for new, old in zip(parts, self._parts, strict=True)):
            self._parts = parts
            self._lines = [line for part in parts for line in part]
            self._cursor_row = sum(map(len, above))
        return self._lines

    def key(self, key: Input) -> bool:
        """The dialog or the editor takes it."""
        return self.focused.key(key)

    def cursor(self) -> tuple[int, int] | None:
        """That of the dialog or the editor."""
        cursor = self.focused.cursor()
        return None if cursor is None else (self._cursor_row + cursor[0], cursor[1])
