"""Tables of text for reports."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Lines of a table: the first `left` columns begin on the left, the others end on the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def fitted(rows: Sequence[tuple[str, ...]], room: int | None, dispensable: Sequence[str] = ()) -> list[str]:
    """As `aligned`, in `room` characters a line.

    Where there is not enough, long names in the first column stand on lines of their own, and columns are left out.

    Args:
        rows: the table, its head first.
        room: None for as much as it takes.
        dispensable: heads of the columns that may be left out, the first one first.
    """
    lines = aligned(rows)
    if room is None or max(map(len, lines)) <= room:
        return lines
    names = [row[0] if len(row[0]) > room // 2 else "" for row in rows]
    rows = [("" if name else row[0], *row[1:]) for name, row in zip(names, rows, strict=True)]
    lines = aligned(rows)
    for column in dispensable:
        if max(map(len, lines)) <= room:
            break
        at = rows[0].index(column)
        rows = [row[:at] + row[at + 1 :] for row in rows]
        lines = aligned(rows)
    return [line for name, row in zip(names, lines, strict=True) for line in ((name, row) if name else (row,))]
