"""What became of each mutant, and what differs between two runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from scripts.mutants.listed import MutantError

KILLED = Path(__file__).with_name("killed.json")
"""What the tests must kill."""

Verdict: TypeAlias = Literal["killed", "timed out", "survived", "not reached"]


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a mutant.

    Attributes:
        verdict: a run that takes too long counts as killed.
        by: the test that failed.
        reached_by: number of tests that reach the line.
    """

    verdict: Verdict
    by: str = ""
    reached_by: int = 0

    @property
    def is_killed(self) -> bool:
        """True if the tests notice the mutant."""
        return self.verdict in ("killed", "timed out")


class Results(msgspec.Struct, frozen=True):
    """What became of all mutants.

    Attributes:
        revision: the commit that was tested.
        mutants: by the mutants' names.
    """

    revision: str
    mutants: dict[str, Result]

    def begun_for(self, revision: str) -> dict[str, Result]:
        """Return the results of an unfinished run of the same commit."""
        return dict(self.mutants) if self.revision == revision else {}

    def save(self, path: Path) -> None:
        """Write a file."""
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=2) + b"\n")


def load(path: Path) -> Results:
    """Read a file that `Results.save` has written.

    Raises:
        MutantError: it is something else.
        OSError: it cannot be read.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Results)
    except msgspec.DecodeError as error:
        raise MutantError(f"{path} has no results of mutants: {error}") from error


class Comparison(msgspec.Struct, frozen=True):
    """What differs between two runs.

    Attributes:
        lost: mutants that were killed before and are not any more.
        won: mutants that are killed now and were not before.
    """

    lost: tuple[str, ...]
    won: tuple[str, ...]

    def lines(self, before: Results, after: Results) -> Iterator[str]:
        """Say it in lines."""
        killed = [sum(result.is_killed for result in one.mutants.values()) for one in (before, after)]
        yield f"{killed[0]} of {len(before.mutants)} mutants killed before, {killed[1]} of {len(after.mutants)} now"
        for name in self.lost:
            now = after.mutants.get(name)
            yield f"lost: {name}, {now.verdict if now else 'no result'} now, was killed by {before.mutants[name].by}"
        for name in self.won:
            yield f"won: {name}, killed by {after.mutants[name].by}"


def compare(before: Results, after: Results) -> Comparison:
    """Compare what was killed. By which test does not matter."""
    was = {name for name, result in before.mutants.items() if result.is_killed}
    now = {name for name, result in after.mutants.items() if result.is_killed}
    return Comparison(tuple(sorted(was - now)), tuple(sorted(now - was)))
