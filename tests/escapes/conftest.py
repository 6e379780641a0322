"""Makes attempts in groups, once per test run, however many processes pytest uses; the tests read the verdicts."""

import fcntl
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.escapes.attempts.kit import Attempt
from tests.escapes.world.catalogue import in_group
from tests.escapes.world.machine import lacks
from tests.escapes.world.people import Person
from tests.escapes.world.trial import Verdict, attempted

Judge = Callable[[Person, Attempt, bool], Verdict]


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Judge:
    """Tells what became of an attempt of a person, in the sandbox or without."""
    own = tmp_path_factory.getbasetemp()
    shared = own if worker_id == "master" else own.parent

    def verdict(person: Person, attempt: Attempt, sandboxed: bool) -> Verdict:
        label = re.sub(r"\W+", "-", f"{person.name} {attempt.group} {'inside' if sandboxed else 'outside'}")
        return _once(shared / f"escapes {label}.json", attempt.group, person, sandboxed)[attempt.name]

    return verdict


def _once(path: Path, group: str, person: Person, sandboxed: bool) -> dict[str, Verdict]:
    """The verdicts of a group, made by whichever process of pytest comes first."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return msgspec.json.decode(path.read_bytes(), type=dict[str, Verdict])
        possible = [each for each in in_group(group, person) if not lacks(each.needs)]
        verdicts = attempted(person, possible, sandboxed=sandboxed)
        path.write_bytes(msgspec.json.encode(verdicts))
        return verdicts
