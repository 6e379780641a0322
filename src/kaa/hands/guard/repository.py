"""What git executes or obeys of a repository: its configuration, hooks, the state of a rebase, other repositories.

Where the index leads is reported as well, because `git status` starts another git in each repository that it names.
So is every symlink: git writes logs, messages and much else wherever one leads.
"""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from kaa.hands.below import NOTHING_THERE, RootDirectory, is_below, reach_below
from kaa.hands.confinement.repositories import LinkedWorktree, has_head
from kaa.hands.git_config import executing_entries, has_long_hashes, work_trees
from kaa.hands.git_index import IndexRefusedError, gitlinks, shared_parts
from kaa.hands.git_names import is_data, is_info, is_marker, is_state
from kaa.hands.git_state import NOTES, STATE, Judge, max_bytes
from kaa.hands.guard.git_directory import GitDirectory, LinkSearch, Walk, is_store, looks_bare
from kaa.hands.guard.items import (
    CROWDED_REPOSITORY,
    DEEP_GIT_DIRECTORY,
    KEPT_MARK,
    MAX_CONTENT_BYTES,
    GuardedItem,
    Items,
    OpenedItem,
    Plain,
    UnopenedItem,
    Watch,
    file_item,
    is_kept_name,
    names_in,
    opened,
    too_much,
    whatever,
)
from kaa.hands.guard.room import Room
from kaa.hands.lazy_pattern import LazyPattern
from kaa.hands.policy import TEMPORARY

UNWANTED_REPOSITORY = frozenset({"a repository"})  # what is wrong with one that would be all right elsewhere
_MAX_MODULE_DEPTH = 16  # names of submodules have slashes; a `.git` that leads to a deeper one is moved away
_CONFIGURATIONS = ("config", "config.worktree")
_INDEX = "index"
# Where the `.git` of a worktree of kaa's is (`kaa.shell.worktrees.registry`), which commands of a project cannot write.
# Git writes the `gitdir` of a new one before the `.git` that leads back, and leaves it behind when that is removed.
_COPY = LazyPattern(r".*/kaa/worktrees/[^/]+-[0-9a-f]{8}/[^/]+/\.git", re.DOTALL)
# Addresses of remotes, as git kept them before there was a configuration (gitrepository-layout(5)).
_ADDRESSES = ("remotes", "branches")
_RERERE = ("MERGE_RR", "rr-cache")
# In a .git only these, what is not git's data, and symlinks are of interest; other names change with every git command.
_GIT_NAMES = frozenset(
    (
        *(*_CONFIGURATIONS, _INDEX, "commondir", "gitdir", "hooks", "info", "modules", "objects", "worktrees"),
        *(*_ADDRESSES, *STATE, *NOTES),
    )
)
_JUDGED_STATE = frozenset(name for judges in STATE.values() for name in judges)
# In these git writes no names that a command can choose, or they are looked at by themselves.
_WITHOUT_LINKS = frozenset(("hooks", "modules", "worktrees", *_ADDRESSES))
_OF_WORKTREE = frozenset(("HEAD", "commondir", "gitdir"))  # without which git takes a worktree for none
_MAX_NAMED_DEPTH = 32  # of what configuration names; as many directories may be open at a time
_MAX_INDEX_BYTES = 64 * 1024 * 1024  # of Chromium's 500,000 files: 60 MB

# Called with paths of directories, relative to that of the `.git`, of which the index says that they are repositories;
# whether all of them can be watched.
Links: TypeAlias = Callable[[frozenset[str]], bool]


def repository_items(
    directory: int,
    path: str,
    watch: Watch,
    links: Links,
    room: Room,
    walk: Walk,
    *,
    named: frozenset[str],
    allowed: bool,
    is_known: Callable[[str], bool],
    is_ours: Callable[[str], bool],
) -> Items:
    """What git executes or obeys of a `.git`.

    Args:
        path: of the `.git`, absolute.
        named: paths below the `.git`, in lower case, of what configuration or a link makes git obey besides.
        allowed: a repository may be here.
        is_known: says of what a `.git` file points to whether that is watched over anyway.
        is_ours: says whether commands may write at an absolute path.
    """
    reason = "git obeys the repository it makes"
    items, name = room.items, os.path.basename(path)
    with opened(name, directory) as found:
        if not isinstance(found, OpenedItem):
            return found.items("", reason) if found else {}
        if found.is_file:
            watch(found.descriptor, None)
            item = file_item(found, reason)
            target = _target(item.content or b"")
            # One that git has not written the content of yet is refused by git, and looked at again.
            is_harmless = item.content == b"" or (allowed and target is not None and is_known(target))
            items[""] = item._replace(dangers=frozenset()) if is_harmless else item
            if target is not None:
                _Collection(room, walk, watch, links, directory, is_ours).follow(target)
        else:
            items[""] = GuardedItem(frozenset() if allowed else UNWANTED_REPOSITORY, reason)
            git = GitDirectory(found.descriptor, "", work_tree="", absolute=path)
            _Collection(room, walk, watch, links, directory, is_ours, name).collect(git, named)
    return items


def bare_repository_items(
    directory: int,
    path: str,
    watch: Watch,
    room: Room,
    walk: Walk,
    is_ours: Callable[[str], bool],
    *,
    named: frozenset[str] = frozenset(),
    is_known: bool = False,
) -> Items:
    """What git executes or obeys of an open directory, if that has the layout of a bare repository.

    Args:
        path: of it, absolute.
        is_ours: says whether commands may write at an absolute path.
        is_known: it is a repository, also while something is missing in it that a command has put elsewhere.
    """
    if is_known or looks_bare(names_in(directory)):
        git = GitDirectory(directory, "", absolute=path)
        _Collection(room, walk, watch, lambda _: True, directory, is_ours).collect(git, named)
    return room.items


def collects(git: str, inner: str) -> bool:
    """Whether what is at a path in a git directory is collected as a worktree's or submodule's git directory.

    Other directories in there hold data, and git would obey a repository in them that nobody looks at. So is it with
    what the guard keeps in there.

    Args:
        git: a git directory that is collected, absolute.
    """
    depth, names = 0, inner.split("/")
    if any(map(is_kept_name, names)):
        return False
    while names:
        kind, *names = names
        git = os.path.join(git, kind)
        if kind == "worktrees" and names and depth < _MAX_MODULE_DEPTH:
            git, depth = os.path.join(git, names.pop(0)), depth + 1
        elif kind == "modules" and names:
            git = os.path.join(git, names.pop(0))
            depth += 1
            while names and not has_head(git):
                git = os.path.join(git, names.pop(0))
                depth += 1
        else:
            return False
        if depth > _MAX_MODULE_DEPTH:
            return False
    return True


def lost_of_worktrees(git: str, before: Items, items: Items) -> Iterator[str]:
    """Paths of what is missing of worktrees that are there.

    `git worktree remove` goes on if it cannot remove the files.

    Args:
        git: the absolute path of the `.git`.
    """
    for path in before.keys() - items.keys():
        place, _, name = path.rpartition("/")
        if name in _OF_WORKTREE and os.path.basename(os.path.dirname(place)) == "worktrees":
            kept = os.path.join(git, place)
            led = before.get(f"{place}/gitdir")
            entry = os.path.join(kept, os.fsdecode(((led and led.content) or b"").rstrip()))
            if LinkedWorktree(kept, entry).leads_back:
                yield path


class _Collection:
    """Collects the items of a repository.

    Args:
        directory: where the `.git` is.
        is_ours: says whether commands may write at an absolute path: where files of submodules and worktrees may be.
        name: of the `.git`; empty for a repository that is not inside a working tree.
    """

    def __init__(
        self,
        room: Room,
        walk: Walk,
        watch: Watch,
        links: Links,
        directory: int,
        is_ours: Callable[[str], bool],
        name: str = "",
    ) -> None:
        self._items = room.items
        self._room = room
        self._kept: list[GitDirectory] = []  # among what was moved away, closed by now
        self._watch = watch
        self._all_links = LinkSearch(room.items, watch, _is_without_links, self._nested, walk)
        self._links = links
        self._directory = directory
        self._name = name
        self._is_ours = is_ours

    def follow(self, target: str) -> None:
        """Report where the index leads of the git directory that a `.git` file names."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        try:
            descriptor = os.open(target, flags, dir_fd=self._directory)
        except ValueError:  # no path
            return
        except OSError as error:
            # One that is closed to us is an item of the repository that it belongs to.
            if error.errno in NOTHING_THERE or error.errno == errno.EACCES:
                return
            raise
        try:
            names = self._index(GitDirectory(descriptor, ""), "", sha256=None)
            self._watch(descriptor, frozenset((_INDEX, *names)))
            self._items.pop(_INDEX, None)  # it is the other subject's
        finally:
            os.close(descriptor)

    def collect(self, top: GitDirectory, named: frozenset[str]) -> None:
        """Add the files of the git directory of the subject, and of all in it; last, of those that were moved away."""
        self._collect(top)
        if named:
            self._add_named(top.directory, "", named)
        here = RootDirectory("", top.directory)
        while self._kept:
            place = self._kept.pop()
            with reach_below(here, place.path) as directory:
                if directory is not None:
                    self._collect_nested(place._replace(directory=directory))

    def _collect(self, place: GitDirectory) -> None:
        """Add the files of a git directory, and of the submodules' and worktrees' in it."""
        self._watch(place.directory, Plain(_matters, place.absolute, grows=True))
        work_tree = place.work_tree
        sha256 = place.sha256
        for name in _CONFIGURATIONS:
            content = self._file(
                place, name, lambda content: self._executing(place, content), "git would execute what it says"
            )
            for path in work_trees(content or b""):
                work_tree = self._leads_to(place, path)
            if name == _CONFIGURATIONS[0] and not place.is_worktree:  # git asks only this one
                sha256 = has_long_hashes(content or b"")
        foreign = _foreign_to_worktree if place.is_worktree else whatever
        self._file(place, "commondir", foreign, "git would obey it")
        self._files(place, "hooks", "git would execute it")
        for name in _ADDRESSES:
            self._files(place, name, "git would send to where it says, or fetch from there")
        self._objects(place)
        self._all_links.note(place)
        for name, judges in STATE.items():
            self._state(place, name, judges)
        for name, judge in NOTES.items():
            self._file(place, name, judge, "git would take what it says for an option")
        if place.is_worktree:
            self._file(place, "gitdir", lambda content: self._foreign(place, content), "git would write a .git there")
            self._file(place, "HEAD", lambda _: frozenset(), "")  # its content can be put back
        elif place.is_module:
            self._room.add(place.inside("HEAD"), GuardedItem(frozenset(), ""))
        self._unknown(place)
        self._index(place, work_tree, sha256=sha256)
        with self._subdirectory(place.directory, "modules", place.inside("modules")) as modules:
            if modules is not None:
                self._submodules(place.below(modules, "modules"), place.depth + 1)
        self._worktrees(place._replace(sha256=sha256))

    def _nested(self, place: GitDirectory) -> None:
        """Add a git directory at an unusual place in another one, now or last."""
        if KEPT_MARK in place.path:
            self._kept.append(place)
        else:
            self._collect_nested(place)

    def _collect_nested(self, place: GitDirectory) -> None:
        if place.depth >= _MAX_MODULE_DEPTH:
            self._items[place.path] = too_much(DEEP_GIT_DIRECTORY)
        elif self._room.has(place.path, place.directory, ".", CROWDED_REPOSITORY):
            self._collect(place._replace(depth=place.depth + 1, is_module=True, is_worktree=False))

    def _executing(self, place: GitDirectory, content: bytes) -> frozenset[str]:
        """What a configuration makes git execute, and working trees that are not its own: git writes what is there."""
        foreign = (path for path in work_trees(content) if self._leads_to(place, path) is None)
        return executing_entries(content) | {f"core.worktree={path}" for path in foreign}

    def _leads_to(self, place: GitDirectory, path: str) -> str | None:
        """Where `core.worktree` leads, below the directory that has the `.git`; None if elsewhere."""
        if not self._name:
            return path if place.is_module and self._is_ours(os.path.join(place.absolute, path)) else None
        top = os.path.normpath(os.path.join(self._name, place.path, path))
        parts = [] if top == "." else top.split("/")
        if os.path.isabs(path) or parts[:1] == [".."] or (parts and not place.is_module):
            return None
        for count in range(1, len(parts) + 1):
            try:
                kind = os.stat("/".join(parts[:count]), dir_fd=self._directory, follow_symlinks=False).st_mode
            except (OSError, ValueError) as error:
                if isinstance(error, OSError) and error.errno not in NOTHING_THERE:
                    return None
                break  # not there yet: git makes it
            if stat.S_ISLNK(kind):
                return None
        return "/".join(parts)

    def _files(self, place: GitDirectory, directory: str, reason: str) -> None:
        """The files of a directory, of which every change matters."""
        path = place.inside(directory)
        with self._subdirectory(place.directory, directory, path) as found:
            names = (name for name in names_in(found) if not name.endswith(".sample"))
            for name in self._up_to_limit(found, names, path):
                if found is not None:
                    self._file(GitDirectory(found, path), name, whatever, reason)

    def _objects(self, place: GitDirectory) -> None:
        """The file that has git take objects from other repositories."""
        with self._subdirectory(place.directory, "objects", place.inside("objects"), frozenset(("info",))) as objects:
            if objects is None:
                return
            info = place.below(objects, "objects").inside("info")
            with self._subdirectory(objects, "info", info, frozenset(("alternates",))) as found:
                if found is not None:
                    self._file(
                        GitDirectory(found, info), "alternates", whatever, "git would use another repository's files"
                    )

    def _state(self, place: GitDirectory, name: str, judges: Mapping[str, Judge]) -> None:
        """The state of a rebase and its like."""
        path, reason = place.inside(name), "git would execute or obey what it says when that continues"
        inside = Plain(_matters_in_state, place.below(place.directory, name).absolute, grows=False)
        with self._subdirectory(place.directory, name, path, inside) as state:
            names = (inner for inner in names_in(state) if inner in judges or not is_state(inner))
            for inner in self._up_to_limit(state, names, path):
                if state is not None:
                    judge = judges.get(inner, whatever)
                    self._file(
                        GitDirectory(state, path), inner, judge, reason, max_bytes(judge), is_known=inner in judges
                    )

    def _unknown(self, place: GitDirectory) -> None:
        """What is not known to be git's data, and what rerere keeps: git copies files from and to where that says."""
        reason = "it is not known to be git's data: git or another program may obey it"
        for name in _RERERE:
            self._file(place, name, whatever, "git would write and copy files where it says", is_known=False)
        if ".git" not in place.absolute.split("/"):  # a bare repository may have a project's files besides
            return
        names = (name for name in names_in(place.directory) if not is_data(name))
        for name in self._up_to_limit(place.directory, names, place.path):
            if name not in _RERERE:
                self._file(place, name, _what_is_in_it if is_marker(name) else whatever, reason, is_known=False)
        path = place.inside("info")
        with self._subdirectory(place.directory, "info", path) as info:
            names = (name for name in names_in(info) if not is_info(name))
            for name in self._up_to_limit(info, names, path):
                if info is not None:
                    self._file(GitDirectory(info, path), name, whatever, reason, is_known=False)

    def _add_named(self, directory: int, above: str, named: frozenset[str]) -> None:
        """Everything at some paths, in lower case, below an open directory."""
        reason = "git's configuration names it, or a link leads to it: git would execute or obey it"
        first = {path.partition("/")[0] for path in named}
        for name in names_in(directory):
            folded = name.casefold()
            if folded not in first:
                continue
            path = f"{above}/{name}" if above else name
            if folded in named:
                self._add_whole(directory, name, path, reason)
                continue
            inner = frozenset(one.partition("/")[2] for one in named if one.startswith(f"{folded}/"))
            with self._subdirectory(directory, name, path) as below:
                if below is not None:
                    self._add_named(below, path, inner)

    def _add_whole(self, directory: int, name: str, path: str, reason: str) -> None:
        """A file, or all files in a directory."""
        if not self._room.has(path, directory, name, reason, is_near=path.count("/") < _MAX_NAMED_DEPTH):
            return
        self._file(GitDirectory(directory, path.rpartition("/")[0]), name, whatever, reason)
        with opened(name, directory) as found:
            if isinstance(found, OpenedItem) and not found.is_file:
                self._watch(found.descriptor, None)
                for inner in names_in(found.descriptor):
                    self._add_whole(found.descriptor, inner, f"{path}/{inner}", reason)

    def _foreign(self, place: GitDirectory, content: bytes) -> frozenset[str]:
        """Where a worktree's `.git` is, if commands may not write there: `git worktree repair` does.

        One that leads back already is not written.
        """
        path = os.path.join(place.absolute, content.decode("utf-8", "surrogateescape").rstrip())
        if "\0" in path:  # no path
            return frozenset({path})
        if not content.strip() or self._is_ours(path):
            return frozenset()
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except FileNotFoundError:
            # In the private /tmp of commands; there is nothing outside that git would write to.
            is_private = any(is_below(path, top) for top in TEMPORARY) and not os.path.exists(os.path.dirname(path))
            return frozenset() if is_private or _is_copy(path) else frozenset({path})
        except (OSError, ValueError):
            return frozenset({path})
        try:
            back = os.read(descriptor, MAX_CONTENT_BYTES)
        except OSError as error:  # a directory says that there is one which commands do not see
            return frozenset() if error.errno == errno.EISDIR and _is_copy(path) else frozenset({path})
        finally:
            os.close(descriptor)
        if not back and _is_copy(path):
            return frozenset()
        if (leads_back := _target(back)) is None:
            return frozenset({path})
        target = os.path.join(os.path.dirname(path), leads_back)
        same = os.path.realpath(target) == os.path.realpath(place.absolute)
        return frozenset() if same else frozenset({path})

    def _index(self, place: GitDirectory, work_tree: str | None, *, sha256: bool | None) -> frozenset[str]:
        """Report where the index of a git directory leads; names of the files that may have more of it."""
        directory, path = place.directory, place.inside(_INDEX)
        found: set[str] = set()
        shared: frozenset[str] = frozenset()
        links: frozenset[str] = frozenset()
        try:
            content = self._content(directory, _INDEX)
            shared = shared_parts(content)
            for part in (content, *(self._content(directory, name) for name in shared)):
                found |= gitlinks(part, sha256=sha256)
            links = frozenset(os.path.join(work_tree or "", link) for link in found)
            if work_tree is not None and not self._links(links):
                raise IndexRefusedError("there are too many")
        except IndexRefusedError as error:
            reason = f"git would obey repositories that it names and that cannot be checked: {error}"
            # Where there were too many before, another one is dangerous still.
            self._items[path] = GuardedItem(whatever(os.fsencode("\0".join(sorted(links)))) | {str(error)}, reason)
        return shared

    def _content(self, directory: int, name: str) -> bytes:
        with opened(name, directory) as found:
            if not isinstance(found, OpenedItem) or not found.is_file:
                return b""
            self._watch(found.descriptor, None)
            with open(found.descriptor, "rb", closefd=False) as file:
                content = file.read(_MAX_INDEX_BYTES + 1)
        if len(content) > _MAX_INDEX_BYTES:
            raise IndexRefusedError("it is too large")
        return content

    def _worktrees(self, place: GitDirectory) -> None:
        path = place.inside("worktrees")
        with self._subdirectory(place.directory, "worktrees", path) as worktrees:
            for name in self._up_to_limit(worktrees, names_in(worktrees), path):
                with self._subdirectory(worktrees, name, f"{path}/{name}") as tree:
                    if tree is not None and place.depth < _MAX_MODULE_DEPTH:
                        absolute = os.path.join(place.absolute, "worktrees", name)
                        self._collect(
                            GitDirectory(
                                tree,
                                f"{path}/{name}",
                                place.depth + 1,
                                is_worktree=True,
                                absolute=absolute,
                                sha256=place.sha256,
                            )
                        )

    def _submodules(self, place: GitDirectory, depth: int) -> None:
        """Add git directories that may be some levels below, because names of submodules may have slashes."""
        names = names_in(place.directory) if depth <= _MAX_MODULE_DEPTH else []
        for name in self._up_to_limit(place.directory, names, place.path):
            with self._subdirectory(place.directory, name, place.inside(name)) as directory:
                if directory is None:
                    continue
                below = place.below(directory, name)
                if not has_head("", directory):
                    self._submodules(below, depth + 1)
                elif self._room.was_directory(below.path) and not self._room.was_read(below.inside("HEAD")):
                    reason = "git would take the directory for a repository instead of those of submodules in it"
                    self._file(below, "HEAD", whatever, reason)
                    self._submodules(below, depth + 1)
                else:
                    self._collect(GitDirectory(directory, below.path, depth, is_module=True, absolute=below.absolute))

    def _up_to_limit(self, directory: int | None, names: Iterable[str], path: str) -> Iterator[str]:
        """Names in an open directory as long as there are not too many items; what else is there becomes one.

        What was moved away comes last.
        """
        for name in sorted(names, key=lambda name: KEPT_MARK in name):
            if directory is not None and self._room.has(
                f"{path}/{name}" if path else name, directory, name, CROWDED_REPOSITORY
            ):
                yield name

    @contextlib.contextmanager
    def _subdirectory(
        self, directory: int | None, name: str, path: str, names: frozenset[str] | Plain | None = None
    ) -> Iterator[int | None]:
        """A directory inside a git directory, of which `names` matter; a link in its place is an item."""
        with opened(name, directory) as found:
            if not isinstance(found, OpenedItem) or found.is_file:
                if isinstance(found, UnopenedItem):
                    self._items.setdefault(path, found.items(path, "git would follow it")[path])
                yield None
                return
            self._watch(found.descriptor, names)
            yield found.descriptor

    def _file(
        self,
        place: GitDirectory,
        name: str,
        judge: Judge,
        reason: str,
        max_bytes: int = MAX_CONTENT_BYTES,
        *,
        is_known: bool = True,
    ) -> bytes | None:
        """Add a file of a directory; its content, if it is short enough to be judged.

        One that is not known matters also if it is a directory.
        """
        path = place.inside(name)
        # What a configuration says is needed to read the rest.
        if name not in _CONFIGURATIONS and self._room.notes(path, place.directory, name, reason):
            return None
        with opened(name, place.directory) as found:
            if isinstance(found, UnopenedItem):
                self._items.update(found.items(path, reason))
            elif found is not None and found.is_file:
                self._watch(found.descriptor, None)
                try:
                    item = file_item(found, reason, judge, max_bytes)
                except ValueError as error:  # a command may have made it for that: the rest is judged all the same
                    item = GuardedItem(frozenset({f"cannot be judged: {error}"}), reason)
                self._room.add(path, item)
                return item.content
            elif found is not None and not is_known:
                self._items[path] = GuardedItem(frozenset({"a directory"}), reason)
        return None


def _target(content: bytes) -> str | None:
    """Where a `.git` file leads, as git reads it (read_gitfile_gently in setup.c); None if git refuses it."""
    path = content.rstrip(b"\r\n").removeprefix(b"gitdir: ")
    if not content.startswith(b"gitdir: ") or not path or b"\n" in path or b"\0" in path:
        return None
    return path.decode("utf-8", "surrogateescape")


def _matters(name: str) -> bool:
    return name in _GIT_NAMES or name.startswith("sharedindex.") or not is_data(name)


def _is_without_links(path: str) -> bool:
    return path in _WITHOUT_LINKS or is_store(path)


def _matters_in_state(name: str) -> bool:
    return name in _JUDGED_STATE or not is_state(name)


def _is_copy(path: str) -> bool:
    return _COPY.fullmatch(os.path.realpath(path)) is not None


def _what_is_in_it(content: bytes) -> frozenset[str]:
    return whatever(content) if content else frozenset()


def _foreign_to_worktree(content: bytes) -> frozenset[str]:
    """The repository of a worktree is two directories up; any other is foreign.

    One of which git has not written the content yet is none: git refuses it, and it is looked at again.
    """
    return frozenset() if content.rstrip(b"\r\n") in (b"../..", b"") else whatever(content)
