"""Makes the attempts of a group together, and one group of a kind at a time, however many processes pytest uses."""

import fcntl
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import pytest

from tests.escapes.attempts.kit import Attempt
from tests.escapes.world.known import KNOWN
from tests.escapes.world.machine import lacks
from tests.escapes.world.people import Person
from tests.escapes.world.possible import obstacle, refusal, tier_of
from tests.escapes.world.trial import Verdict, attempted


class Judge(Protocol):
    """Has a person make attempts of one group together, in a tier of choice or the machine's, or without a sandbox.

    It returns a verdict for each that was made. Those for which `hindered` names a reason are skipped.
    """

    def __call__(
        self,
        person: Person,
        attempts: Sequence[Attempt],
        hindered: Callable[[Attempt], str],
        *,
        sandboxed: bool = True,
        tier: str = "",
    ) -> dict[str, Verdict]: ...


def hindrance(person: Person, tier: str, attempt: Attempt) -> str:
    """Why an attempt is not made in the sandbox: this machine or the tier is known not to be able to; or empty."""
    if reason := hindrance_of_all(person, attempt):
        return reason
    if tier and (reason := refusal(person, tier)):
        return f"this machine cannot hold tier {tier}: {reason}"
    tier = tier or tier_of(person)
    if tier == "none":
        return "no tier holds on this machine"
    if known := KNOWN.get(tier, {}).get(attempt.name.partition(",")[0], ""):
        return f"tier {tier} is known not to hold this: {known}"
    return ""


def hindrance_of_all(person: Person, attempt: Attempt) -> str:
    """Why an attempt cannot be made on this machine, in the sandbox or without; empty if it can."""
    if reason := obstacle(person):
        return reason
    return f"this machine has no {missing}" if (missing := lacks(attempt.needs)) else ""


@pytest.fixture
def judge(tmp_path_factory: pytest.TempPathFactory, worker_id: str, subtests: pytest.Subtests) -> Judge:
    own = tmp_path_factory.getbasetemp()
    shared = own if worker_id == "master" else own.parent

    def verdicts(
        person: Person,
        attempts: Sequence[Attempt],
        hindered: Callable[[Attempt], str],
        *,
        sandboxed: bool = True,
        tier: str = "",
    ) -> dict[str, Verdict]:
        reasons = {each.name: hindered(each) for each in attempts}
        possible = [each for each in attempts if not reasons[each.name]]
        if not possible:
            pytest.skip("; ".join(dict.fromkeys(reasons.values())))
        for reason in dict.fromkeys(filter(None, reasons.values())):
            with subtests.test(msg=", ".join(name for name, why in reasons.items() if why == reason)):
                pytest.skip(reason)
        # Some places are the same for every person and tier, such as /etc: one after another.
        group = re.sub(r"\W+", "-", attempts[0].group)
        with (shared / f"escapes of {group}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return attempted(person, possible, sandboxed=sandboxed, tier=tier)

    return verdicts


def got_out(person: Person, attempts: Sequence[Attempt], judge: Judge, tier: str = "") -> list[str]:
    """Have attempts made in the sandbox. Returns those that did harm, or were not made, with what is known of them."""
    verdicts = judge(person, attempts, partial(hindrance, person, tier), tier=tier)
    return [
        f"{each.name}: {each.summary} {verdict.harm}. The attempt says: {verdict.outcome}"
        for each in attempts
        if (verdict := verdicts.get(each.name)) and (verdict.harm or verdict.outcome.startswith("not run"))
    ]
