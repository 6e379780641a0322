"""Tells apart what git ignores in a worktree: results of work, and what programs generate or kaa copied there."""

import filecmp
import os
from collections.abc import Iterable

_GENERATED = frozenset(("node_modules", ".venv", "venv", ".tox", ".nox", "__pycache__", ".coverage", ".DS_Store"))
_GENERATED_ENDS = (".pyc", ".egg-info")
_CACHE_TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir/: Cargo's `target`, pytest's and mypy's caches have one


def results(ignored: Iterable[str], directory: str, project: str) -> tuple[str, ...]:
    """Return those of the ignored paths that have files which are neither generated nor in the project. Blocking.

    Args:
        ignored: relative to both directories; a path that ends with a slash is a directory.
        project: the directory that it is a copy of.
    """
    return tuple(path for path in ignored if _has_results(path, directory, project))


def _has_results(path: str, directory: str, project: str) -> bool:
    if any(map(_is_generated, path.rstrip("/").split("/"))):
        return False
    if not path.endswith("/"):
        return not _is_same(path, directory, project)
    for folder, folders, files in os.walk(os.path.join(directory, path)):
        if _CACHE_TAG in files:
            folders.clear()
            continue
        folders[:] = (name for name in folders if not _is_generated(name))
        inside = (name for name in files if not _is_generated(name))
        if any(
            not _is_same(os.path.relpath(os.path.join(folder, name), directory), directory, project) for name in inside
        ):
            return True
    return False


def _is_generated(name: str) -> bool:
    return name in _GENERATED or name.endswith(_GENERATED_ENDS)


def _is_same(path: str, directory: str, project: str) -> bool:
    """True if the project has the same file under the path."""
    one, other = os.path.join(directory, path), os.path.join(project, path)
    try:
        if os.path.islink(one) or os.path.islink(other):
            return os.readlink(one) == os.readlink(other)
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False
