"""Nothing gets out. Every attempt is a test; a canary outside says whether it worked."""

import pytest

from tests.escapes.attempts.kit import Attempt
from tests.escapes.conftest import Judge, need
from tests.escapes.world.catalogue import all_attempts, makes_sense_for
from tests.escapes.world.people import ORDINARY, ROOT, Person

_ALL = [
    pytest.param(person, each, id=f"{person.name}-{each.name}")
    for person in (ROOT, ORDINARY)
    for each in all_attempts()
    if makes_sense_for(each, person)
]


@pytest.mark.parametrize(("person", "attempt"), _ALL)
def test_does_not_get_out(person: Person, attempt: Attempt, judge: Judge) -> None:
    need(person, attempt)

    verdict = judge(person, attempt, True)

    assert not verdict.outcome.startswith("not run"), verdict.outcome
    assert not verdict.harm, f"{attempt.summary} {verdict.harm}. The attempt says: {verdict.outcome}"
