"""What is below the transcript: small things above, the editor or a dialog, and the footer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kaa.tui.component import Component
from kaa.tui.components.stack import Stack

if TYPE_CHECKING:
    from kaa.frontends.interactive.dialogs.frame import DialogFrame


class Dock(Stack):
    """Components below each other. One of them, the editor, gives its place to dialogs.

    Args:
        above: shown above the editor.
        editor: has the keys as long as no dialog is open.
        below: shown below it.
    """

    def __init__(self, above: Sequence[Component], editor: Component, below: Sequence[Component]) -> None:
        super().__init__([*above, editor, *below], focus=editor)
        self._editor = editor
        self._place = len(above)  # of the editor among the children
        self._dialogs: list[DialogFrame] = []

    @property
    def dialog(self) -> "DialogFrame | None":
        """The dialog that is open."""
        return self._dialogs[-1] if self._dialogs else None

    def open(self, dialog: "DialogFrame") -> None:
        """Put a dialog in the editor's place; one that is open waits behind it."""
        self._dialogs.append(dialog)
        self._focus_last()

    def close(self, dialog: "DialogFrame") -> None:
        """Take a dialog away, wherever it is; nothing happens if it is not there."""
        if dialog in self._dialogs:
            self._dialogs.remove(dialog)
            self._focus_last()

    def _focus_last(self) -> None:
        """The dialog opened last has the keys, or the editor."""
        self.focus = self.children[self._place] = self._dialogs[-1] if self._dialogs else self._editor
