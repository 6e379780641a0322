"""A git directory, and the symlinks in it: git itself makes none.

It follows them to write logs, messages, `packed-refs` and more, with content that a command can choose: a link in place
of `COMMIT_EDITMSG` or `logs/HEAD` would have the user's next `git commit` write to `~/.bashrc`.
"""

import os
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kaa.hands.below import NOTHING_THERE, RootDirectory, reach_below
from kaa.hands.git_names import is_trial
from kaa.hands.guard.items import (
    DEEP_GIT_DIRECTORY,
    GIT_LINK,
    UNCHECKED_GIT_DIRECTORIES,
    GuardedItem,
    Items,
    Plain,
    Watch,
    too_much,
)

_MAX_DIRECTORIES = 16_384  # of one git directory: 30 us each
_MAX_DEPTH = 48  # below it; so many are open at a time, and the soft limit may be 256
_GROWING = {"refs": 1, "logs": 2}  # with branches, however many: looked at last, lest the others are too many
_OBJECTS = "objects"
_STORES = frozenset(("lfs/objects", "annex/objects"))
_LOOSE = re.compile("objects/[0-9a-f]{2}")


class GitDirectory(NamedTuple):
    """A git directory, or a directory in one.

    Attributes:
        directory: open.
        path: below the subject's.
        depth: how many git directories it is in.
        work_tree: where its files are if its configuration says nothing of it, below the directory that has the
            `.git`; None if that is not known.
        is_worktree: it is that of a worktree, inside the common one.
        is_module: it is that of a submodule.
        absolute: its absolute path.
        sha256: its hashes have 32 bytes, as the configuration of the repository says.
    """

    directory: int
    path: str
    depth: int = 0
    work_tree: str | None = None
    is_worktree: bool = False
    is_module: bool = False
    absolute: str = ""
    sha256: bool = False

    def below(self, directory: int, name: str) -> "GitDirectory":
        """A directory in it."""
        return self._replace(directory=directory, path=self.inside(name), absolute=os.path.join(self.absolute, name))

    def inside(self, name: str) -> str:
        """The path of something in it."""
        return f"{self.path}/{name}" if self.path else name


def looks_bare(names: Iterable[str]) -> bool:
    """Whether git would take a directory with these names for a repository (is_git_directory in setup.c)."""
    names = set(map(str.casefold, names))
    return "head" in names and ("commondir" in names or {"objects", "refs"} <= names)


def has_part_of_bare(names: Iterable[str]) -> bool:
    """Whether a directory with these names may still be what is left of a bare repository."""
    return not {"head", "commondir", "objects", "refs"}.isdisjoint(map(str.casefold, names))


def note_all_links(
    items: Items,
    top: GitDirectory,
    watch: Watch,
    without: Callable[[str], bool],
    nested: Callable[[GitDirectory], None],
) -> None:
    """Add the symlinks of a git directory to the items. Not more directories are open at a time than it is deep.

    Args:
        items: what is added to.
        top: the git directory, which is watched already.
        watch: see `GuardWatch`.
        without: says of the path of a directory, below the git directory, whether to leave it out.
        nested: gets a directory in it that is a git directory itself, such as that of a submodule `a/b` where a command
            has put a HEAD into that of `a`.
    """
    remaining = _MAX_DIRECTORIES

    def collect(at: GitDirectory, path: str, depth: int) -> None:
        nonlocal remaining
        below, is_repository = note_links(items, at)
        if is_repository and path:
            nested(at)
            return
        for name in sorted(below, key=lambda name: (_GROWING.get(name, 0), name)):
            inner = f"{path}/{name}" if path else name
            if without(inner):
                continue
            remaining -= 1
            if remaining == 0:  # told once, and left where it is: it may be the user's own
                items[at.inside(name)] = too_much(UNCHECKED_GIT_DIRECTORIES)
            if remaining <= 0:
                return
            if depth == _MAX_DEPTH:
                items[at.inside(name)] = too_much(DEEP_GIT_DIRECTORY)
                continue
            with reach_below(RootDirectory("", at.directory), name) as directory:
                if directory is not None:  # else it is gone, or exchanged: that is another event
                    inside = at.below(directory, name)
                    watch(directory, Plain(interests_in(inner), inside.absolute, grows=inner != _OBJECTS))
                    collect(inside, inner, depth + 1)

    collect(top, "", 0)


def interests_in(path: str) -> Callable[[str], bool]:
    """What besides links matters in a directory, by its path below the git directory."""
    return _is_no_store if path == _OBJECTS else _nothing


def is_store(path: str) -> bool:
    """Whether a directory in a git directory holds no more than objects, under names made of what is in them.

    Git, git-lfs and git-annex give each its name when it is complete, by a rename or a hard link, and write through no
    link that has that name. There may be more of them than can be looked at each time.
    """
    return path in _STORES or _LOOSE.fullmatch(path) is not None


def _is_no_store(name: str) -> bool:
    return not is_store(f"{_OBJECTS}/{name}")


def _nothing(name: str) -> bool:
    return False


def note_links(items: Items, place: GitDirectory) -> tuple[list[str], bool]:
    """Add the symlinks in one directory to the items.

    Returns:
        The names of the directories in it; and whether it has the layout of a repository.

    Raises:
        OSError: nobody knows what is there.
    """
    below, names = [], []
    try:
        with os.scandir(place.directory) as entries:
            for entry in entries:
                names.append(entry.name)
                if entry.is_symlink():
                    if (link := _link(place, entry.name)).dangers:
                        items.setdefault(place.inside(entry.name), link)
                elif entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
    except OSError as error:
        if error.errno not in NOTHING_THERE:
            raise
    return below, looks_bare(names)


def _link(place: GitDirectory, name: str) -> GuardedItem:
    try:
        target = os.readlink(name, dir_fd=place.directory)
    except OSError:  # exchanged meanwhile, which is another event
        target = ""
    is_branch = name == "HEAD" and target.startswith("refs/heads/") and ".." not in target.split("/")
    is_harmless = is_branch or not target or is_trial(name, target)
    return GuardedItem(frozenset() if is_harmless else frozenset({f"-> {target}"}), GIT_LINK)
