"""Projects in which commands of the model could write in any run of kaa.

Each is noted in kaa's home, with its device and inode, by which kaa knows it after it was renamed. Each also has a
folder in kaa's cache, which the user may delete. What lies in a project may be the work of a command, also while kaa
runs in another project.
"""

import functools
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote_to_bytes

from kaa.host.paths import (
    cache_directory,
    caches_of_projects,
    is_below,
    last_change,
    list_of_added,
    list_of_projects,
    long_paths_of_projects,
)

_Identity: TypeAlias = tuple[int, int]  # device and inode


class KnownProjects(NamedTuple):
    """The projects that are known at one moment, for whoever asks about many paths.

    Attributes:
        moved: identities of those that are no longer at their paths: renamed or removed.
        home: the user's home, a real path.
    """

    paths: frozenset[str]
    moved: frozenset[_Identity]
    home: str

    def innermost(self, path: str) -> str | None:
        """Return the innermost of the projects that an absolute path is in; None for none."""
        now = int(time.monotonic())
        while path not in self.paths:
            if path == (above := os.path.dirname(path)):
                return None
            if self.moved and _identity(path, now) in self.moved:
                return None if is_below(self.home, (path,)) else path
            path = above
        return path


def known_projects(environ: Mapping[str, str], project: str, *, added: bool = False) -> tuple[str, ...]:
    """The projects where they were, but for those that have the whole home in them: kaa warns when it starts there.

    Args:
        added: directories that were added to a project count, too. What is there may be a toolchain of the user's.
    """
    return tuple(projects_now(environ, project, added=added).paths)


def in_known_project(path: str, environ: Mapping[str, str], project: str, *, added: bool = False) -> str | None:
    """The innermost of the projects that an absolute path is in, also of those that were renamed; None for none.

    Args:
        environ: as for `known_projects`.
        project: likewise.
        added: likewise.
    """
    return projects_now(environ, project, added=added).innermost(path)


def planted_link(
    links: Sequence[str],
    target: str,
    environ: Mapping[str, str],
    writable: Iterable[str] = (),
    *,
    added: bool = False,
) -> tuple[str, str] | None:
    """Return the first link on the way to a path that may be the work of a command and leads out of its reach.

    With it comes the directory that commands can write, or could in another conversation, in which the link lies.

    Args:
        links: on the way, as `trail` has them.
        target: where they lead, a real path.
        environ: the user's variables.
        writable: what commands can write besides what is known of this process and of other projects; real paths.
        added: directories that were added to other projects count, too.
    """
    from kaa.host.programs import written  # lazy: it is not needed to know projects

    home = environ.get("HOME") or os.path.expanduser("~")
    own = os.path.realpath(os.path.dirname(list_of_projects(environ, home)))  # commands do not see it in a project
    written_now = (*writable, *written())
    for link in links:
        folder = os.path.dirname(link)
        for place in (*written_now, *filter(None, (in_known_project(folder, environ, target, added=added),))):
            leads_out = is_below(folder, (place,)) and not is_below(target, (place,))
            if leads_out and (not is_below(folder, (own,)) or is_below(place, (own,))):
                return link, place
    return None


def way_back(path: str, environ: Mapping[str, str]) -> str:
    """Say how a path counts as the user's alone again, if commands could write it because a directory was added.

    Args:
        path: absolute, without symlinks.

    Returns:
        An independent clause; empty for what is in a project or in no such directory.
    """
    added = in_known_project(path, environ, "", added=True)
    if added is None or in_known_project(path, environ, "") is not None:
        return ""
    file = list_of_added(list_of_projects(environ, environ.get("HOME") or os.path.expanduser("~")))
    return f"{added} was added to a project (--add-dir): look at the file, then remove the line of {added} from {file}"


def projects_now(environ: Mapping[str, str], project: str, *, added: bool = False) -> KnownProjects:
    """Return the projects that are known now. Arguments as for `known_projects`."""
    home = environ.get("HOME") or os.path.expanduser("~")
    cache, projects = cache_directory(environ, home, project), list_of_projects(environ, home)
    noted = (projects, list_of_added(projects)) if added else (projects,)
    changed = tuple(map(last_change, (caches_of_projects(cache), *noted)))
    return _listed(cache, noted, changed, _real(home))


@functools.lru_cache(maxsize=4)
def _real(home: str) -> str:
    """The real path of the user's home, which no command can exchange."""
    return os.path.realpath(home)


@functools.lru_cache(maxsize=8)
def _listed(cache: str, noted: tuple[str, ...], _changed: tuple[int, ...], home: str) -> KnownProjects:
    paths: list[bytes] = []
    with suppress(OSError):  # removed
        paths += [unquote_to_bytes(name) for name in os.listdir(caches_of_projects(cache))]
    paths += _long_paths(long_paths_of_projects(cache))
    moved: set[_Identity] = set()
    for path, identity in (line for file in noted for line in _noted(file)):
        paths.append(path)
        if _identity_of(path) != identity:
            moved.add(identity)
    roots = map(os.fsdecode, paths)
    known = frozenset(root for root in roots if os.path.isabs(root) and not is_below(home, (root,)))
    return KnownProjects(known, frozenset(moved), home)


def _noted(file: str) -> Iterator[tuple[bytes, _Identity]]:
    with suppress(OSError), open(file, "rb") as lines:  # none yet
        for line in lines:
            with suppress(ValueError):  # half a line
                device, inode, name = line.split()
                yield unquote_to_bytes(name), (int(device), int(inode))


def _long_paths(folder: str) -> Iterator[bytes]:
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                yield file.read()


@functools.lru_cache(maxsize=4096)
def _identity(path: str, _second: int) -> _Identity | None:
    """What a path leads to now; hundreds of paths have the same directories above them."""
    return _identity_of(path)


def _identity_of(path: str | bytes) -> _Identity | None:
    """Of a directory; None for a file, which may have the inode of a project that was removed."""
    with suppress(OSError, ValueError):
        status = os.stat(path)
        return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None
    return None
