"""What terminals do with their lines when their size changes: not the same, so programs must get along with all."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from pyte.screens import Char

from tests.support.screen_grid import Grid, Row


def resize(grid: Grid, columns: int, rows: int, *, pulls_back: bool, reflows: bool) -> None:
    """Give a grid another size.

    Args:
        grid: the grid.
        columns: its new width.
        rows: its new height.
        pulls_back: when it gets higher, lines come back from the history (xterm, VTE, iTerm2, tmux); otherwise blank
            ones come in below (Windows Terminal). A screen that gets lower loses rows below the cursor first, then
            gives those at the top to the history, everywhere.
        reflows: lines that were wrapped are joined or wrapped anew (VTE, kitty, iTerm2, tmux); otherwise cells beyond
            the edge are lost (xterm).
    """
    if columns != grid.columns:
        if reflows:
            _reflow(grid, columns)
        else:
            _cut(grid, columns)
        grid.columns = columns
        grid.tabstops = set(range(8, columns, 8))
    grid.margins = None
    _set_height(grid, rows, pulls_back=pulls_back)
    grid.cursor.x = min(grid.cursor.x, columns - 1)


def _set_height(grid: Grid, rows: int, *, pulls_back: bool) -> None:
    if rows < grid.lines:
        above = max(0, grid.cursor.y + 1 - rows)
        grid.history.extend(grid.row(y) for y in range(above))
        _place(grid, (grid.row(y) for y in range(above, above + rows)))
        grid.cursor.y -= above
    elif pulls_back and grid.history:
        returned = [grid.history.pop() for _ in range(min(rows - grid.lines, len(grid.history)))][::-1]
        _place(grid, [*returned, *(grid.row(y) for y in range(grid.lines))])
        grid.cursor.y += len(returned)
    grid.lines = rows


def _place(grid: Grid, rows: Iterable[Row]) -> None:
    placed = dict(enumerate(rows))
    grid.buffer.clear()
    grid.buffer.update(placed)


def _cut(grid: Grid, columns: int) -> None:
    for row in (*grid.history, *grid.buffer.values()):
        for x in [x for x in row if x >= columns]:
            del row[x]


def _reflow(grid: Grid, columns: int) -> None:
    """Wrap all lines anew. Blank rows below the cursor and what is written are left out."""
    cursor_line = len(grid.history) + grid.cursor.y
    old = [*grid.history, *(grid.row(y) for y in range(grid.lines))]
    while len(old) > cursor_line + 1 and not old[-1]:
        old.pop()
    new: list[Row] = []
    cursor = (0, 0)
    for start, end in _logical_lines(old):
        glyphs: list[Char] = []
        for number in range(start, end):
            if number == cursor_line:
                offset = len(glyphs) + grid.cursor.x
                cursor = (len(new) + offset // columns, offset % columns)
            row = old[number]
            length = grid.columns if number < end - 1 else max(row, default=-1) + 1
            glyphs += [row[x] for x in range(length)]
        new += _wrapped(glyphs, columns)
    new += [Row() for _ in range(cursor[0] + 1 - len(new))]
    above = max(0, len(new) - grid.lines)
    grid.history.clear()
    grid.history.extend(new[:above])
    _place(grid, new[above:])
    grid.cursor.y, grid.cursor.x = max(0, cursor[0] - above), cursor[1]


def _logical_lines(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    start = 0
    for number, row in enumerate(rows, start=1):
        if not row.is_continued:
            yield start, number
            start = number
    if start < len(rows):
        yield start, len(rows)


def _wrapped(glyphs: list[Char], columns: int) -> Iterator[Row]:
    remaining = iter(glyphs)
    row = Row()
    row.update(enumerate(islice(remaining, columns)))
    while following := list(islice(remaining, columns)):
        row.is_continued = True
        yield row
        row = Row()
        row.update(enumerate(following))
    yield row
