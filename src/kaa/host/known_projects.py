"""Projects in which commands of the model could write in any run of kaa: each has a folder in kaa's cache.

What lies in one may be the work of a command, also while kaa runs in another one.
"""

import functools
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import unquote_to_bytes

from kaa.host.paths import cache_directory, caches_of_projects, is_below, long_paths_of_projects


def known_projects(environ: Mapping[str, str], project: str) -> tuple[str, ...]:
    """The projects, but for those that have the whole home in them: kaa warns of these when it starts there.

    Args:
        environ: the user's variables.
        project: where kaa runs now.
    """
    return tuple(_known(environ, project))


def in_known_project(path: str, environ: Mapping[str, str], project: str) -> str | None:
    """The innermost of the projects that an absolute path is in; None if it is in none."""
    known = _known(environ, project)
    while path not in known:
        if path == (above := os.path.dirname(path)):
            return None
        path = above
    return path


def _known(environ: Mapping[str, str], project: str) -> frozenset[str]:
    home = environ.get("HOME") or os.path.expanduser("~")
    cache = cache_directory(environ, home, project)
    try:
        changed = os.stat(caches_of_projects(cache)).st_mtime_ns
    except OSError:  # none yet
        return frozenset()
    return _listed(cache, changed, os.path.realpath(home))


@functools.lru_cache(maxsize=8)
def _listed(cache: str, _changed: int, home: str) -> frozenset[str]:
    names = (unquote_to_bytes(name) for name in os.listdir(caches_of_projects(cache)))
    roots = map(os.fsdecode, (*names, *_long_paths(long_paths_of_projects(cache))))
    return frozenset(root for root in roots if os.path.isabs(root) and not is_below(home, (root,)))


def _long_paths(folder: str) -> Iterator[bytes]:
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                yield file.read()
