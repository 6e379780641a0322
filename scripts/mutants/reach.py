"""The map: which tests reach the line of which mutant, how long they take, and which of them pass without mutants."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from scripts.mutants.listed import MutantError


class Visit(msgspec.Struct, frozen=True):
    """A test that ran with probes at the lines of mutants.

    Attributes:
        seconds: how long it took.
        outcome: `passed`, `failed` or `skipped`.
        reached: names of the mutants whose lines were reached.
    """

    seconds: float
    outcome: str
    reached: tuple[str, ...]


class ReachMap(msgspec.Struct, frozen=True):
    """Which tests reach which mutants.

    Attributes:
        revision: the commit that was tested.
        mutants: names of the mutants that had probes.
        tests: by the tests' ids.
    """

    revision: str
    mutants: tuple[str, ...]
    tests: dict[str, Visit]

    def save(self, path: Path) -> None:
        """Write a file."""
        path.write_bytes(msgspec.json.encode(self))

    def without(self, files: Iterable[str]) -> "ReachMap":
        """Leave out the tests of some files."""
        left_out = tuple(f"{name}::" for name in files)
        kept = {test: visit for test, visit in self.tests.items() if not test.startswith(left_out)}
        return msgspec.structs.replace(self, tests=kept)

    def reaching(self, mutant: str) -> list[str]:
        """Return the tests that pass without the mutant and reach its line, the quickest first."""
        found = [test for test, visit in self.tests.items() if visit.outcome == "passed" and mutant in visit.reached]
        return sorted(found, key=lambda test: (self.tests[test].seconds, test))


def load(path: Path) -> ReachMap:
    """Read a file that `ReachMap.save` has written.

    Raises:
        MutantError: it is something else.
        OSError: it cannot be read.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=ReachMap)
    except msgspec.DecodeError as error:
        raise MutantError(f"{path} has no map of tests and mutants: {error}") from error


def batches(tests: Iterable[str], seconds: dict[str, float], first: float, growth: float) -> list[list[str]]:
    """Divide tests into runs of growing length: most mutants fall to the first tests, and a run costs its start.

    Args:
        tests: in their order.
        seconds: how long each takes.
        first: seconds that the first run takes at most, unless one test takes longer.
        growth: how many times longer each run may take than the one before.
    """
    divided: list[list[str]] = []
    limit, taken = first, 0.0
    for test in tests:
        if not divided or taken + seconds[test] > limit:
            limit *= growth if divided else 1
            divided.append([])
            taken = 0.0
        divided[-1].append(test)
        taken += seconds[test]
    return divided
