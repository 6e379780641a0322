"""Finds files of the user that a merge would replace although no state has them: git ignores or cannot read them."""

import os
import stat
from collections.abc import Iterable, Set
from itertools import accumulate


def obstacles(directory: str, changes: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return what is in a directory where a merge adds files; a path that ends with a slash is a directory. Blocking.

    Args:
        changes: that the merge makes, as `States.changes` returns them.
    """
    added, removed = [], set()
    for kind, path in changes:
        if kind == "A":
            added.append(path)
        elif kind == "D":
            removed.add(path)
    found = (_in_the_way(directory, path, removed) for path in added)
    return tuple(dict.fromkeys(filter(None, found)))


def _in_the_way(directory: str, path: str, removed: Set[str]) -> str:
    """Return what has to go for a new file, besides files that are removed anyway; empty for nothing."""
    for place in accumulate(path.split("/"), "{}/{}".format):
        try:
            mode = os.lstat(os.path.join(directory, place)).st_mode
        except OSError:
            return ""
        if not stat.S_ISDIR(mode):
            return "" if place in removed else place
    return f"{path}/" if _has_others(os.path.join(directory, path), directory, removed) else ""


def _has_others(folder: str, directory: str, removed: Set[str]) -> bool:
    """True if there is something below a folder, other than folders and files that are removed."""
    for above, folders, files in os.walk(folder):
        links = (name for name in folders if os.path.islink(os.path.join(above, name)))
        if any(os.path.relpath(os.path.join(above, name), directory) not in removed for name in (*files, *links)):
            return True
    return False
