"""A git directory, and the symlinks in it: git itself makes none.

It follows them to write logs, messages, `packed-refs` and more, with content that a command can choose: a link in place
of `COMMIT_EDITMSG` or `logs/HEAD` would have the user's next `git commit` write to `~/.bashrc`.
"""

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kaa.hands.below import NOTHING_THERE, RootDirectory, reach_below
from kaa.hands.confinement import kernel
from kaa.hands.confinement.contract import ConfinementError
from kaa.hands.git_names import is_trial
from kaa.hands.guard.items import (
    DEEP_GIT_DIRECTORY,
    GIT_LINK,
    UNCHECKED_GIT_DIRECTORIES,
    GuardedItem,
    Items,
    Plain,
    Watch,
    is_out_of_use,
    too_much,
)
from kaa.hands.lazy_pattern import LazyPattern

# Of one git directory, of those with branches and of the others: 30 us each.
_MAX_DIRECTORIES = 16_384
_MAX_WITH_NEW = 12_288  # of both, up to which commands may add some
_MAX_NEW = 1_024  # that commands may add where there are more
_MAX_DEPTH = 48  # below it; as many may be open at a time, if they are closed, and the soft limit may be 256
_SETTLED_NS = 2_500_000_000  # more than between two times that a file system tells apart (FAT: 2 s)
_GROWING = frozenset(("refs", "logs"))  # with branches, however many
_OBJECTS = "objects"
_STORES = frozenset(("lfs/objects", "annex/objects"))
_LOOSE = LazyPattern("objects/[0-9a-f]{2}")


class GitDirectory(NamedTuple):
    """A git directory, or a directory in one.

    Attributes:
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


class GitDirectoryContent(NamedTuple):
    """What is in a directory of a git directory.

    Attributes:
        links: names of dangerous symlinks, and these.
        is_repository: it has the layout of one.
    """

    links: tuple[tuple[str, GuardedItem], ...]
    below: tuple[str, ...]
    is_repository: bool


class _Seen(NamedTuple):
    """What was found in a directory that nobody has changed since."""

    identity: tuple[int, int, int]
    found: GitDirectoryContent


class Walk:
    """Which directories of a repository are looked through for links, and of the repositories in it.

    Commands may add directories until there are `_MAX_WITH_NEW`, and a few in a repository that has more, as long as
    all of them are looked through at a start. So only what the user has can be too much then.

    Args:
        former: the walk when everything was accepted last; None if there was none.
        last: the last walk; None if there was none.
        takes_in: everything is accepted now.

    Attributes:
        found: paths of the directories, below the subject.
        most: how many directories of a part are looked through, besides those that are known.
    """

    def __init__(self, former: "Walk | None" = None, last: "Walk | None" = None, *, takes_in: bool = False) -> None:
        self.takes_in = takes_in
        self.found: set[str] = set()
        self._seen: dict[str, _Seen] = {}
        self._devices: dict[int, bool] = {}  # whether their times can be relied on
        self._seen_before = last._seen if last is not None else {}
        self._known = former.found if former is not None and not takes_in else frozenset[str]()
        others = sum(not is_out_of_use(path) for path in self._known)
        few = min(_MAX_NEW, max(_MAX_DIRECTORIES - others, 0))
        self.most = _MAX_DIRECTORIES if takes_in else max(_MAX_WITH_NEW - others, few)
        self._cut_off: set[_Part] = set()  # of which nobody knows what is new
        self._was_cut_off = former._cut_off if former is not None else frozenset[_Part]()

    def is_known(self, path: str) -> bool:
        """Whether a directory was there when everything was accepted."""
        return path in self._known

    def note(self, path: str, directory: int, status: os.stat_result, found: GitDirectoryContent) -> None:
        """Note what was found in a directory."""
        self.found.add(path)
        if time.time_ns() - status.st_ctime_ns > _SETTLED_NS and self._keeps_time(directory, status.st_dev):
            self._seen[path] = _Seen(_identity(status), found)

    def unchanged(self, path: str, top: int, inner: str) -> GitDirectoryContent | None:
        """What was found in a directory the last time, if it is as it was; None if nobody knows.

        A command cannot set the time at which a directory was changed last: by adding, exchanging or
        renaming something in it. What is found under another path, through a symlink, is another directory or the same.
        """
        if (seen := self._seen_before.get(path)) is None:
            return None
        try:
            status = os.stat(inner, dir_fd=top, follow_symlinks=False)
        except OSError:  # it is gone, or closed
            return None
        if _identity(status) != seen.identity:
            return None
        self.found.add(path)
        self._seen[path] = seen
        return seen.found

    def _keeps_time(self, directory: int, device: int) -> bool:
        if device not in self._devices:
            self._devices[device] = False
            with contextlib.suppress(OSError, ConfinementError):
                self._devices[device] = kernel.has_times_of_this_machine(directory)
        return self._devices[device]

    def too_much(self, git: str, path: str, *, is_growing: bool) -> str | None:
        """The path of what is dangerous, because there are more directories than are looked through.

        Args:
            path: of the first one that is not looked through.

        Returns:
            Of the directories on the way, the first one that is new; None if nobody knows which are.
        """
        part = _Part(git, is_growing, is_out_of_use(path))
        if self.takes_in:
            self._cut_off.add(part)
            return path
        if part in self._was_cut_off:
            return None
        ends = (at for at, one in enumerate(f"{path}/") if one == "/" and at > len(git))
        return next(path[:at] for at in ends if path[:at] not in self._known)


class _Part(NamedTuple):
    """Of the directories in a git directory, those with branches, or the others; or what was moved away among them."""

    git: str
    is_growing: bool
    is_kept: bool


class LinkSearch:
    """Looks for the symlinks of a git directory. Few directories are open at a time.

    Args:
        without: says of the path of a directory, below the git directory, whether to leave it out.
        nested: gets a directory in it that is a git directory itself, such as that of a submodule `a/b` where a command
            has put a HEAD into that of `a`.
        walk: says which directories are too much, and which are as they were.
    """

    def __init__(
        self,
        items: Items,
        watch: Watch,
        without: Callable[[str], bool],
        nested: Callable[[GitDirectory], None],
        walk: Walk,
    ) -> None:
        self._items = items
        self._watch = watch
        self._without = without
        self._nested = nested
        self._walk = walk

    def note(self, top: GitDirectory) -> None:
        """Add the symlinks of a git directory, which is watched already, to the items, the nearest first."""
        found = read_links(top)
        self._add(top, found)
        for is_growing in (True, False):
            names = (name for name in found.below if (name in _GROWING) == is_growing and not self._without(name))
            self._note_in(top, names, is_growing=is_growing)

    def _note_in(self, top: GitDirectory, names: Iterable[str], *, is_growing: bool) -> None:
        """The same for what is in some directories of it."""
        # What was moved away comes last: it takes no room from the others.
        pending, last = deque[str](), deque[str]()
        _put_off(names, pending, last)
        left, gone = self._walk.most, set[str]()
        while pending or last:
            inner = (pending or last).popleft()
            path = top.inside(inner)
            if not self._walk.is_known(path):
                left -= 1
                if left < 0 and (end := self._walk.too_much(top.path, path, is_growing=is_growing)) is not None:
                    gone.add(end)
                    self._items[end] = too_much(UNCHECKED_GIT_DIRECTORIES)
                if left < 0 and self._walk.takes_in:
                    return
                if left < 0 or (gone and not gone.isdisjoint(_with_those_above(path))):
                    continue
            if inner.count("/") >= _MAX_DEPTH:
                self._items[path] = too_much(DEEP_GIT_DIRECTORY)
                continue
            below = self._below(top, inner)
            _put_off((one for name in below if not self._without(one := f"{inner}/{name}")), pending, last)

    def _below(self, top: GitDirectory, inner: str) -> Sequence[str]:
        """Add the symlinks of a directory; the names of directories in it that are to be looked into."""
        path = top.inside(inner)
        if (known := self._walk.unchanged(path, top.directory, inner)) is not None:
            if known.links:
                self._add(top._replace(path=path), known)
            return known.below
        with reach_below(RootDirectory("", top.directory), inner) as directory:
            if directory is None:  # it is gone, or exchanged: that is another event
                return ()
            at = top._replace(directory=directory, path=path, absolute=os.path.join(top.absolute, inner))
            self._watch(directory, Plain(interests_in(inner), at.absolute, grows=inner != _OBJECTS))
            status = os.fstat(directory)
            found = read_links(at)
            self._add(at, found)
            if found.is_repository:
                self._walk.found.add(path)
                self._nested(at)
                return ()
            self._walk.note(path, directory, status, found)
            return found.below

    def _add(self, place: GitDirectory, found: "GitDirectoryContent") -> None:
        for name, link in found.links:
            self._items.setdefault(place.inside(name), link)


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _put_off(paths: Iterable[str], pending: deque[str], last: deque[str]) -> None:
    for path in paths:
        (last if is_out_of_use(path) else pending).append(path)


def _with_those_above(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


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


def read_links(place: GitDirectory) -> "GitDirectoryContent":
    """What is in one directory.

    Raises:
        OSError: nobody knows what is there.
    """
    below: list[str] = []
    names: list[str] = []
    links: list[tuple[str, GuardedItem]] = []
    try:
        with os.scandir(place.directory) as entries:
            for entry in entries:
                names.append(entry.name)
                if entry.is_symlink():
                    if (link := _link(place, entry.name)).dangers:
                        links.append((entry.name, link))
                elif entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
    except OSError as error:
        if error.errno not in NOTHING_THERE:
            raise
    return GitDirectoryContent(tuple(links), tuple(sorted(below)), looks_bare(names))


def _link(place: GitDirectory, name: str) -> GuardedItem:
    try:
        target = os.readlink(name, dir_fd=place.directory)
    except OSError:  # exchanged meanwhile, which is another event
        target = ""
    is_branch = name == "HEAD" and target.startswith("refs/heads/") and ".." not in target.split("/")
    is_harmless = is_branch or not target or is_trial(name, target)
    return GuardedItem(frozenset() if is_harmless else frozenset({f"-> {target}"}), GIT_LINK)
