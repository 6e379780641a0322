"""Where somebody is in a list: which of its entries is selected, and which are in view."""

from abc import ABC, abstractmethod

from kaa.tui.components.input import Input
from kaa.tui.context import Context
from kaa.tui.width import fit

# Actions that move in every list.
MOVES = (
    "tui.select.up",
    "tui.select.down",
    "tui.select.pageUp",
    "tui.select.pageDown",
    "tui.select.first",
    "tui.select.last",
)


class ListPosition:
    """The selected entry, kept in view.

    Attributes:
        index: of the selected entry, from 0; 0 in an empty list.
        count: how many entries there are.
    """

    def __init__(self, count: int = 0) -> None:
        self.index = 0
        self.count = count
        self._top = 0

    def go(self, index: int) -> None:
        """Select an entry; the nearest one if there is none with this index."""
        self.index = max(0, min(index, self.count - 1))

    def move(self, action: str, page: int) -> None:
        """Do one of `MOVES`. Single steps go round at the ends, pages stop there.

        Args:
            action: the move.
            page: how many entries are in view.
        """
        last = self.count - 1
        step = max(1, page - 1)  # one entry stays in view, to hold on to
        match action:
            case "tui.select.up":
                self.go(self.index - 1 if self.index else last)
            case "tui.select.down":
                self.go(self.index + 1 if self.index < last else 0)
            case "tui.select.pageUp":
                self.go(self.index - step)
            case "tui.select.pageDown":
                self.go(self.index + step)
            case "tui.select.first":
                self.go(0)
            case "tui.select.last":
                self.go(last)

    def in_view(self, rows: int) -> range:
        """The entries that are shown in so many rows; moves no further than the selected one needs."""
        rows = max(1, rows)
        self._top = max(self.index - rows + 1, min(self._top, self.index, self.count - rows))
        self._top = max(0, self._top)
        return range(self._top, min(self.count, self._top + rows))

    def label(self) -> str:
        """The position in words, such as `(3/120)`."""
        return f"({self.index + 1}/{self.count})"


class ScrolledList(ABC):
    """What lists have in common: the entries in view below a search field, painted anew only after a change.

    Args:
        context: palette, keys, glyphs and the size of the screen.
        max_rows: how many entries are shown at most. On low screens they are fewer.
        search: what is typed into; None for a list that cannot be searched.
    """

    _search: Input | None

    def __init__(self, context: Context, max_rows: int, search: Input | None) -> None:
        self._context = context
        self._max_rows = max_rows
        self._search = search
        self._position = ListPosition()
        self._revision = 0  # counts changes
        self._painted: object = None
        self._lines: list[str] = []
        self._cursor_row = 0

    def render(self, width: int) -> list[str]:
        """The search field, and what the list shows."""
        search = self._search.render(width) if self._search else []
        state = (width, self._context.palette.version, self._context.size.rows, self._revision)
        if self._painted != state or self._lines[: len(search)] != search:
            self._painted = state
            self._lines = [*search, *(fit(line, width) for line in self._paint(max(1, width)))]
        return self._lines

    def cursor(self) -> tuple[int, int] | None:
        """In the search field, else at the selected entry, where screen readers and magnifiers look."""
        return self._search.cursor() if self._search else (self._cursor_row, 0)

    def _height(self) -> int:
        return max(1, min(self._max_rows, self._context.size.rows // 2))

    @abstractmethod
    def _paint(self, width: int) -> list[str]:
        """The lines below the search field."""
