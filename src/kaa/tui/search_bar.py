"""The line in which a document is searched: it finds while one types, then goes from match to match."""

import re
import time
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import NamedTuple

from kaa.tui.components.input import Input
from kaa.tui.context import Context
from kaa.tui.events import Input as InputEvent
from kaa.tui.painted import highlight, lay_over
from kaa.tui.style import BOLD, INVERSE, UNDERLINE, join
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


# A search may meet many blocks that were never rendered: it is done in steps, between which keys are served. Case
# counts if the text to find has capital letters. Blanks in it match any there are, also the ends of lines: what was
# wrapped is found.

_STEP_SECONDS = 0.008
# More than a screen shows: their matches are asked for with every frame.
_BLOCKS_KEPT = 100


class SearchMatch(NamedTuple):
    """A place where the text was found, from one line and column to another (exclusive)."""

    block: int
    line: int
    column: int
    end_line: int
    end_column: int

    def columns(self, position: Position) -> tuple[int, int | None] | None:
        """Which columns of a line belong to it: from and to, None for all the rest; None if none do."""
        if position.block != self.block or not self.line <= position.line <= self.end_line:
            return None
        start = self.column if position.line == self.line else 0
        return start, self.end_column if position.line == self.end_line else None


class TranscriptSearch:
    """A search for one text.

    Args:
        viewport: gives the blocks and their lines.
        text: to find; not empty.
        start: the search begins with the block that has this line, at its last match up to there.

    Attributes:
        match: what was found last.
        is_done: nothing is being looked for: `match` holds, None if there is none at all.
    """

    def __init__(self, viewport: Viewport, text: str, start: Position) -> None:
        self._viewport = viewport
        pattern = r"\s+".join(map(re.escape, text.split())) or re.escape(text)
        self._pattern = re.compile(pattern, 0 if text != text.lower() else re.IGNORECASE)
        self._found: dict[int, tuple[list[str], list[SearchMatch]]] = {}
        self.match: SearchMatch | None = None
        self.is_done = False
        self._look(start.block, -1, up_to=start.line)

    def go(self, step: int) -> None:
        """Look for the match before this one (-1, towards the beginning) or for the one after it (1)."""
        if self.match is None:
            return
        matches = self.matches(self.match.block)
        index = matches.index(self.match) + step if self.match in matches else -1
        if 0 <= index < len(matches):
            self.match = matches[index]
        else:
            self._look(self.match.block + step, step)

    def work(self) -> bool:
        """Search on for some milliseconds.

        Returns:
            Whether there is more to do.
        """
        deadline = time.monotonic() + _STEP_SECONDS
        while not self.is_done:
            self._visit()
            if time.monotonic() > deadline:
                break
        return not self.is_done

    def matches(self, block: int) -> list[SearchMatch]:
        """All matches in a block."""
        lines = self._viewport.lines(block)
        known = self._found.get(block)
        if known is None or known[0] is not lines:
            if len(self._found) >= _BLOCKS_KEPT:
                self._found.clear()
            known = self._found[block] = lines, self._search(block, lines)
        return known[1]

    def matches_on(self, position: Position) -> list[SearchMatch]:
        """Those of a line. Every row that is shown asks for them: a long block may have thousands of others."""
        matches = self.matches(position.block)
        first = bisect_left(matches, position.line, key=lambda match: match.end_line)
        behind = bisect_right(matches, position.line, key=lambda match: match.line)
        return matches[first:behind]

    def _look(self, block: int, step: int, up_to: int | None = None) -> None:
        """Look in this block, in it only up to a line if that is given, and on from there."""
        self._block, self._step, self._up_to = block, step, up_to
        # All blocks, the last of them being the one before the first; or that one again, for the lines left out.
        self._blocks_left = len(self._viewport) + (up_to is not None)
        self.is_done = not len(self._viewport)

    def _visit(self) -> None:
        if not len(self._viewport):  # they are gone since the search began
            self.match, self.is_done = None, True
            return
        self._block %= len(self._viewport)
        matches = self.matches(self._block)
        if self._up_to is not None:
            matches = [match for match in matches if match.line <= self._up_to]
            self._up_to = None
        self._blocks_left -= 1
        if matches:
            self.match = matches[0 if self._step > 0 else -1]
        self.is_done = bool(matches) or self._blocks_left <= 0
        self._block += self._step

    def _search(self, block: int, lines: list[str]) -> list[SearchMatch]:
        texts = [plain(line) for line in lines]
        starts = list(accumulate((len(text) + 1 for text in texts), initial=0))

        def place(offset: int) -> tuple[int, int]:
            line = bisect_right(starts, offset) - 1
            return line, cells(texts[line][: offset - starts[line]])

        return [
            SearchMatch(block, *place(found.start()), *place(found.end()))
            for found in self._pattern.finditer("\n".join(texts))
            if found.end() > found.start()
        ]
