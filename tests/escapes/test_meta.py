"""The attempts are worth something: there are enough, and without a sandbox they do the harm they are meant to."""

from collections.abc import Mapping

import pytest

from kaa.hands.executed_names import AGENTS, EDITORS, INTERPRETERS, LANGUAGE_SERVERS, OF_GIT, SHELLS
from tests.escapes.attempts.kit import NO_GIT, Attempt
from tests.escapes.conftest import Judge, need
from tests.escapes.world.catalogue import MODULES, all_attempts, is_escape, makes_sense_for, modules_on_disk
from tests.escapes.world.machine import owns_packages
from tests.escapes.world.people import ORDINARY
from tests.escapes.world.possible import needs_packages, prover
from tests.escapes.world.trial import KINDS

_PROVABLE = [
    pytest.param(each, id=each.name)
    for each in all_attempts()
    # What is tried again without git writes is proven once.
    if is_escape(each) and (each.flags != NO_GIT or each.canary == "kept")
]


def test_there_are_enough() -> None:
    escapes = [each for each in all_attempts() if is_escape(each)]

    assert len(escapes) >= 60
    assert len([each for each in escapes if makes_sense_for(each, ORDINARY)]) >= 60


def test_no_module_is_forgotten() -> None:
    assert modules_on_disk() == set(MODULES)


def test_each_has_a_canary_and_says_what_it_tries() -> None:
    for each in all_attempts():
        assert each.canary in KINDS, each.name
        assert each.summary, each.name


@pytest.mark.parametrize("kind", [AGENTS, EDITORS, LANGUAGE_SERVERS, SHELLS, INTERPRETERS, OF_GIT])
def test_names_of_every_kind_are_tried(kind: Mapping[str, str]) -> None:
    tried = {each.name.removeprefix("persistence.create ").partition("/")[0] for each in all_attempts()}

    assert tried & kind.keys()


@pytest.mark.parametrize("attempt", _PROVABLE)
def test_gets_out_where_there_is_no_sandbox(attempt: Attempt, judge: Judge) -> None:
    person = prover(attempt)
    need(person, attempt, sandboxed=False)
    if attempt.unproven:
        pytest.skip(f"cannot be shown: {attempt.unproven}")
    if needs_packages(attempt) and not owns_packages(person):
        pytest.skip("somebody else owns the packages")

    verdict = judge(person, attempt, False)

    assert verdict.harm, f"{attempt.summary} It proves nothing. The attempt says: {verdict.outcome}"
