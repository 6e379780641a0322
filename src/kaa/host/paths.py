"""Which places of the file system decide what a path leads to, and where kaa's cache is."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping

_MAX_LINKS = 40  # as in the kernel: MAXSYMLINKS in linux/namei.h


def link_at(path: str) -> str | None:
    """Return where a link leads; None for what is none, or not there."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def last_change(path: str) -> int:
    """When what a path leads to changed, in nanoseconds; 0 if nothing is there."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def trail(path: str, link_at: Callable[[str], str | None] = link_at) -> Iterator[str]:
    """The symlinks that an absolute path passes through, then the real path of what it leads to.

    All are real paths but for their last part: whoever can write the directory of one decides where the path leads.

    Args:
        link_at: says where a link leads; one that remembers it is faster for paths with common beginnings.
    """
    pending = _parts(path)
    place = "/"
    links = 0
    while pending:
        part = pending.pop()
        if part == "..":
            place = os.path.dirname(place)
            continue
        here = f"/{part}" if place == "/" else f"{place}/{part}"
        if (target := link_at(here)) is None:
            place = here
            continue
        yield here
        links += 1
        if links > _MAX_LINKS:
            return
        if os.path.isabs(target):
            place = "/"
        pending += _parts(target)
    yield place


def exchangeable(path: str, is_written: Callable[[str], bool]) -> str | None:
    """Return the first link on the way to an absolute path that commands can exchange: they decide what is there.

    Args:
        is_written: whether commands can write a path whose folder is a real one.
    """
    *links, _ = trail(path)
    return next(filter(is_written, links), None)


def leads_elsewhere(file: str) -> bool:
    """Whether a file, or a folder on the way to it, is a link, or the file has another name."""
    home = os.path.realpath(os.path.expanduser("~"))
    usual = os.path.join(home, os.path.relpath(file, os.path.expanduser("~")))
    try:
        return os.stat(file).st_nlink > 1 or os.path.realpath(file) not in (file, os.path.normpath(usual))
    except OSError:
        return False


def is_below(path: str, directories: Iterable[str]) -> bool:
    """Whether a path is one of these directories or below one."""
    return any(path == top or path.startswith(top.rstrip("/") + "/") for top in directories)


def cache_directory(environ: Mapping[str, str], home: str, root: str) -> str:
    """Kaa's cache directory; never in the project, whose commands would own it."""
    cache = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache) or is_below(os.path.realpath(cache), (os.path.realpath(root),)):
        cache = os.path.join(home, ".cache")
    return os.path.join(cache, "kaa")


def caches_of_projects(cache: str) -> str:
    """The folder with one folder for each project, named after its path; long paths are shortened there."""
    return os.path.join(cache, "caches")


def long_paths_of_projects(cache: str) -> str:
    """The folder with a file for each path that is shortened there: it contains the path."""
    return os.path.join(cache, "long-paths")


def list_of_projects(environ: Mapping[str, str], home: str) -> str:
    """The file in kaa's home with a line for each project in which commands could write: device, inode and path."""
    chosen = environ.get("KAA_DIR") or "~/.kaa/agent"
    chosen = os.path.join(home, chosen[2:]) if chosen.startswith("~/") else os.path.expanduser(chosen)
    return os.path.join(os.path.abspath(chosen), "projects")


def list_of_added(projects: str) -> str:
    """The file beside a list of projects with directories that commands of some could write, too."""
    return f"{projects}-added"


def _parts(path: str) -> list[str]:
    """The parts of a path, the first one last."""
    return [part for part in path.split("/") if part not in ("", ".")][::-1]
