"""Which entries of some directories of the home slots see: those of a list, and all others only by an exception."""

import glob
import os
from collections.abc import Iterable

from kaa.hands.confinement.expansion import Expansion, fits
from kaa.hands.policy import Policy


class HomeList:
    """The lists of a policy, for paths as they really are: no part of them is a symlink.

    Args:
        policy: says which entries are hidden unless they are listed, and the list.
        worked_in: directories that are worked in: no list holds in them.
        needed: paths that are listed here and now, besides those of the policy.
        expansion: finds what patterns mean; one of its own unless given.

    Attributes:
        directories: whose entries are hidden unless they are listed. They can be passed through themselves.
        elsewhere: what is listed and lies below an entry that is not, as the list's patterns say it.
    """

    def __init__(
        self,
        policy: Policy,
        worked_in: Iterable[str] = (),
        needed: Iterable[str] = (),
        expansion: Expansion | None = None,
    ) -> None:
        expansion = expansion or Expansion()
        listed = (*policy.listed, *map(glob.escape, needed))
        rules = _by_directory(policy.unlisted, expansion)
        self._unlisted = {path: rules[path] for path in rules if not is_below_any(path, worked_in)}
        self._listed = _by_directory(listed, expansion) if self._unlisted else {}
        self.directories = frozenset(self._unlisted)
        usual = {os.path.dirname(pattern) for pattern in policy.unlisted}
        self.elsewhere = [pattern for pattern in listed if os.path.dirname(pattern) not in usual]

    def leaves_out(self, path: str) -> bool:
        """Whether a path is an entry that is not listed."""
        directory, _, name = path.rpartition("/")
        if path in self.directories or name not in self._unlisted.get(directory, _NONE):
            return False
        return name not in self._listed.get(directory, _NONE)

    def hides(self, path: str) -> bool:
        """Whether a path is below such an entry, or is one."""
        return self.entry_above(path) is not None

    def entry_above(self, path: str) -> str | None:
        """The entry that is not listed and that a path is, or is below; None if it is seen."""
        while self.directories and len(path) > 1:
            if self.leaves_out(path):
                return path
            path = os.path.dirname(path)
        return None


class _Names:
    """Names and patterns for names. Few are patterns, and these take a hundred times as long to try."""

    def __init__(self) -> None:
        self._literal: set[str] = set()
        self._patterns: list[str] = []

    def add(self, names: Iterable[str]) -> None:
        for name in names:
            if glob.has_magic(name):
                self._patterns.append(name)
            else:
                self._literal.add(name)

    def __contains__(self, name: str) -> bool:
        return name in self._literal or any(fits(name, pattern) for pattern in self._patterns)


_NONE = _Names()


def _by_directory(patterns: Iterable[str], expansion: Expansion) -> dict[str, _Names]:
    """Patterns for names, by the real directories that they are about."""
    names: dict[str, list[str]] = {}
    for pattern in patterns:
        parent, _, name = pattern.rpartition("/")
        names.setdefault(parent, []).append(name)
    found: dict[str, _Names] = {}
    for parent, below in names.items():
        for directory in expansion.directories(parent):
            found.setdefault(directory, _Names()).add(below)
    return found


def is_below_any(path: str, roots: Iterable[str]) -> bool:
    """Whether a path is one of these or below one."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)
