"""A text to be entered in a dialog: a label above an editor of its own."""

from collections.abc import Callable

from kaa.tui.components.editor import Editor
from kaa.tui.components.stack import Stack
from kaa.tui.components.text import Text
from kaa.tui.context import Context
from kaa.tui.events import Input


class TextEntry(Stack):
    def __init__(
        self,
        context: Context,
        label: str,
        text: str,
        *,
        on_enter: Callable[[str], None],
        on_cancel: Callable[[], None],
    ) -> None:
        editor = Editor(context)
        editor.set_text(text)
        editor.on_submit = on_enter
        super().__init__([Text(context, label, "muted"), editor], focus=editor)
        self._keymap = context.keymap
        self._on_cancel = on_cancel

    def key(self, key: Input) -> bool:
        """Esc cancels, all else is the editor's."""
        if self._keymap.matches(key, "tui.select.cancel"):
            self._on_cancel()
            return True
        return super().key(key)
