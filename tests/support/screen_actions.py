"""The sequences that move the cursor, and write, erase and scroll cells, by their final characters."""

from collections.abc import Callable, Sequence

from tests.support.screen_grid import Grid

CELL_ACTIONS: dict[str, Callable[[Grid, Sequence[int]], None]] = {
    "A": lambda grid, numbers: grid.cursor_up(numbers[0]),
    "B": lambda grid, numbers: grid.cursor_down(numbers[0]),
    "C": lambda grid, numbers: grid.cursor_forward(numbers[0]),
    "D": lambda grid, numbers: grid.cursor_back(numbers[0]),
    "E": lambda grid, numbers: grid.cursor_down1(numbers[0]),
    "F": lambda grid, numbers: grid.cursor_up1(numbers[0]),
    "G": lambda grid, numbers: grid.cursor_to_column(numbers[0]),
    "`": lambda grid, numbers: grid.cursor_to_column(numbers[0]),
    "H": lambda grid, numbers: grid.cursor_position(*numbers[:2]),
    "f": lambda grid, numbers: grid.cursor_position(*numbers[:2]),
    "K": lambda grid, numbers: grid.erase_in_line(numbers[0]),
    "L": lambda grid, numbers: grid.insert_lines(numbers[0]),
    "M": lambda grid, numbers: grid.delete_lines(numbers[0]),
    "P": lambda grid, numbers: grid.delete_characters(numbers[0]),
    "S": lambda grid, numbers: grid.scroll(numbers[0] or 1),
    "T": lambda grid, numbers: grid.scroll(-(numbers[0] or 1)),
    "X": lambda grid, numbers: grid.erase_characters(numbers[0]),
    "@": lambda grid, numbers: grid.insert_characters(numbers[0]),
    "a": lambda grid, numbers: grid.cursor_forward(numbers[0]),
    "b": lambda grid, numbers: grid.repeat(numbers[0] or 1),
    "d": lambda grid, numbers: grid.cursor_to_line(numbers[0]),
    "e": lambda grid, numbers: grid.cursor_down(numbers[0]),
    "r": lambda grid, numbers: grid.set_margins(*numbers[:2]),
    "s": lambda grid, _numbers: grid.save_cursor(),
    "u": lambda grid, _numbers: grid.restore_cursor(),
}
