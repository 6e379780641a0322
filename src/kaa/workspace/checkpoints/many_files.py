"""Says the same of many files without naming all of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from kaa.workspace.checkpoints.plans import FileConflict

MOST_NAMED: Final = 10
"""Of files of which the same is to be said. More would push everything else off the screen."""


def named(paths: Sequence[str]) -> str:
    """Return the first of some paths, and how many more there are."""
    if len(paths) <= MOST_NAMED:
        return ", ".join(paths)
    more = len(paths) - MOST_NAMED
    return f"{', '.join(paths[:MOST_NAMED])} and {more:,} more {'file' if more == 1 else 'files'}"


def by_reason(conflicts: Iterable[FileConflict], shown: Callable[[str], str] = str) -> Iterator[tuple[str, str]]:
    """Yield each reason once, behind the names of its files."""
    paths: dict[str, list[str]] = {}
    for conflict in conflicts:
        paths.setdefault(conflict.reason, []).append(conflict.path)
    for reason, those in paths.items():
        yield named([*map(shown, those[:MOST_NAMED]), *those[MOST_NAMED:]]), reason
