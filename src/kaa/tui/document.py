"""What presenters show: blocks that flow upwards and, below them, the dock.

A line that has left the screen never changes. Blocks change as long as they are wholly on the screen; when their first
lines leave it, they are told (`freeze`) and go on in a way that keeps those. A frame on the main screen asks only the
blocks that have not left, however long the document is:

    document.leave(screen.frame(document.tail(width)))
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from kaa.tui.component import Component
from kaa.tui.control import OUTPUT_START, PROMPT_START
from kaa.tui.picture import is_picture

# What a rebuild brings back to the terminal's scrollback at most; terminals keep 1,000 to 10,000 lines by default.
MAX_ROWS = 10_000


class Block(Protocol):
    """A piece of the document, such as a message.

    A block may also have an attribute `is_prompt`: True for what the user said, which presenters can jump to.
    """

    def render(self, width: int) -> list[str]:
        """The lines at this width, as `Component.render` gives them; cheap if nothing changed."""

    def freeze(self, lines: int) -> None:
        """The first `lines` lines, as rendered last, have left the screen: render them the same from now on.

        0 undoes this: the document is about to be painted anew, perhaps at another width.
        """

    @property
    def settled(self) -> int:
        """How many of the lines rendered last will not change of their own accord: all of a finished block.

        All of them means that the block is finished, and that no further lines will come either.
        """


class Tail(NamedTuple):
    """What of the document can still change.

    Attributes:
        lines: the lines of blocks that have not left the screen, then those of the dock.
        dock: the index of the dock's first line.
        cursor: row, as an index of `lines`, and column; None if there is none to show.
    """

    lines: list[str]
    dock: int
    cursor: tuple[int, int] | None


def around_cursor(
    lines: list[str], cursor: tuple[int, int] | None, rows: int
) -> tuple[list[str], tuple[int, int] | None]:
    """As many lines of a dock or a dialog as there are rows for: those around the cursor, or else the last ones.

    Returns:
        The lines, and the cursor within them.
    """
    excess = len(lines) - rows
    if excess <= 0:
        return lines, cursor
    if cursor is None:
        return lines[excess:], None
    skipped = min(max(0, cursor[0] - rows // 2), excess)
    return lines[skipped : skipped + rows], (cursor[0] - skipped, cursor[1])


class Document:
    """Blocks and the dock.

    Args:
        dock: what stays at the bottom: the editor, the footer, a dialog. It never leaves the screen.

    Attributes:
        blocks: append to it at any time; whatever else changes it is `replace`.
        earlier: blocks before these, for presenters with a viewport of their own; may be built when asked for.
        dock: as given; may be exchanged.
        marks_prompts: whether `tail` marks where prompts begin, and what follows them, so that terminals can jump from
            one to the next and select what is between them (OSC 133).
    """

    def __init__(self, dock: Component) -> None:
        self.marks_prompts = False
        self.blocks: list[Block] = []
        self.earlier: Sequence[Block] = ()
        self.dock = dock
        self._first = 0  # blocks before it have left for good
        self._left: list[int] = []  # of each block from there on: how many of its lines have left
        self._heights: list[int] = []  # and how many it had when it was rendered last
        self._order: list[int] = []  # in which they were in the last tail
        self._rows_to_begin_with: int | None = MAX_ROWS

    def replace(self, blocks: Iterable[Block], earlier: Sequence[Block] = ()) -> None:
        """Have other blocks, as when another session is opened. What is on the screen is to be painted anew."""
        self.blocks = list(blocks)
        self.earlier = earlier
        self.reset()

    def reset(self, max_rows: int = MAX_ROWS) -> None:
        """Begin again, for a screen that is painted anew: nothing has left, and everything may change once more.

        Args:
            max_rows: how many lines of blocks the next tail has at most, the last ones.
        """
        for block in self.blocks:
            block.freeze(0)
        self._first, self._left, self._heights, self._order = 0, [], [], []
        self._rows_to_begin_with = max_rows

    @property
    def has_left(self) -> bool:
        """Whether any line has left the screen."""
        return self._first > 0 or any(self._left)

    def tail(self, width: int) -> Tail:
        """The lines that have not left the screen and the dock, at a width in cells."""
        if self._rows_to_begin_with is not None:
            self._begin(width, self._rows_to_begin_with)
            self._rows_to_begin_with = None
        blocks = self.blocks[self._first :]
        left = self._left + [0] * (len(blocks) - len(self._left))
        rendered = [block.render(width) for block in blocks]
        heights = [len(lines) for lines in rendered]
        done = self._count_done(left, heights)
        if self.marks_prompts:
            rendered = [self._marked(index, lines) for index, lines in enumerate(rendered)]
        # What an earlier block has to add, when the beginning of a later one has left, comes behind the rest of that.
        split = max((index for index, count in enumerate(left) if count), default=0)
        order = [split, *range(split), *range(split + 1, len(blocks))][: len(blocks)]
        lines = [line for index in order for line in rendered[index][left[index] :]]
        dock = len(lines)
        lines += self.dock.render(width)
        for block, height in zip(blocks[:done], heights, strict=False):
            block.freeze(height)  # nobody looks at it any more: whatever is switched, it stays like this
        # Together, when nothing can fail any more: the last tail is what the terminal is given back with.
        self._first += done
        self._left, self._heights = left[done:], heights[done:]
        self._order = [index - done for index in order if index >= done]
        cursor = self.dock.cursor()
        return Tail(lines, dock, cursor and (dock + cursor[0], cursor[1]))

    def leave(self, lines: int) -> None:
        """The first lines of the last tail have left the screen: they will not be asked for again.

        Args:
            lines: how many; not more than there were before the dock.
        """
        for index in self._order:
            left = self._left[index]
            leaving = min(lines, max(0, self._heights[index] - left))
            if leaving:
                lines -= leaving
                self._left[index] += leaving
                self.blocks[self._first + index].freeze(left + leaving)

    def _marked(self, index: int, lines: list[str]) -> list[str]:
        before = self._first + index - 1
        after_prompt = before >= 0 and _is_prompt(self.blocks[before])
        return _marked(self.blocks[before + 1], lines, after_prompt=after_prompt)

    def _count_done(self, left: list[int], heights: list[int]) -> int:
        """How many of the first blocks have left for good: all of their lines, as they are now, and none will come.

        When lines leave it is too early to say: the block may have heard of more since it was rendered.
        """
        # Blocks without lines stay until something behind them has left.
        begun = max((index + 1 for index, count in enumerate(left) if count), default=0)
        for index in range(begun):
            if left[index] < heights[index] or self.blocks[self._first + index].settled < heights[index]:
                return index
        return begun

    def _begin(self, width: int, max_rows: int) -> None:
        """Find where the last `max_rows` lines begin; what is before them counts as having left."""
        rows = 0
        first = len(self.blocks)
        while first and rows < max_rows:
            first -= 1
            rows += len(self.blocks[first].render(width))
        self._first = first
        if rows > max_rows:
            self._left = [rows - max_rows]
            self.blocks[first].freeze(rows - max_rows)


def _is_prompt(block: Block) -> bool:
    return getattr(block, "is_prompt", False)


def _marked(block: Block, lines: list[str], *, after_prompt: bool) -> list[str]:
    """The lines with a mark before the first text of a prompt, or before what follows one."""
    if _is_prompt(block):
        mark = PROMPT_START
        at = next((index for index, line in enumerate(lines) if line and not is_picture(line)), 0)
    elif after_prompt:
        mark, at = OUTPUT_START, 0
    else:
        return lines
    if not lines or is_picture(lines[at]):
        return lines
    return [*lines[:at], mark + lines[at], *lines[at + 1 :]]
