"""Who can write a path besides the user: directories of projects, and others that were added to them, now or earlier.

What lies there may be the work of a command of the model. A directory that was added and is searched for programs has
the user's toolchain: those must be found, so what only reads programs there leaves it out.
"""

import os
from collections.abc import Mapping, Sequence

from kaa.host.hard_links import has_other_name, how_to_part
from kaa.host.known_projects import in_known_project, known_projects, way_back
from kaa.host.paths import is_below, trail
from kaa.host.programs import written
from kaa.host.regular_files import beginning_of
from kaa.host.shims import is_shim

_TEXT_BYTES = 512


def writable_places(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Directories that commands of the model can write, or could in an earlier run; not those with the whole home."""
    return tuple(dict.fromkeys((*_writable_now(environ), *known_projects(environ, "", added=True))))


def without_toolchains(places: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Leave out directories that were added in an earlier run and are searched for programs: those must be found."""
    kept = {*_writable_now(environ), *known_projects(environ, "")}
    entries = [os.path.realpath(entry) for entry in environ.get("PATH", "").split(os.pathsep) if entry]
    return tuple(one for one in places if one in kept or not any(is_below(entry, (one,)) for entry in entries))


def writer_of(path: str, environ: Mapping[str, str], project: str = "") -> str | None:
    """Return the project that an absolute path is in, or the directory that was added to one; None for neither.

    A directory that was added and is searched for programs has the user's toolchain: those must be found.
    """
    known = in_known_project(path, environ, project)
    if known is None and (added := in_known_project(path, environ, project, added=True)) is not None:
        return added if without_toolchains((added,), environ) else None
    return known


def _own_folders(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where kaa keeps what commands and servers write beside their projects: nobody loads code from above that."""
    home = environ.get("HOME") or os.path.expanduser("~")
    caches = (os.path.join(home, ".cache"), environ.get("XDG_CACHE_HOME", ""))
    return tuple(os.path.realpath(os.path.join(cache, "kaa")) for cache in caches if os.path.isabs(cache))


def is_shared_text(path: str) -> bool:
    """Whether a path is a text with another name, by which commands may have written it.

    Programs have other names, too: all those of rustup are one file.
    """
    if not has_other_name(path):
        return False
    try:
        return b"\0" not in beginning_of(path, _TEXT_BYTES)
    except OSError:
        return False


def _writable_now(environ: Mapping[str, str]) -> list[str]:
    home = os.path.realpath(environ.get("HOME") or os.path.expanduser("~"))
    return [one for one in written() if not is_below(home, (one,))]


def why_not_the_users(path: str, environ: Mapping[str, str], writable: Sequence[str] = ()) -> str:
    """Say why a path of the user's counts as the work of commands, and what to do, as two independent clauses.

    Args:
        path: absolute.
        writable: directories that commands can write, as far as nobody has noted that: real paths.
    """
    places = tuple(trail(path))
    inside = (*writable, *writable_places(environ))
    place = next((one for one in places if is_below(one, inside)), "")
    if not place and (shared := next(filter(has_other_name, places), "")):
        return f"{shared} is a hard link, so commands in the sandbox may have written it: {how_to_part(shared)}"
    way = way_back(place, environ) or "move it out of projects"
    return f"commands in the sandbox can write {place or path}, or could in another run: {way}"


def why_not_executed(name: str, path: str, environ: Mapping[str, str], writable: Sequence[str]) -> str:
    """Say why kaa does not execute a program, and what to do.

    Args:
        name: as it is called, perhaps a path.
        path: where it is, absolute.
        writable: as for `why_not_the_users`.
    """
    if is_shim(path):
        return (
            f"kaa does not execute {path}: it obeys files of the project. Choose a version of"
            f" {os.path.basename(name)} for your home, such as in ~/.tool-versions"
        )
    if "/" in name:
        return f"kaa does not execute {path}: {why_not_the_users(path, environ, writable)}"
    return (
        f"kaa does not execute {path}: commands in the sandbox can write it, or what it leads"
        f" to. Install {os.path.basename(name)} in a directory of PATH outside of projects and --add-dir"
    )


def writers_around(path: str, environ: Mapping[str, str], *, toolchains: bool) -> tuple[str, frozenset[str]]:
    """Return who can write a file or folder as a whole, or could, and in which directories below it commands can.

    Args:
        path: absolute.
        toolchains: whether a directory counts that was added in an earlier run and is searched for programs.
    """
    now, own = written(), _own_folders(environ)
    places = (*(one for one in now if not is_below(one, own)), *known_projects(environ, "", added=True))
    within = frozenset(one for one in places if one != path and is_below(one, (path,)))
    whole = next((one for one in now if is_below(path, (one,))), "")
    if toolchains:
        return whole or in_known_project(path, environ, "", added=True) or "", within
    return whole or writer_of(path, environ) or "", frozenset(without_toolchains(tuple(within), environ))
