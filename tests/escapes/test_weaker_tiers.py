"""The tiers that machines fall back to hold what they say they hold. What they cannot is in `world/known.py`."""

import pytest

from tests.escapes.attempts.kit import Attempt
from tests.escapes.conftest import Judge, need
from tests.escapes.world.catalogue import all_attempts, makes_sense_for
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
_ALL = [
    pytest.param(tier, each, id=f"{tier}-{each.name}")
    for tier in KNOWN
    for each in all_attempts()
    if each.group in _GROUPS and makes_sense_for(each, ORDINARY)
]


@pytest.mark.parametrize(("tier", "attempt"), _ALL)
def test_does_not_get_out(tier: str, attempt: Attempt, judge: Judge) -> None:
    need(ORDINARY, attempt, tier=tier)

    verdict = judge(ORDINARY, attempt, True, tier)

    assert not verdict.outcome.startswith("not run"), verdict.outcome
    assert not verdict.harm, f"{attempt.summary} {verdict.harm}. The attempt says: {verdict.outcome}"


def test_only_attempts_that_there_are_are_known() -> None:
    names = {each.name for each in all_attempts()}

    assert {name for known in KNOWN.values() for name in known} <= names
