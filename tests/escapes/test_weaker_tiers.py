"""The tiers that machines fall back to hold what they say they hold. What they cannot is in `world/known.py`."""

import pytest

from tests.escapes.conftest import Judge, got_out
from tests.escapes.world.catalogue import all_attempts, in_group
from tests.escapes.world.known import KNOWN
from tests.escapes.world.people import ORDINARY

# These run together, in a second or two each; the rest is left to tier `full`, where it is all tried.
_GROUPS = (
    "files",
    "network",
    "persistence",
    "persistence of what exists",
    "persistence in projects of their own",
    "repository in projects of their own",
    "secrets",
    "secrets that come later",
    "shared_kernel",
    "surface",
    "unix_sockets",
)
_ALL = [pytest.param(tier, group, id=f"{tier}-{group}") for tier in KNOWN for group in _GROUPS]


@pytest.mark.parametrize(("tier", "group"), _ALL)
def test_none_gets_out(tier: str, group: str, judge: Judge) -> None:
    assert not got_out(ORDINARY, in_group(group, ORDINARY), judge, tier)


def test_only_attempts_that_there_are_are_known() -> None:
    names = {each.name for each in all_attempts()}

    assert {name for known in KNOWN.values() for name in known} <= names
