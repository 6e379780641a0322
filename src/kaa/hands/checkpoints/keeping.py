"""Whether all that is at some paths would be restored, if a command destroyed it now."""

import os
import stat
from collections.abc import Iterable

from kaa.hands.checkpoints.roots import Roots
from kaa.hands.checkpoints.rules import covers_path
from kaa.hands.checkpoints.tracker import Tracker


def keeps(tracker: Tracker, paths: Iterable[str]) -> bool:
    """Whether the tracker has the content of each file at or below some paths.

    What a link leads to must be kept too: some programs follow it. A file with several names is not: all of them
    change, and one would be restored.

    Args:
        tracker: has looked at the present state.
        paths: absolute.
    """
    named = {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in paths}
    return all(_keeps(tracker, path) for path in named | set(map(os.path.realpath, named)))


def _keeps(tracker: Tracker, path: str) -> bool:
    """The same for a path without links on the way to it."""
    remaining = [path]
    while remaining:
        path = remaining.pop()
        name = _name(tracker.roots, path)
        try:
            status = os.lstat(path)
            if name is None or not covers_path(name):
                return False
            if stat.S_ISDIR(status.st_mode):
                remaining += [entry.path for entry in os.scandir(path)]
                if not tracker.covers(name):
                    return False
            elif status.st_nlink > 1 or not tracker.has(name, status):
                return False
        except (FileNotFoundError, NotADirectoryError):  # nothing is lost
            continue
        except OSError:
            return False
    return True


def _name(roots: Roots, path: str) -> str | None:
    """What a path is called in the tracker; None if it is in none of the roots."""
    if (name := roots.name_of(path)) is not None:
        return name
    return next((start for start in roots.starts if roots.path_of(start) == path), None)
