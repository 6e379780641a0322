"""Tables of counts that may not grow, and that follow when they shrink.

BUDGET = Budget.parse('''
                        modules   lines
    reply at once           335   28000
''')
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

_GAP = re.compile(r"\s{2,}")  # names have single spaces

Counts = Mapping[str, Mapping[str, int]]


class Budget(NamedTuple):
    """Counts by row and column.

    Attributes:
        limits: the most that is allowed.
        slack: by column, how far below its limit a count may be; 0 where a column is not named.
    """

    limits: Counts
    slack: Mapping[str, int]

    @classmethod
    def parse(cls, table: str, slack: Mapping[str, int]) -> "Budget":
        """Read a table: a line with the columns, then a line for each row. A dot is a zero."""
        head, *lines = (_GAP.split(line.strip()) for line in table.strip().splitlines())
        return cls({name: dict(zip(head, map(_number, cells), strict=True)) for name, *cells in lines}, slack)

    def violations(self, measured: Counts, details: Counts | None = None) -> str:
        """What does not keep to the budget, and the whole table as it is now; empty if all does.

        Args:
            measured: counts by row and column; what a row does not name is 0.
            details: what the counts of a row consist of; told where the row does not keep to the budget.
        """
        found: list[str] = []
        for row, limits in self.limits.items():
            counts = measured[row]
            complaints = [self._complaint(column, limits[column], counts.get(column, 0)) for column in limits]
            complaints += [f"{column} {counts[column]}, which is no column" for column in counts.keys() - limits.keys()]
            if any(complaints):
                found += [f"{row}: {complaint}" for complaint in complaints if complaint]
                found += [f"    {count} {what}" for what, count in sorted((details or {}).get(row, {}).items())]
        return "\n".join([*found, "", "measured:", _table(self.limits, measured)]) if found else ""

    def _complaint(self, column: str, limit: int, count: int) -> str:
        if count > limit:
            return f"{column} {count}, over the budget of {limit}"
        if count < limit - self.slack.get(column, 0):
            return f"{column} {count}, under the budget of {limit}: lower the budget"
        return ""


def _number(cell: str) -> int:
    return 0 if cell == "." else int(cell)


def _table(limits: Counts, measured: Counts) -> str:
    """What is measured, as a budget is written."""
    columns = list(next(iter(limits.values())))
    wide = max(map(len, limits))
    lines = [" " * wide + "".join(f"  {column}" for column in columns)]
    for row in limits:
        cells = (f"{measured[row].get(column, 0) or '.':>{len(column) + 2}}" for column in columns)
        lines.append(f"{row:<{wide}}{''.join(cells)}")
    return "\n".join(lines)
