"""Makes attempts in groups, once per test run, however many processes pytest uses; the tests read the verdicts."""

import fcntl
import re
from pathlib import Path
from typing import Protocol

import msgspec
import pytest

from tests.escapes.attempts.kit import Attempt
from tests.escapes.world.catalogue import in_group
from tests.escapes.world.known import KNOWN
from tests.escapes.world.machine import lacks
from tests.escapes.world.people import Person
from tests.escapes.world.possible import obstacle, prover, refusal, tier_of
from tests.escapes.world.trial import Verdict, attempted


class Judge(Protocol):
    """Tells what became of an attempt of a person, in the sandbox or without, in a tier of choice or the machine's."""

    def __call__(self, person: Person, attempt: Attempt, sandboxed: bool, tier: str = "") -> Verdict: ...


def need(person: Person, attempt: Attempt, *, sandboxed: bool = True, tier: str = "") -> None:
    """Skip an attempt that cannot be made on this machine, or that the tier is known not to hold."""
    if reason := obstacle(person):
        pytest.skip(reason)
    if missing := lacks(attempt.needs):
        pytest.skip(f"this machine has no {missing}")
    if not sandboxed:
        return
    if tier and (reason := refusal(person, tier)):
        pytest.skip(f"this machine cannot hold tier {tier}: {reason}")
    tier = tier or tier_of(person)
    if tier == "none":
        pytest.skip("no tier holds on this machine")
    if known := KNOWN.get(tier, {}).get(attempt.name.partition(",")[0], ""):
        pytest.skip(f"tier {tier} is known not to hold this: {known}")


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Judge:
    own = tmp_path_factory.getbasetemp()
    shared = own if worker_id == "master" else own.parent

    def verdict(person: Person, attempt: Attempt, sandboxed: bool, tier: str = "") -> Verdict:
        group = re.sub(r"\W+", "-", attempt.group)
        label = re.sub(r"\W+", "-", f"{person.name} {attempt.group} {tier} {'inside' if sandboxed else 'outside'}")
        # Some places are the same for every person and tier, such as /etc: one after another.
        with (shared / f"escapes of {group}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return _once(shared / f"escapes {label}.json", attempt.group, person, sandboxed, tier)[attempt.name]

    return verdict


def _once(path: Path, group: str, person: Person, sandboxed: bool, tier: str) -> dict[str, Verdict]:
    """The verdicts of a group, made by whichever process of pytest comes first. The caller holds the group's lock."""
    if path.exists():
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Verdict])
    possible = [
        each for each in in_group(group, person) if not lacks(each.needs) and (sandboxed or person == prover(each))
    ]
    verdicts = attempted(person, possible, sandboxed=sandboxed, tier=tier)
    path.write_bytes(msgspec.json.encode(verdicts))
    return verdicts
