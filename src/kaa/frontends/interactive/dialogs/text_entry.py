"""A text to be entered in a dialog: a label above an editor of its own."""

from collections.abc import Callable

from kaa.tui.components.editor import Editor
from kaa.tui.components.text import Text
from kaa.tui.context import Context
from kaa.tui.events import Input


class TextEntry:
    """Asks for a text.

    Args:
        context: colours and keys.
        label: what is asked for.
        text: what is there to begin with.
        on_enter: gets the text.
        on_cancel: called for Esc.
    """

    def __init__(
        self,
        context: Context,
        label: str,
        text: str,
        *,
        on_enter: Callable[[str], None],
        on_cancel: Callable[[], None],
    ) -> None:
        self._context = context
        self._on_cancel = on_cancel
        self._label = Text(context, label, "muted")
        self._editor = Editor(context)
        self._editor.set_text(text)
        self._editor.on_submit = on_enter
        self._above = 0
        self._parts: tuple[list[str], list[str]] = ([], [])
        self._lines: list[str] = []

    def render(self, width: int) -> list[str]:
        """The label and the editor."""
        parts = (self._label.render(width), self._editor.render(width))
        if parts[0] is not self._parts[0] or parts[1] is not self._parts[1]:
            self._parts, self._above = parts, len(parts[0])
            self._lines = [*parts[0], *parts[1]]
        return self._lines

    def key(self, key: Input) -> bool:
        """Esc cancels, all else is the editor's."""
        if self._context.keymap.matches(key, "tui.select.cancel"):
            self._on_cancel()
            return True
        return self._editor.key(key)

    def cursor(self) -> tuple[int, int]:
        """That of the editor."""
        row, column = self._editor.cursor()
        return self._above + row, column
