"""The line in which a document is searched: it finds while one types, then goes from match to match."""

from kaa.tui.components.input import Input
from kaa.tui.context import Context
from kaa.tui.events import Input as InputEvent
from kaa.tui.painted import highlight, lay_over
from kaa.tui.style import BOLD, INVERSE, UNDERLINE, join
from kaa.tui.transcript_search import TranscriptSearch
from kaa.tui.viewport import Position, Viewport, ViewportRow
from kaa.tui.width import cells, plain

_OLDER, _NEWER = -1, 1


class SearchBar:
    """A search in a viewport, open or not.

    Args:
        context: palette and keys.
        viewport: is searched, and shows what is found.
    """

    def __init__(self, context: Context, viewport: Viewport) -> None:
        self._context = context
        self._viewport = viewport
        self._input: Input | None = None
        self._is_typing = False
        self._start = Position(0, 0)
        self._search: TranscriptSearch | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is shown."""
        return self._input is not None

    def open(self, start: Position) -> None:
        """Begin to search, from a line towards the beginning; or change the text of the search that is open."""
        self._is_typing = True
        if self._input is None:
            self._start = start
            self._input = Input(self._context, "/")
            self._input.on_change = self._begin

    def close(self) -> None:
        """End it. What was found stays in view."""
        self._input = self._search = None
        self._is_typing = False

    def key(self, key: InputEvent) -> bool:
        """Take a key: text and Enter, then n and N for older and newer matches. Up and down do the same at any time."""
        if self._input is None:
            return False
        match self._context.keymap.first(
            key, "tui.select.cancel", "tui.select.confirm", "tui.select.up", "tui.select.down"
        ):
            case "tui.select.cancel":
                self.close()
            case "tui.select.confirm":
                self._is_typing = False
            case "tui.select.up":
                self._go(_OLDER)
            case "tui.select.down":
                self._go(_NEWER)
            case _:
                return self._input.key(key) if self._is_typing else self._step(key)
        return True

    def work(self) -> bool:
        """Search on for some milliseconds; whether there is more to do."""
        search = self._search
        if search is None or search.is_done:
            return False
        more = search.work()
        if not more and search.match:
            self._viewport.reveal(Position(search.match.block, search.match.line))
        return more

    def marked(self, row: ViewportRow) -> str:
        """A row with the matches in it marked: the current one in reverse, the others underlined."""
        text = row.text
        if self._search is None:
            return text
        for match in self._search.matches_on(row.position):
            columns = match.columns(row.position)
            if columns:
                start, stop = columns[0], cells(plain(text)) if columns[1] is None else columns[1]
                is_current = match == self._search.match
                text = highlight(text, start, stop, join(BOLD, INVERSE) if is_current else UNDERLINE)
        return text

    def render(self, width: int) -> str:
        """The line that shows it."""
        assert self._input is not None
        line = self._input.render(width)[0]
        state = self._state()
        room = min(cells(state), width // 2)
        return lay_over(line, state, width - room, room, width)

    def cursor(self) -> tuple[int, int] | None:
        """Where the cursor is in that line."""
        return self._input.cursor() if self._input and self._is_typing else None

    def _state(self) -> str:
        if self._search is None:
            return ""
        if not self._search.is_done:
            return "searching" + self._context.glyphs.ellipsis
        if self._search.match is None:
            return "not found"
        return "" if self._is_typing else "n older, N newer, Esc ends"

    def _begin(self) -> None:
        assert self._input is not None
        text = self._input.text
        self._search = TranscriptSearch(self._viewport, text, self._start) if text.strip() else None
        self.work()

    def _step(self, key: InputEvent) -> bool:
        match getattr(key, "id", ""):
            case "n":
                self._go(_OLDER)
            case "shift+n":
                self._go(_NEWER)
            case "/":
                self._is_typing = True
            case _:
                return False
        return True

    def _go(self, step: int) -> None:
        if self._search is not None:
            self._search.go(step)
            if not self.work() and self._search.match:
                self._viewport.reveal(Position(self._search.match.block, self._search.match.line))
