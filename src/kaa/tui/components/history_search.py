"""Searching what was entered before, letter by letter, while the editor shows what was found."""

from collections.abc import Callable

from kaa.tui.components.input import Input
from kaa.tui.context import Context
from kaa.tui.editing.history import InputHistory
from kaa.tui.events import Input as InputEvent


class HistorySearch:
    """A search that is under way.

    Args:
        context: palette and keymap.
        history: what is searched.
        show: shows what was found; None: nothing was.
        end: called at the end, with whether what was found is taken.
    """

    def __init__(
        self, context: Context, history: InputHistory, show: Callable[[str | None], None], end: Callable[[bool], None]
    ) -> None:
        self._keymap = context.keymap
        self._history = history
        self._show = show
        self._end = end
        self._found: list[str] = []
        self._shown = 0
        self._query = Input(context)
        self._query.on_change = self._search
        self._query.on_submit = lambda _query: end(True)
        self._query.on_cancel = lambda: end(False)
        self._tell()

    def key(self, key: InputEvent) -> bool:
        """Search. A key that means nothing to a search takes what was found, and is left to others."""
        if self._keymap.first(key, "tui.editor.historySearch", "tui.editor.cursorUp", "tui.select.up"):
            self._step(1)
        elif self._keymap.first(key, "tui.editor.cursorDown", "tui.select.down"):
            self._step(-1)
        elif not self._query.key(key):
            self._end(True)
            return False
        return True

    def render(self, width: int) -> list[str]:
        """One line: what is searched, and which of how many is shown."""
        return self._query.render(width)

    def cursor(self) -> tuple[int, int]:
        """Where the caret of the search is."""
        return self._query.cursor()

    def _search(self) -> None:
        self._found = self._history.search(self._query.text) if self._query.text else []
        self._shown = 0
        self._tell()

    def _step(self, by: int) -> None:
        if self._found:
            self._shown = max(0, min(self._shown + by, len(self._found) - 1))
        self._tell()

    def _tell(self) -> None:
        position = f" {self._shown + 1}/{len(self._found)}" if self._found else ""
        self._query.label = f"search history{position}: "
        if not self._found and self._query.text:
            self._query.label = "search history, nothing found: "
        self._show(self._found[self._shown] if self._found else None)
