"""A budget that finds nothing would never fail: what it must find."""

import pytest

from tests.support.budget import Budget
from tests.support.lines_of_code import lines_of_code

BUDGET = Budget.parse(
    """
             flushes  session bytes
    read           .            400
    write          2           1000
    """,
    slack={"session bytes": 50},
)
READ, WRITE = {"session bytes": 380}, {"flushes": 2, "session bytes": 950}


def test_what_keeps_to_the_budget_is_no_violation() -> None:
    assert not BUDGET.violations({"read": READ, "write": WRITE})


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"flushes": 3}, "write: flushes 3, over the budget of 2"),
        ({"flushes": 1}, "write: flushes 1, under the budget of 2: lower the budget"),
        ({"session bytes": 1001}, "write: session bytes 1001, over the budget of 1000"),
        ({"session bytes": 949}, "write: session bytes 949, under the budget of 1000: lower the budget"),
        ({"threads": 1}, "write: threads 1, which is no column"),
    ],
)
def test_a_count_above_or_below_its_limit_is_a_violation(changed: dict[str, int], complaint: str) -> None:
    violations = BUDGET.violations({"read": READ, "write": WRITE | changed}, {"write": {"flush notes.txt": 3}})

    assert violations.splitlines()[:3] == [complaint, "    3 flush notes.txt", ""]


def test_the_measured_table_can_take_the_place_of_the_budget() -> None:
    measured = {"read": READ, "write": {"flushes": 4, "session bytes": 12_345}}

    _, table = BUDGET.violations(measured).split("measured:\n")

    assert Budget.parse(table, {}).limits == {"read": {"flushes": 0, **READ}, "write": measured["write"]}


def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings() -> None:
    source = '''\
"""Says what it is for.

In two paragraphs.
"""

import os  # a comment behind code

# A comment on its own.
TEXT = """
    "quoted", and a blank line

# no comment
"""
HASH = "# no comment"


class Kind:
    size: int
    """How large it is."""

    def method(self) -> str:
        r"""One line with a \\ in it."""
        return 'it\\'s "quoted"'
'''

    assert lines_of_code(source) == 10
