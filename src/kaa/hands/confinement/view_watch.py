"""Notices when something may have appeared that is to be hidden or shown, while a program runs for long.

Before a command starts, the fork-server looks at everything. A server or an extension process starts once: an editor
that replaces a hidden file meanwhile removes its mask, and a new file has none.
"""

import contextlib
import glob
import os
from collections.abc import Callable, Iterator, Sequence

from kaa.hands.confinement.expansion import fits
from kaa.hands.confinement.live_files import LiveFiles
from kaa.hands.inotify import Inotify, WatchLimitError


class ViewWatch:
    """Watches the directories in which patterns can match something.

    Args:
        patterns: absolute paths, with wildcards, of what is to be hidden.
        is_seen: whether programs see a directory as it is on the host.
        live: what is to be shown as it is, also when it was replaced.

    Raises:
        OSError: the system has no inotify, or none left for this user.
    """

    def __init__(self, patterns: Sequence[str], is_seen: Callable[[str], bool], live: LiveFiles | None) -> None:
        self._patterns = patterns
        self._live = frozenset() if live is None else live.names
        self._is_seen = is_seen
        self._names: set[str] = set()  # with wildcards, of what makes a difference in these directories
        self._watched: set[str] = set()
        self._inotify = Inotify()
        for descriptor in live.directories.values() if live is not None else ():
            with contextlib.suppress(OSError, WatchLimitError):
                self._inotify.watch_names(descriptor)
        self._watch()

    def fileno(self) -> int:
        return self._inotify.fileno()

    def has_seen(self) -> bool:
        """Whether something appeared since the last call that may have to be hidden or shown."""
        found = False
        while happenings := self._inotify.take():
            found |= any(one.watch < 0 or one.over or self._fits(one.name) for one in happenings)
        return found

    def widen(self) -> bool:
        """Watch directories that are new. Returns whether there are any: something may have appeared in them before."""
        self._watched = {path for path in self._watched if os.path.isdir(path)}
        return self._watch()

    def close(self) -> None:
        self._inotify.close()

    def _fits(self, name: str) -> bool:
        return name in self._live or any(fits(name, pattern) for pattern in self._names)

    def _watch(self) -> bool:
        new = set(self._directories()) - self._watched
        for directory in new:
            with contextlib.suppress(OSError, WatchLimitError):  # it is gone, or no more can be watched
                descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    self._inotify.watch_names(descriptor)
                finally:
                    os.close(descriptor)
                self._watched.add(directory)
        return bool(new)

    def _directories(self) -> Iterator[str]:
        for pattern in self._patterns:
            above = pattern
            while above != (parent := os.path.dirname(above)):
                found = glob.glob(parent, include_hidden=True) if glob.has_magic(parent) else [parent]
                if seen := [
                    path for path in map(os.path.realpath, found) if os.path.isdir(path) and self._is_seen(path)
                ]:
                    self._names.add(os.path.basename(above))
                    yield from seen
                if not glob.has_magic(parent) and os.path.isdir(parent):
                    break
                above = parent
