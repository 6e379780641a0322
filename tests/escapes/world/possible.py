"""Whether the attempts can be made on this machine at all; if not, tests are skipped and say why."""

import functools
import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.escapes.attempts.kit import Attempt
from tests.escapes.world import forced
from tests.escapes.world.arena import PlaceError, arena
from tests.escapes.world.catalogue import makes_sense_for
from tests.escapes.world.machine import can_mount, owns_packages
from tests.escapes.world.people import ORDINARY, ROOT, Person, everyone
from tests.escapes.world.trial import base_environment, is_compared
from tests.support.patience import HANG_SECONDS


@functools.cache
def obstacle(person: Person) -> str:
    """Why nothing can be tried as somebody; empty if it can."""
    if person not in everyone():
        return "needs to be run as root"
    if shutil.which("git") is None:
        return "this machine has no git"
    if person.uid >= 0 and not can_mount():
        return "root can become another user who can read the tests only with mounts of its own (CAP_SYS_ADMIN)"
    try:
        with arena(person):
            return ""
    except PlaceError as error:
        return str(error)


def prover(attempt: Attempt) -> Person:
    """Return who proves that an attempt gets out without a sandbox: root only where an ordinary user cannot.

    What an ordinary user can do without a sandbox, root can too.
    """
    if not makes_sense_for(attempt, ORDINARY) or (needs_packages(attempt) and not owns_packages(ORDINARY)):
        return ROOT
    return ROOT if ROOT in everyone() and obstacle(ORDINARY) else ORDINARY


def needs_packages(attempt: Attempt) -> bool:
    """Return whether an attempt changes the interpreter's packages or kaa's source, which belong to somebody."""
    return attempt.options.get("base") in {"site-packages", "source"}


@functools.cache
def tier_of(person: Person) -> str:
    """The tier that kaa takes on this machine; `none` if none holds."""
    if is_compared():
        return "full"
    kaa = str(Path(sysconfig.get_path("scripts")) / "kaa")
    _, out, errors = _run(person, [kaa, "doctor", "--json"])
    assert out, f"kaa doctor says nothing: {errors}"
    return str(json.loads(out)["tier"])


@functools.cache
def refusal(person: Person, tier: str) -> str:
    """Why a tier cannot be had; empty if it can."""
    code, _, errors = _run(person, [sys.executable, forced.__file__, tier, "--", "true"])
    return errors if code else ""


def _run(person: Person, command: list[str]) -> tuple[int, str, str]:
    with arena(person) as place:
        place.hand_over()
        process = person.start(
            command,
            directory=place.project,
            environment=base_environment(place.home),
            pid_file=place.top / "brain.pid",
            stdin=subprocess.DEVNULL,
        )
        out, errors = process.communicate(timeout=HANG_SECONDS)
        return process.returncode, out.decode(), errors.decode().strip().rpartition("\n")[2]
