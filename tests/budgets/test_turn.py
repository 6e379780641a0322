"""What a printed turn loads and does, counted: without tools, at once and after a while, and with a call at once."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.budget import Budget
from tests.support.model_server import call
from tests.support.printed_turn import lines_in, reply_after_a_while, reply_at_once

# Modules of kaa, and their lines without blank ones, comments and docstrings. Each costs start-up time: what is new
# should replace something, or load when it is used.
_BUDGET = Budget.parse(
    """
                         modules  lines
    reply at once            263  27381
    reply after a while      309  32509
    call at once             291  29990
    """,
    slack={"lines": 500},
)


class Measured(NamedTuple):
    """What the runs did.

    Attributes:
        loaded: the modules of each run.
        wake_ups: in a second in which the reply was waited for.
    """

    loaded: dict[str, list[Path]]
    wake_ups: float


@pytest.fixture(scope="module")
def measured(make_kaa: Callable[[], Kaa]) -> Measured:
    """A run with a reply at once, one with a call that looks, and one that waits for its reply."""
    at_once = reply_at_once(make_kaa())
    with_call = reply_at_once(make_kaa(), call("read", path="module.py"))
    after_a_while, wake_ups = reply_after_a_while(make_kaa())
    loaded = {"reply at once": at_once, "reply after a while": after_a_while, "call at once": with_call}
    return Measured(loaded, wake_ups)


def test_a_turn_loads_no_more_than_the_budget_says(measured: Measured) -> None:
    counts = {
        reply: {"modules": len(files), "lines": sum(map(lines_in, files))} for reply, files in measured.loaded.items()
    }

    violations = _BUDGET.violations(counts)

    assert not violations, violations


def test_nothing_wakes_while_the_model_thinks(measured: Measured) -> None:
    assert measured.wake_ups == 0
