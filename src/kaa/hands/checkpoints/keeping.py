"""Whether all that is at some paths would be restored, if a command destroyed it now."""

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from kaa.hands.checkpoints.roots import Roots
from kaa.hands.checkpoints.rules import covers_path, is_generated
from kaa.hands.checkpoints.tracker import Tracker


def expanded(patterns: Iterable[str], name: str, kind: str) -> Iterator[str]:
    """The paths that patterns mean now; if there is a name or a type, what has it there or below, as `find` sees it.

    Args:
        patterns: absolute; hidden names match only where the dot is given.
        name: wildcard pattern; "" for all.
        kind: `d`, `f` or "" for both.

    Raises:
        OSError: a directory cannot be read.
    """
    for pattern in patterns:
        for path in glob.iglob(pattern) if glob.has_magic(pattern) else (pattern,):
            if name or kind:
                yield from _found(path, name or "*", kind)
            else:
                yield path


def _found(start: str, name: str, kind: str) -> Iterator[str]:
    remaining = [start, os.path.realpath(start)]  # with a slash behind it, find follows a link there
    while remaining:
        path = remaining.pop()
        try:
            mode = os.lstat(path).st_mode
            is_directory = stat.S_ISDIR(mode)
            if fnmatchcase(os.path.basename(path), name) and (not kind or is_directory == (kind == "d")):
                yield path
            elif is_directory:
                remaining += [entry.path for entry in os.scandir(path)]
        except (FileNotFoundError, NotADirectoryError):
            continue


def unkept(tracker: Tracker, paths: Iterable[str], *, unsaid: bool = True) -> set[str] | None:
    """The generated directories that the tracker does not cover, if it has the content of all else at some paths.

    What a link leads to must be kept too: some programs follow it. A file with several names is not: all of them
    change, and one would be restored.

    Args:
        paths: absolute.
        unsaid: whether contents count that differ from what the tracker last told of.

    Returns:
        What the directories are called in the tracker; None if something else is not kept.
    """
    generated = set[str]()
    try:
        named = {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in paths}
        for path in named | set(map(os.path.realpath, named)):
            if not _keeps(tracker, path, generated, unsaid=unsaid):
                return None
    except OSError:
        return None
    return generated


def _keeps(tracker: Tracker, path: str, generated: set[str], *, unsaid: bool) -> bool:
    """The same for a path without links on the way to it; adds to the generated directories."""
    remaining = [path]
    while remaining:
        path = remaining.pop()
        name = _name(tracker.roots, path)
        try:
            status = os.lstat(path)
            if name is None or not covers_path(name):
                return False
            is_directory = stat.S_ISDIR(status.st_mode)
            above = _generated(tracker, name if is_directory else name.rpartition("/")[0])
            generated |= {above} if above else set()
            if is_directory:
                remaining += [entry.path for entry in os.scandir(path)]
                if not above and not tracker.covers(name):
                    return False
            elif status.st_nlink > 1 or not (above or _has(tracker, name, status, unsaid=unsaid)):
                return False
        except (FileNotFoundError, NotADirectoryError):  # nothing is lost
            continue
    return True


def _has(tracker: Tracker, name: str, status: os.stat_result, *, unsaid: bool) -> bool:
    return tracker.has(name, status) and (unsaid or not tracker.differs(name))


def _generated(tracker: Tracker, directory: str) -> str:
    """The topmost generated directory, from this one upwards, that the tracker does not cover; "" if there is none."""
    at = tracker.roots.start_of(directory)
    for part in directory[len(at) :].strip("/").split("/"):
        at = f"{at}/{part}" if at else part
        if is_generated(part) and not tracker.covers(at):
            return at
    return ""


def _name(roots: Roots, path: str) -> str | None:
    """What a path is called in the tracker; None if it is in none of the roots."""
    if (name := roots.name_of(path)) is not None:
        return name
    return next((start for start in roots.starts if roots.path_of(start) == path), None)
