"""The attempts are worth something: there are enough, and without a sandbox they do the harm they are meant to."""

from collections.abc import Mapping
from functools import partial

import pytest

from kaa.hands.executed_names import AGENTS, EDITORS, INTERPRETERS, LANGUAGE_SERVERS, OF_GIT, SHELLS
from tests.escapes.attempts.kit import NO_GIT, Attempt
from tests.escapes.conftest import Judge, hindrance_of_all
from tests.escapes.world.catalogue import (
    MODULES,
    all_attempts,
    groups,
    in_group,
    is_escape,
    makes_sense_for,
    modules_on_disk,
)
from tests.escapes.world.machine import owns_packages
from tests.escapes.world.people import ORDINARY, ROOT, Person
from tests.escapes.world.possible import needs_packages, prover
from tests.escapes.world.trial import KINDS


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


@pytest.mark.parametrize("group", groups(ROOT))
def test_all_get_out_where_there_is_no_sandbox(group: str, judge: Judge) -> None:
    provers = [(prover(each), each) for each in in_group(group, ROOT) if _is_provable(each)]
    if not provers:
        pytest.skip("these only ask for parts of the kernel, or are proven in another group")

    for person in dict.fromkeys(person for person, _ in provers):
        attempts = [each for who, each in provers if who == person]
        verdicts = judge(person, attempts, partial(_hindrance, person), sandboxed=False)

        assert not [
            f"{each.name}: {each.summary} It proves nothing. The attempt says: {verdict.outcome}"
            for each in attempts
            if (verdict := verdicts.get(each.name)) and not verdict.harm
        ]


def _is_provable(attempt: Attempt) -> bool:
    """Whether it is an escape. What is tried again without git writes is proven once."""
    return is_escape(attempt) and (attempt.flags != NO_GIT or attempt.canary == "kept")


def _hindrance(person: Person, attempt: Attempt) -> str:
    if attempt.unproven:
        return f"cannot be shown: {attempt.unproven}"
    if needs_packages(attempt) and not owns_packages(person):
        return "somebody else owns the packages"
    return hindrance_of_all(person, attempt)
