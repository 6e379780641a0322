"""The line for commands behind a colon, with what was entered in it before, and a menu of what can be completed."""

from collections.abc import Callable, Sequence

from kaa.tui.completion import CompletionSource
from kaa.tui.components.completer import Completer
from kaa.tui.components.input import Input as Line
from kaa.tui.context import Context
from kaa.tui.editing.history import HistoryWalk, InputHistory
from kaa.tui.events import Input, Key

_ACTIONS = (
    "tui.select.cancel",
    "tui.input.submit",
    "tui.input.tab",
    "tui.editor.cursorUp",
    "tui.editor.cursorDown",
    "tui.editor.deleteCharBackward",
)


class CommandLine:
    """A line that is entered.

    Args:
        context: palette, keymap and glyphs.
        sources: complete it.
        entered: what was entered before, the newest last.
        end: called once, with what is entered; empty if nothing is.
    """

    def __init__(
        self, context: Context, sources: Sequence[CompletionSource], entered: Sequence[str], end: Callable[[str], None]
    ) -> None:
        self._keymap = context.keymap
        self._line = Line(context, ":")
        self._walk = HistoryWalk(InputHistory(entered))
        self._end = end
        self._completer = Completer(context, self._line.buffer, lambda: end(self._line.text))
        self._completer.session.sources += sources

    def key(self, key: Input) -> bool:
        """Edit, complete, recall, enter or leave. Esc leaves at once, and so does Backspace before the first letter."""
        action = None
        if isinstance(key, Key) and key.action != "release":
            action = self._keymap.first(key, *_ACTIONS)
        match action:
            case "tui.select.cancel":
                self._end("")
            case "tui.editor.deleteCharBackward" if not self._line.text:
                self._end("")
            case _ if self._completer.key(key):
                pass
            case "tui.editor.cursorUp":
                self._recall(self._walk.back(self._line.text))
            case "tui.editor.cursorDown":
                self._recall(self._walk.forward())
            case "tui.input.tab":
                self._completer.request()
            case "tui.input.submit":
                self._end(self._line.text)
            case _:
                return self._edit(key)
        return True

    def render(self, width: int) -> list[str]:
        """The line, and the menu below it."""
        return [*self._line.render(width), *self._completer.menu.render(width)]

    def cursor(self) -> tuple[int, int]:
        """Where the caret is."""
        return self._line.cursor()

    def _edit(self, key: Input) -> bool:
        changes = self._line.buffer.changes
        is_handled = self._line.key(key)
        if self._line.buffer.changes != changes:
            self._walk.end()
            self._completer.follow() if self._line.text else self._completer.forget()
        return is_handled

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self._line.set_text(text)
            self._completer.close()
