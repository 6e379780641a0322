"""What git's configuration names in directories that commands may write: hooks, more configuration, programs.

With `core.hooksPath = .githooks`, in the user's own configuration or the repository's, git executes files of the
project which have no name that anybody knows. They are protected like those that have one.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from kaa.hands.confinement.repositories import Repository
from kaa.hands.git_config import ConfigSyntaxError, Entry, parse

# Of whom git reads configuration besides the repository, git-config(1). The hands have no environment to say otherwise.
_OF_SYSTEM = ("/etc/gitconfig",)
_OF_USER = (".gitconfig", ".config/git/config")
_OF_REPOSITORY = ("config", "config.worktree")
_MAX_FILE_BYTES = 128 * 1024
_MAX_FILES = 256  # configurations of repositories and what they include, together
_MAX_INCLUDE_DEPTH = 10  # MAX_INCLUDE_DEPTH in git's config.c
_MAX_NAMED = 64  # a configuration that names more than this is not the work of people
_BETWEEN_WORDS = re.compile(r"""[\s;|&()<>"'`=!]+""")
_SURELY_PATHS = ("/", "./", "../", "~/")  # and no part of a regular expression or an address


class _Found(NamedTuple):
    """An entry, and the directory of the file that it is in."""

    entry: Entry
    directory: str


def named_paths(gits: Iterable[Repository], projects: Iterable[str], home: str) -> tuple[str, ...]:
    """Absolute paths in the projects that git obeys because a configuration says so, whether they exist or not.

    Args:
        gits: the repositories of the projects.
        projects: directories that may be written.
        home: the user's home directory.
    """
    roots = tuple(projects)
    reader = _Reader(home)
    of_all = (*_OF_SYSTEM, *_in(home, _OF_USER if home else ()))
    everywhere = [found for path in of_all for found in reader.read(path)]
    places: dict[str, list[_Found]] = {root: [] for root in roots}  # a repository may be made there yet
    for git in gits:
        files = [path for directory in git.directories for path in _in(directory, _OF_REPOSITORY)]
        places.setdefault(os.path.dirname(git.entry), []).extend(found for path in files for found in reader.read(path))
    paths = (path for top, own in places.items() for found in (*everywhere, *own) for path in _paths(found, top, home))
    both = chain.from_iterable((path, os.path.realpath(path)) for path in paths)  # a link and where it leads
    inside = (path for path in both if _is_in_any(path, roots) and ".git" not in path.split("/"))
    return tuple(dict.fromkeys(islice(inside, 2 * _MAX_NAMED)))[:_MAX_NAMED]


class _Reader:
    """Reads configuration with what it includes, each file once."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._entries: dict[str, list[Entry]] = {}

    def read(self, path: str, including: tuple[str, ...] = ()) -> Iterator[_Found]:
        """The entries of a file that name something; none if it is not there or cannot be understood.

        Args:
            path: of the file.
            including: the files that include it.
        """
        if path in including or len(including) > _MAX_INCLUDE_DEPTH:
            return
        if path not in self._entries:
            if len(self._entries) >= _MAX_FILES:
                return
            self._entries[path] = _entries(path)
        for entry in self._entries[path]:
            found = _Found(entry, os.path.dirname(path))
            yield found
            if _includes(entry) and (included := _absolute(entry.value, found.directory, self._home)):
                yield from self.read(included, (*including, path))


def _entries(path: str) -> list[Entry]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return []
    try:
        data = os.read(descriptor, _MAX_FILE_BYTES)
        return [entry for entry in parse(data) if entry.executes]
    except (OSError, ConfigSyntaxError):  # git would not read on either
        return []
    finally:
        os.close(descriptor)


def _paths(found: _Found, top: str, home: str) -> Iterator[str]:
    """What an entry names; a command is run at the top of the working tree."""
    entry = found.entry
    if _includes(entry) or (entry.section, entry.name) == ("core", "hookspath"):
        if path := _absolute(entry.value, found.directory if _includes(entry) else top, home):
            yield path
        return
    for word in _BETWEEN_WORDS.split(entry.value):
        path = _absolute(word, top, home) if "/" in word else None
        # A word of a command may name a file that does not exist yet; most words with a slash are no paths.
        if path and (os.path.isfile(path) or (word.startswith(_SURELY_PATHS) and not os.path.lexists(path))):
            yield path


def _includes(entry: Entry) -> bool:
    return entry.section in ("include", "includeif") and entry.name == "path"


def _absolute(word: str, base: str, home: str) -> str | None:
    if word == "~" or word.startswith("~/"):
        word = home + word[1:]
    if not word or "\0" in word or word.startswith(("~", "%")):
        return None
    return os.path.normpath(os.path.join(base, word))


def _in(directory: str, names: Iterable[str]) -> list[str]:
    return [os.path.join(directory, name) for name in names]


def _is_in_any(path: str, roots: tuple[str, ...]) -> bool:
    return path not in roots and any(path.startswith(root.rstrip("/") + "/") for root in roots)
