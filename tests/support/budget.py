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

    def violations(self, measured: Counts) -> str:
        """What does not keep to the budget, in lines, and the whole table as it is now; empty if all does.

        Args:
            measured: counts by row and column; what a row does not name is 0.
        """
        found = [
            complaint
            for row, limits in self.limits.items()
            for column, limit in limits.items()
            if (complaint := self._complaint(row, column, limit, measured[row].get(column, 0)))
        ]
        found += [
            f"{row}: {column} {count}, which the budget does not name"
            for row, counts in measured.items()
            for column, count in counts.items()
            if count and column not in self.limits.get(row, {})
        ]
        return "\n".join([*found, "", "measured:", _table(self.limits, measured)]) if found else ""

    def _complaint(self, row: str, column: str, limit: int, count: int) -> str:
        if count > limit:
            return f"{row}: {column} {count}, over the budget of {limit}"
        if count < limit - self.slack.get(column, 0):
            return f"{row}: {column} {count}, under the budget of {limit}: lower the budget"
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
