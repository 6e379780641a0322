"""Judges what is at a guarded name: a repository, a protected name, or a file of which only some content matters."""

import contextlib
import os
from collections.abc import Callable, Iterator

from kaa.hands.below import NOTHING_THERE, is_below
from kaa.hands.guard.directories import GuardedDirectories
from kaa.hands.guard.git_directory import Walk, has_part_of_bare
from kaa.hands.guard.items import (
    DIRECTORY,
    KEPT_MARK,
    MAX_DEPTH,
    PROTECTED_REASON,
    GuardedItem,
    Items,
    OpenedItem,
    Plain,
    UnopenedItem,
    Watch,
    file_item,
    names_in,
    opened,
)
from kaa.hands.guard.judged import judged_items
from kaa.hands.guard.repository import bare_repository_items, collects, repository_items
from kaa.hands.guard.room import Room
from kaa.hands.guard.subjects import GIT, Directory, Inside, Subject
from kaa.hands.protected import is_judged_name

_LINK_REASON = "it leads to another folder than the one in which other programs execute or obey files"
_MAX_CONTENTS_BYTES = 2 * 1024 * 1024  # that are kept of one guarded directory


class Judge:
    """Reads the items of subjects, with their dangers.

    Args:
        directories: watch what is read, and know which repositories belong together.
        git_writable: whether a repository may come into being at the top of a root.
        accepts: says whether something of a subject is accepted.
    """

    def __init__(self, directories: GuardedDirectories, git_writable: bool, accepts: Callable[[Subject], bool]) -> None:
        self._directories = directories
        self._git_writable = git_writable
        self._accepts = accepts
        self._walks: dict[Subject, Walk] = {}  # when everything was accepted last
        self._last_walks: dict[Subject, Walk] = {}

    def items(self, subject: Subject, directory: int, before: Items, *, takes_in: bool = False) -> Items:
        """What is at a guarded name, in an open directory. What cannot be judged is dangerous as a whole.

        Args:
            takes_in: everything is accepted now.
        """
        walk = Walk(self._walks.get(subject), self._last_walks.get(subject), takes_in=takes_in)
        try:
            items = self._judged(subject, directory, Room(before, takes_in=takes_in), walk)
        except Exception as error:  # noqa: BLE001 - a command may have made it for that
            item = GuardedItem(
                frozenset({"cannot be judged"}), f"it cannot be judged ({type(error).__name__}: {error})"
            )
            return {"" if subject.name else _head(directory): item}
        if subject.is_git:
            self._last_walks[subject] = walk
            if takes_in:
                self._walks[subject] = walk
        return items

    def _judged(self, subject: Subject, directory: int, room: Room, walk: Walk) -> Items:
        def watch(descriptor: int, names: frozenset[str] | Plain | None) -> None:
            self._directories.watch(descriptor, Inside(subject, names))

        if not subject.name:
            if not self._accepts(subject) and self._is_collected(subject.directory):
                return {}
            is_known = subject in self._directories.elsewhere or (
                self._accepts(subject) and has_part_of_bare(names_in(directory))
            )
            return bare_repository_items(
                directory,
                subject.path,
                watch,
                room,
                walk,
                self._is_in_root,
                named=self._directories.named_below(subject),
                is_known=is_known,
            )
        if self._directories.is_only_above(subject):
            return link_items(directory, subject.name)
        if (
            is_judged_name(subject.name, subject.directory.depth)
            and subject.path.casefold() not in self._directories.named
        ):
            return judged_items(directory, subject.name, watch, room)
        if not subject.is_git:
            return protected_items(directory, subject.name, watch, room)
        return repository_items(
            directory,
            subject.path,
            watch,
            lambda paths: self._directories.link(subject.directory, paths),
            room,
            walk,
            named=self._directories.named_below(subject),
            allowed=self._git_writable or subject.directory.depth > 0,
            is_known=lambda target: self._is_known(subject, target),
            is_ours=self._is_in_root,
        )

    def _is_in_root(self, path: str) -> bool:
        """Whether a path, with all links followed, is in a writable directory."""
        return any(is_below(os.path.realpath(path), os.path.realpath(root.path)) for root in self._directories.roots)

    def _is_known(self, subject: Subject, target: str) -> bool:
        """Whether a `.git` file points to a worktree or submodule of a `.git` where those are watched over."""
        try:
            target = os.path.realpath(os.path.join(os.path.dirname(subject.path), target))
        except ValueError:  # no path
            return False
        repository, _, inner = target.partition(f"/{GIT}/")
        for root in self._directories.roots:
            top = os.path.realpath(root.path)
            if is_below(repository, top):
                directory = Directory(root, repository[len(top) + 1 :])
                if not inner:
                    return self._is_collected(directory)
                is_watched = directory.is_watched or self._directories.is_linked(directory)
                return is_watched and collects(os.path.join(repository, GIT), inner)
        for elsewhere in self._directories.elsewhere:
            top = os.path.realpath(elsewhere.path)
            if is_below(target, top):
                return collects(top, target[len(top) + 1 :])
        return False

    def _is_collected(self, directory: Directory) -> bool:
        """Whether a directory is that of a worktree or submodule in a bare repository that was there before."""
        return any(
            self._accepts(Subject(bare, "")) and collects(bare.absolute, directory.path[len(bare.path) :].lstrip("/"))
            for bare in _with_inner_repositories(directory)
        )


def _with_inner_repositories(directory: Directory) -> Iterator[Directory]:
    """The directories above one that would have it among their worktrees or submodules if they were repositories."""
    names = directory.path.split("/")
    for at, name in enumerate(names[:-1]):
        if name in ("worktrees", "modules"):
            yield Directory(directory.root, "/".join(names[:at]))


def _head(directory: int) -> str:
    """The name without which an open directory is no repository."""
    with contextlib.suppress(OSError):
        return next((name for name in names_in(directory) if name.casefold() == "head"), "HEAD")
    return "HEAD"


def protected_items(directory: int, name: str, watch: Watch, room: Room) -> Items:
    """All of a protected name: every file of it matters."""
    reason = PROTECTED_REASON
    items = room.items
    kept = _MAX_CONTENTS_BYTES

    def collect(directory: int, name: str, path: str, depth: int) -> None:
        if room.notes(path, directory, name, reason):
            return
        with opened(name, directory) as found:
            if not isinstance(found, OpenedItem):
                items.update(found.items(path, reason) if found else {})
                return
            watch(found.descriptor, None)
            if found.is_file:
                nonlocal kept
                item = file_item(found, reason)
                kept -= len(item.content or b"")
                room.add(path, item if kept >= 0 else item._replace(content=None))
                return
            room.add(path, GuardedItem(frozenset({DIRECTORY}) if not path else frozenset(), reason))
            for entry in _files_first(found.descriptor):
                inner = f"{path}/{entry}" if path else entry
                if room.has(inner, found.descriptor, entry, reason, is_near=depth < MAX_DEPTH):
                    collect(found.descriptor, entry, inner, depth + 1)

    collect(directory, name, "", 0)
    return items


def link_items(directory: int, name: str) -> Items:
    """A link where a folder was, in which something is guarded; nothing if there is no link."""
    try:
        target = os.readlink(name, dir_fd=directory)
    except OSError:
        return {}
    return UnopenedItem(target).items("", _LINK_REASON)


def _files_first(directory: int) -> list[str]:
    """The same as `names_in`: first files, since directories may be many, and last what was moved away."""
    try:
        with os.scandir(directory) as entries:
            return [
                name
                for *_, name in sorted(
                    (KEPT_MARK in entry.name, entry.is_dir(follow_symlinks=False), entry.name) for entry in entries
                )
            ]
    except OSError as error:
        if error.errno not in NOTHING_THERE:
            raise
    return []
