"""Notices when something may have appeared that is to be hidden, while a program runs for long.

Before a command starts, the fork-server looks at everything. A server or an extension process starts once: an editor
that replaces a hidden file meanwhile removes its mask, and a new file has none.
"""

import contextlib
import glob
import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from kaa.hands.inotify import Inotify, WatchLimitError


class Lookout:
    """Watches the directories in which patterns can match something.

    Args:
        patterns: absolute paths, with wildcards, of what is to be hidden.
        is_seen: whether programs see a directory as it is on the host.

    Raises:
        OSError: the system has no inotify, or none left for this user.
    """

    def __init__(self, patterns: Sequence[str], is_seen: Callable[[str], bool]) -> None:
        self._patterns = patterns
        self._is_seen = is_seen
        self._names = frozenset(name for pattern in patterns for name in pattern.split("/") if name)
        self._watched: set[str] = set()
        self._inotify = Inotify()
        self._watch()

    def fileno(self) -> int:
        """For poll."""
        return self._inotify.fileno()

    def has_seen(self) -> bool:
        """Whether something appeared since the last call that may have to be hidden."""
        found = False
        while happenings := self._inotify.take():
            found |= any(one.watch < 0 or one.over or self._fits(one.name) for one in happenings)
        if found:
            self._watched = {path for path in self._watched if os.path.isdir(path)}
            self._watch()
        return found

    def close(self) -> None:
        """End all watches."""
        self._inotify.close()

    def _fits(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._names)

    def _watch(self) -> None:
        for directory in set(self._directories()) - self._watched:
            with contextlib.suppress(OSError, WatchLimitError):  # it is gone, or no more can be watched
                descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    self._inotify.watch_names(descriptor)
                finally:
                    os.close(descriptor)
                self._watched.add(directory)

    def _directories(self) -> Iterator[str]:
        parents = {parent for pattern in self._patterns for parent in _above(pattern)}
        for parent in parents:
            found = glob.glob(parent, include_hidden=True) if glob.has_magic(parent) else [parent]
            yield from filter(self._is_seen, filter(os.path.isdir, map(os.path.realpath, found)))


def _above(pattern: str) -> Iterator[str]:
    """Patterns of the directories in which names decide what a pattern finds."""
    while (pattern := os.path.dirname(pattern)) != "/":
        yield pattern
        if not glob.has_magic(pattern) and os.path.isdir(pattern):
            return
