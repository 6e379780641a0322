"""All attempts, and which of them are made together."""

import importlib
from collections.abc import Sequence
from pathlib import Path

from tests.escapes.attempts.kit import ATTEMPTS, Attempt
from tests.escapes.world.people import Person

MODULES = (
    "files",
    "mounts",
    "network",
    "persistence",
    "processes",
    "repository",
    "secrets",
    "shared_kernel",
    "surface",
    "terminal",
    "unix_sockets",
)


def all_attempts() -> list[Attempt]:
    """Every attempt, in the order in which it is written down."""
    for name in MODULES:
        importlib.import_module(f"tests.escapes.attempts.{name}")
    return list(ATTEMPTS.values())


def is_escape(each: Attempt) -> bool:
    """Whether something outside tells that it worked; the rest asks for parts of the kernel that are to be closed."""
    return each.canary != "claim"


def makes_sense_for(each: Attempt, person: Person) -> bool:
    """Whether an attempt tests the sandbox, and not the permissions that the person lacks anyway."""
    return person.is_root or "root" not in each.needs


def groups(person: Person) -> Sequence[str]:
    """The names of all groups with attempts that a person makes."""
    return list(dict.fromkeys(each.group for each in all_attempts() if makes_sense_for(each, person)))


def in_group(group: str, person: Person) -> Sequence[Attempt]:
    """The attempts that are made together by a person."""
    return [each for each in all_attempts() if each.group == group and makes_sense_for(each, person)]


def modules_on_disk() -> set[str]:
    """The modules that hold attempts, as found beside `kit.py`."""
    folder = Path(__file__).resolve().parents[1] / "attempts"
    return {path.stem for path in folder.glob("*.py") if "\n@attempt(" in path.read_text()}
