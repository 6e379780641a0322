"""Files that were there when the project was looked at, and that were not read then, as there were too many.

Such a file is what it was as long as its ctime is older than the look. When it changes before somebody has read it,
nobody knows what it was: its state is `UNREAD`.
"""

import os
from collections.abc import Collection, Iterator
from typing import NamedTuple

from kaa.hands.checkpoints.states import FRESH_NS, State

UNREAD = State("unread")
# A file that is known from an earlier session is only compared by `stat`, which takes a tenth of the time.
_COMPARED_AT_THE_COST_OF_ONE = 10


class Portion(NamedTuple):
    """How much is read in one go. `files` 0: everything."""

    files: int = 0
    bytes: int = 0


EVERYTHING = Portion()


class SpentPortion:
    """What has been read of a portion.

    Args:
        portion: all that may be read.
    """

    def __init__(self, portion: Portion) -> None:
        self._portion = portion
        self._compared = 0
        self._files = 0
        self._bytes = 0

    @property
    def is_over(self) -> bool:
        """Whether nothing is left of the portion."""
        if not self._portion.files:
            return False
        files = self._files + self._compared // _COMPARED_AT_THE_COST_OF_ONE
        return files >= self._portion.files or self._bytes >= self._portion.bytes

    def compare(self) -> None:
        """Count a file that was not read, as it is known."""
        self._compared += 1

    def read(self, size: int) -> None:
        """Count a file that was read, of so many bytes."""
        self._files += 1
        self._bytes += size


class Unread:
    """The paths of files that were not read."""

    def __init__(self) -> None:
        self.count = 0
        self._names: dict[str, set[str]] = {}

    def __contains__(self, path: str) -> bool:
        directory, _, name = path.rpartition("/")
        return name in self._names.get(directory, ())

    def add(self, directory: str, names: Collection[str]) -> None:
        """Note files in a directory that are not read now."""
        known = self._names.setdefault(directory, set())
        before = len(known)
        known.update(names)
        self.count += len(known) - before

    def remove(self, path: str) -> None:
        """Forget one: it was read, or is not what it was."""
        directory, _, name = path.rpartition("/")
        names = self._names.get(directory, set())
        if name in names:
            names.remove(name)
            self.count -= 1
        if not names:
            self._names.pop(directory, None)

    def names(self, directory: str) -> tuple[str, ...]:
        return tuple(self._names.get(directory, ()))

    def below(self, directory: str) -> list[str]:
        """All paths below a directory."""
        prefix = directory + "/"
        return [
            f"{parent}/{name}" if parent else name
            for parent in [each for each in self._names if each == directory or each.startswith(prefix)]
            for name in self._names[parent]
        ]

    def directories(self) -> Iterator[str]:
        """The directories, those with the fewest files first: data sets and caches have many in each."""
        yield from sorted(self._names, key=lambda directory: (len(self._names[directory]), directory))


def is_older(descriptor: int, name: str, moment: int) -> bool:
    """Whether a name in an open directory is there and was last changed before a moment (Unix time, nanoseconds)."""
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_ctime_ns < moment - FRESH_NS
    except OSError:
        return False
