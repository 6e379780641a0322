"""Where somebody is in a list: which of its entries is selected, and which are in view."""

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
