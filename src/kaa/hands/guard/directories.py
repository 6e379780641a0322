"""The directories in which guarded names may appear: finds them, watches them, and tells where something happened.

Events of the kernel are hints where to look and nothing more: what counts is what is on the disk at the time.
"""

import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from kaa.hands.below import NOTHING_THERE, RootDirectory, is_below, open_root, reach_below
from kaa.hands.guard.git_directory import looks_bare
from kaa.hands.guard.items import KEPT_MARK, may_be_link
from kaa.hands.guard.subjects import GIT, Directory, Inside, Spot, Subject
from kaa.hands.inotify import Happening, Inotify, WatchLimitError, watches_of_user
from kaa.hands.protected import is_judged_name, is_protected_name, may_be_guarded

# That are watched; with more, all of them are read again at every check. 1 KB of kernel memory each.
_MAX_DIRECTORIES = 16384
_SHARE_OF_WATCHES = 2  # the user's editors and other sessions need some too
_MAX_DIRECTORIES_READ = 65536  # 28 us each
# Commands may add some until there are so many, and a few in a larger project: at the next start, all of them are read.
_MAX_WITH_NEW = 49152
_MAX_NEW = 8192
_OTHER_WATCHES = 2048  # for guarded files and directories
_MAX_SPOTS_PER_WATCH = 8  # one directory under that many names: the oldest are names that it no longer has
_MAX_LINKED = 8192  # directories that only an index or a symlink leads to
_MAX_FOLLOWED = 512  # of these, up to which symlinks are followed
_MAX_FOLLOWED_WITH_NEW = 256  # up to which commands may make some, and how many where there are more
_MAX_NEW_FOLLOWED = 32
_MAX_NAMED = 512  # guarded names of the user's configuration, and what links lead to
_MAX_NAMED_IN_EACH = 256  # of these, up to which there may be some in each repository
_BARE_MARKS = frozenset(("head", "objects", "refs", "config", "config.worktree", "commondir", "hooks"))


class GuardedDirectories:
    """The writable directories, what is below them, and git directories elsewhere.

    Args:
        roots: absolute paths of the writable directories; those that do not exist are left out.
        git_directories: absolute paths of git directories elsewhere that belong to the roots and can be written.
        named: absolute paths of further guarded names, anywhere below the roots.
        inotify: tells where to look; without it everything is looked at every time.
        inspect: looks at a subject that was found or changed.
        on_unreadable: gets a directory that cannot be looked into, and why. It is looked into again at each check.
        on_too_many: gets a directory with more directories below it than are looked into: what was there before any
            command, and the topmost one of what has come since.
        takes_in: says whether everything is accepted now.
        on_look: gets the absolute path of each directory that is looked into.

    Attributes:
        named: the further guarded names, folded.
        scans: not everything can be watched, so all directories are read at every check.
    """

    def __init__(
        self,
        roots: Iterable[str],
        git_directories: Iterable[str],
        named: Iterable[str],
        inotify: Inotify | None,
        inspect: Callable[[Subject], None],
        on_unreadable: Callable[[Directory, str], None],
        on_too_many: Callable[[Directory], None],
        takes_in: Callable[[], bool],
        on_look: Callable[[str], None],
    ) -> None:
        self.roots = [root for path in roots if (root := open_root(path)) is not None]
        elsewhere = (root for path in git_directories if (root := open_root(path)) is not None)
        self.elsewhere = [Subject(Directory(root, ""), "") for root in elsewhere]
        self.named = frozenset(path.casefold() for path in named)
        self._ways_of_named = _Ways(frozenset(), self.roots)
        self.scans = inotify is None
        self._inotify = inotify
        self._max_directories = min(_MAX_DIRECTORIES, watches_of_user() // _SHARE_OF_WATCHES)
        self._inspect = inspect
        self._on_unreadable = on_unreadable
        self._on_too_many = on_too_many
        self._takes_in = takes_in
        self._on_look = on_look
        self._known: set[Directory] = set()  # that were looked into while everything was accepted
        self._known_count = 0  # without what was moved away
        # Roots with more of them, and whether only what was moved away there is too much.
        self._cut_off: set[tuple[RootDirectory, bool]] = set()
        self._spots: dict[int, dict[Spot, None]] = {}
        # To be watched though nobody would look: the index of a repository, or a symlink, leads there.
        self._linked: set[Directory] = set()
        self._moved_links: list[tuple[Directory, str]] = []
        self._followed = 0  # of the linked ones, those that symlinks lead to
        self._followed_before = 0  # when everything was accepted last
        self._linked_trees: set[Directory] = set()  # the same, with all that is below
        self._to_look_into: deque[Directory] = deque()
        self._unreadable: set[Directory] = set()

    def close(self) -> None:
        """Let go of the directories and of inotify."""
        for root in (*self.roots, *(subject.directory.root for subject in self.elsewhere)):
            os.close(root.descriptor)
        if self._inotify is not None:
            self._inotify.close()

    def look_everywhere(self) -> None:
        """Read all directories, and inspect all that is guarded in them."""
        self._to_look_into.extend((*self._linked, *self._linked_trees))
        for root in self.roots:
            self._look_into(Directory(root, ""))
        for subject in self.elsewhere:
            self._inspect(subject)
        self._follow_links()

    def look_again(self) -> None:
        """Look into what could not be looked into before."""
        self._to_look_into.extend(self._unreadable)
        self._follow_links()

    def act(self) -> bool:
        """Look where something has happened, as far as the kernel tells at once; False if nothing has."""
        happenings = self._inotify.take() if self._inotify is not None else []
        directories: dict[Directory, None] = {}
        subjects: dict[Subject, None] = {}
        for happening in happenings:
            if happening.watch < 0:
                directories.update(dict.fromkeys(Directory(root, "") for root in self.roots))
                subjects.update(dict.fromkeys(self.elsewhere))
            elif happening.over:
                self._spots.pop(happening.watch, None)
            else:
                for spot in self._spots.get(happening.watch, ()):
                    self._note(spot, happening, directories, subjects)
        for directory in directories:
            self._look_into(directory)
        for subject in subjects:
            self._inspect(subject)
        self._follow_links()
        return bool(happenings)

    def watch(self, descriptor: int, spot: Spot) -> None:
        """Have changes of an open file or directory reported."""
        if self._inotify is None:
            return
        if len(self._spots) >= self._max_directories + _OTHER_WATCHES:
            self.scans = True
            return
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        try:
            watch = self._inotify.watch_content(descriptor) if is_file else self._inotify.watch_names(descriptor)
        except WatchLimitError:
            self.scans = True
        except OSError:  # somebody has taken the right to read it away meanwhile
            self.scans = True
        else:
            spots = self._spots.setdefault(watch, {})
            spots.pop(spot, None)
            spots[spot] = None
            if len(spots) > _MAX_SPOTS_PER_WATCH:
                del spots[next(iter(spots))]

    def link(self, directory: Directory, paths: Iterable[str]) -> bool:
        """Watch directories below one, with those on the way; False if that would be too many.

        A path that ends in a slash is that of a whole tree.
        """
        for path in paths:
            linked = directory
            for name in path.split("/"):
                if name in ("", ".", "..") or "\0" in name or name.casefold() == GIT:
                    break  # git refuses such paths
                linked = linked.below(name)
                if not linked.is_watched and linked not in self._linked:
                    if len(self._linked) >= _MAX_LINKED:
                        return False
                    self._linked.add(linked)
                    self._to_look_into.append(linked)
            if path.endswith("/") and linked not in self._linked_trees:
                if len(self._linked_trees) >= _MAX_LINKED:
                    return False
                self._linked_trees.add(linked)
                self._to_look_into.append(linked)
        return True

    def add_named(self, subject: Subject, *, in_each: bool = False) -> bool:
        """Guard what is at a name from now on, if it is not guarded and there is room.

        Args:
            in_each: it is one of those in each repository, which leave room for others.
        """
        folded, directory = subject.path.casefold(), subject.directory
        if folded in self.named or len(self.named) >= (_MAX_NAMED_IN_EACH if in_each else _MAX_NAMED):
            return False
        if subject.repository is not None:  # looked at with that
            directory = subject.repository.directory
        if directory.path and not directory.is_watched and not self.link(directory._replace(path=""), [directory.path]):
            return False
        self.named |= {folded}
        return True

    def has_named_below(self, path: str) -> bool:
        """Whether something below an absolute path is one of the named ones."""
        return any(named.startswith(f"{path.casefold()}/") for named in self.named)

    def is_only_above(self, subject: Subject) -> bool:
        """Whether this is a folder in which a named path is, and nothing that is guarded for itself."""
        if not subject.name or subject.is_git or subject.path.casefold() not in self._ways().folders:
            return False
        depth, name = subject.directory.depth, subject.name
        return not (is_judged_name(name, depth) or is_protected_name(name, depth))

    def named_below(self, subject: Subject) -> frozenset[str]:
        """Paths of the named ones in a git directory, in lower case, below that."""
        if not self.named or not (subject.name or subject in self.elsewhere):  # a bare one is looked into
            return frozenset()
        top = f"{subject.path.casefold()}/"
        return frozenset(path[len(top) :] for path in self.named if path.startswith(top))

    def is_linked(self, directory: Directory) -> bool:
        """Whether an index leads to a directory or to a tree that it is in."""
        if directory in self._linked or not self._linked_trees:
            return directory in self._linked
        return any(
            tree.root == directory.root and (not tree.path or is_below(directory.path, tree.path))
            for tree in self._linked_trees
        )

    def _follow_links(self) -> None:
        """Look into the directories that an index or a link leads to, and those that the index there leads to."""
        while self._to_look_into or self._moved_links:
            if self._to_look_into:
                self._look_into(self._to_look_into.popleft())
            else:
                self._follow_symlink(*self._moved_links.pop())

    def _look_into(self, start: Directory) -> None:
        """Watch a directory and those below it, the nearest first, and inspect what is in them.

        What was moved away comes last: it takes no room from the others.
        """
        remaining, last = deque([start]), deque[Directory]()
        takes_in, count, gone = self._takes_in(), 0, set[Directory]()
        few = min(_MAX_NEW, max(_MAX_DIRECTORIES_READ - self._known_count, 0))
        left = _MAX_DIRECTORIES_READ if takes_in else max(_MAX_WITH_NEW - self._known_count, few)
        while remaining or last:
            directory = (remaining or last).popleft()
            if takes_in or directory not in self._known:
                left -= 1
                part = start.root, KEPT_MARK in directory.path
                if left < 0 and takes_in:
                    self._cut_off.add(part)
                    self._on_too_many(Directory(start.root, os.path.dirname(directory.path)))
                    return
                if left < 0 and part not in self._cut_off and (new := self._topmost_new(directory)) not in gone:
                    gone.add(new)
                    self._on_too_many(new)
                if left < 0 or (gone and not gone.isdisjoint(_with_those_above(directory))):
                    continue
            self.scans = self.scans or count >= self._max_directories
            count += 1
            for inner in self._enter(directory):
                (last if KEPT_MARK in inner.path else remaining).append(inner)

    def _enter(self, directory: Directory) -> list[Directory]:
        """Watch a directory, and inspect what is in it; those in it that are to be looked into, too."""
        self._on_look(directory.absolute.rstrip("/"))
        try:
            names, below = self._entries(directory)
        except Exception as error:  # noqa: BLE001 - what a command makes must not end the guard
            if directory not in self._unreadable:
                self._unreadable.add(directory)
                self._on_unreadable(directory, f"it cannot be looked into ({type(error).__name__}: {error})")
            return []
        self._unreadable.discard(directory)
        if self._takes_in() and directory not in self._known:
            self._known.add(directory)
            self._known_count += KEPT_MARK not in directory.path
        for name in names:
            if self._is_guarded(directory, name):
                self._inspect(Subject(directory, name))
        if looks_bare(names):
            self._inspect(Subject(directory, ""))
        inside = [directory.below(name) for name in below if name.casefold() != GIT]
        return inside if directory.is_entered else [each for each in inside if self.is_linked(each)]

    def _topmost_new(self, directory: Directory) -> Directory:
        """The directory that has come, of those on the way to another one."""
        way = list(_with_those_above(directory))
        return next((each for each in reversed(way) if each not in self._known), directory)

    def _follow_symlink(self, directory: Directory, name: str) -> None:
        """Watch where a symlink leads that somebody may enter, if that is below a root.

        Those in node_modules and the like are many, and lead to their neighbours.
        """
        if not directory.is_entered:
            return
        try:
            target = os.path.realpath(Subject(directory, name).path)
        except OSError:  # Python 3.11 raises if a link is exchanged meanwhile; what is there now causes another event
            return
        for root in self.roots:
            top = os.path.realpath(root.path)
            if target.startswith(f"{top}/"):
                linked = Directory(root, target[len(top) + 1 :])
                if linked.is_watched or linked in self._linked:
                    continue
                before = len(self._linked)
                if self._followed < self._most_followed() and self.link(Directory(root, ""), [linked.path]):
                    self._followed += len(self._linked) - before
                else:
                    is_told = self._takes_in() and KEPT_MARK not in name
                    self._on_too_many(directory if is_told else directory.below(name))

    def _most_followed(self) -> int:
        """Up to how many directories symlinks are followed; commands may add fewer than there is room for."""
        if self._takes_in():
            self._followed_before = self._followed
            return _MAX_FOLLOWED
        return min(max(_MAX_FOLLOWED_WITH_NEW, self._followed_before + _MAX_NEW_FOLLOWED), _MAX_FOLLOWED)

    def _entries(self, directory: Directory) -> tuple[list[str], list[str]]:
        """All names in a directory, and those of directories; from now on, new ones are reported. Follow its links.

        Raises:
            OSError: nobody knows what is there.
        """
        names: list[str] = []
        below: list[str] = []
        with reach_below(directory.root, directory.path) as descriptor:
            if descriptor is None:
                return names, below
            self.watch(descriptor, directory)
            try:
                with os.scandir(descriptor) as entries:
                    for entry in entries:
                        names.append(entry.name)
                        if entry.is_dir(follow_symlinks=False):
                            below.append(entry.name)
                        elif entry.is_symlink() and KEPT_MARK in entry.name and self._takes_in():
                            self._moved_links.append((directory, entry.name))  # takes no room from the others
                        elif entry.is_symlink():
                            self._follow_symlink(directory, entry.name)
            except OSError as error:
                if error.errno not in NOTHING_THERE:
                    raise
        return names, below

    def _is_guarded(self, directory: Directory, name: str) -> bool:
        folded = name.casefold()  # on some filesystems .GIT is .git
        is_known = may_be_guarded(folded)  # the others are many
        if is_known and (
            folded == GIT or is_judged_name(name, directory.depth) or is_protected_name(name, directory.depth)
        ):
            return True
        ways = self._ways()
        return folded in ways.last_names and Subject(directory, name).path.casefold() in ways

    def _ways(self) -> "_Ways":
        if self._ways_of_named.named is not self.named:
            self._ways_of_named = _Ways(self.named, self.roots)
        return self._ways_of_named

    def _note(
        self, spot: Spot, happening: Happening, directories: dict[Directory, None], subjects: dict[Subject, None]
    ) -> None:
        """Note where to look because something happened at a watched place."""
        name = happening.name
        if isinstance(spot, Inside):
            if spot.matters(name, is_directory=happening.directory):
                subjects[spot.subject] = None
            return
        if self._is_guarded(spot, name):
            subjects[Subject(spot, name)] = None
        elif name.casefold() in _BARE_MARKS:
            subjects[Subject(spot, "")] = None
        below = spot.below(name)
        if not happening.directory and may_be_link(below.absolute):
            if os.path.islink(below.absolute):
                self._follow_symlink(spot, name)
            else:  # the directory is closed
                directories[spot] = None
        if happening.directory and name.casefold() != GIT and (spot.is_entered or self.is_linked(below)):
            directories[below] = None


class _Ways:
    """The named paths, and the folders on the way to them: a link at one would lead somewhere else.

    Args:
        named: absolute paths, folded.

    Attributes:
        folders: paths of folders below a root, folded, but no git directory and none in one, which is looked at
            as a whole; without the named ones.
        last_names: the last names of all: nearly no name is one of those, and a path takes longer to make.
    """

    def __init__(self, named: frozenset[str], roots: Sequence[RootDirectory]) -> None:
        tops = [f"{root.path.casefold().rstrip('/')}/" for root in roots]
        folders = {folder for path in named for top in tops if path.startswith(top) for folder in _folders(path, top)}
        self.named = named
        self.folders = frozenset(folders - named)
        self.last_names = frozenset(path.rpartition("/")[2] for path in (*named, *self.folders))

    def __contains__(self, path: str) -> bool:
        return path in self.named or path in self.folders


def _folders(path: str, top: str) -> Iterator[str]:
    """The folders between a path and a directory."""
    names = path[len(top) :].split("/")
    for end in range(1, len(names)):
        if names[end - 1] == GIT:
            return
        yield top + "/".join(names[:end])


def _with_those_above(directory: Directory) -> Iterator[Directory]:
    """A directory and those in which it is, without the root."""
    path = directory.path
    while path:
        yield directory._replace(path=path)
        path = path.rpartition("/")[0]
