"""Boxes over the rows of a screen: where they go."""

from typing import Literal, NamedTuple, TypeAlias

from kaa.tui.component import Component
from kaa.tui.document import around_cursor
from kaa.tui.painted import lay_over

# A number of cells, or a part of the screen.
Extent: TypeAlias = int | float

_PARTS = {"top": 0.0, "left": 0.0, "center": 0.5, "bottom": 1.0, "right": 1.0}


class Placement(NamedTuple):
    """Where a box goes. It is moved and shortened as far as the screen demands.

    Attributes:
        row: of its first line: a number of cells, or a part of the height that it leaves free (0.0 is the top).
        column: of its left edge, likewise.
        width: a number of cells, or a part of the screen's width.
        max_height: likewise.
        margin: cells that stay free on each side, if the screen has them.
    """

    row: Extent | Literal["top", "center", "bottom"] = "center"
    column: Extent | Literal["left", "center", "right"] = "center"
    width: Extent = 0.8
    max_height: Extent = 0.8
    margin: int = 1


class Overlay(NamedTuple):
    """A component over the screen. It draws its border itself, if it wants one."""

    component: Component
    placement: Placement = Placement()


def compose(rows: list[str], overlay: Overlay, columns: int) -> tuple[list[str], tuple[int, int] | None]:
    """Lay a box over painted rows.

    Args:
        rows: all of the screen's.
        overlay: the box.
        columns: the screen's width.

    Returns:
        The rows with the box in them, and where the cursor of the box is, if it has one.
    """
    placement, component = overlay.placement, overlay.component
    width = _extent(placement.width, columns, placement.margin)
    lines = component.render(width)
    lines, cursor = around_cursor(lines, component.cursor(), _extent(placement.max_height, len(rows), placement.margin))
    top = _position(placement.row, len(rows), len(lines), placement.margin)
    left = _position(placement.column, columns, width, placement.margin)
    composed = list(rows)
    for row, line in enumerate(lines, top):
        composed[row] = lay_over(rows[row], line, left, width, columns)
    return composed, cursor and (top + cursor[0], left + cursor[1])


def _extent(wanted: Extent, available: int, margin: int) -> int:
    cells = round(wanted * available) if isinstance(wanted, float) else wanted
    return max(1, min(cells, available - 2 * margin))


def _position(wanted: Extent | str, available: int, taken: int, margin: int) -> int:
    margin = min(margin, (available - taken) // 2)
    free = available - taken - 2 * margin
    if isinstance(wanted, str):
        wanted = _PARTS[wanted]
    return margin + round(wanted * free) if isinstance(wanted, float) else min(max(margin, wanted), margin + free)
