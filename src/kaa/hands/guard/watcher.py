"""The guard itself: where guarded names may appear, what was there before, and what to do about a change.

Events of the kernel are hints where to look and nothing more: what counts is what is on the disk when we look.
"""

import hashlib
import os
import stat
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kaa.hands.below import RootDirectory, open_below
from kaa.hands.guard.held import TrustedMounts
from kaa.hands.guard.items import MAX_FILES, GuardedItem, Items, have_content, is_kept_name, names_in, protected_items
from kaa.hands.guard.judged import judged_items
from kaa.hands.guard.quarantine import GuardFinding, MountedError, move_away, put_back
from kaa.hands.guard.repository import (
    MAX_MODULE_DEPTH,
    UNWANTED_REPOSITORY,
    bare_repository_items,
    looks_bare,
    repository_items,
)
from kaa.hands.inotify import Happening, Inotify, WatchLimitError
from kaa.hands.policy import GUARDED_DEPTH
from kaa.hands.protected import GUARDED_NAMES, PROTECTED_ENDINGS, is_judged_name, is_protected_name

_MAX_DIRECTORIES = 4096  # that are watched; with more, all of them are read again at every check
_MAX_DIRECTORIES_READ = 65536  # 28 us each
_MAX_WATCHES = _MAX_DIRECTORIES + 2048  # the rest is for guarded files and directories
_MAX_SPOTS_PER_WATCH = 8  # one directory under that many names: the oldest are names that it no longer has
_MAX_LINKED = 1024  # directories that only an index or a symlink leads to
_MAX_FINDINGS = 32  # that are told between two checks; the others are counted
_FLOOD_FINDINGS = 256  # between two checks: they come from a loop, and not from a copy of a repository with hooks
_MAX_REMEMBERED_BYTES = 16 * 1024  # of a file to put back; more than any configuration has
_MAX_REMEMBERED_FILES = 16  # of a subject
_MAX_REMEMBERED_SUBJECTS = 64
_MAX_ROUNDS = 32  # of reading 64 KiB of events each; the kernel's queue is shorter (fs.inotify.max_queued_events)
# Huge, and nobody opens a repository in them: of these only the first level is watched.
_SKIPPED = frozenset(("node_modules", ".venv", "venv", ".tox", ".nox", "__pycache__"))
_GIT = ".git"
_BARE_MARKS = frozenset(("head", "objects", "refs", "config", "config.worktree", "commondir", "hooks"))


class Directory(NamedTuple):
    """A directory in which guarded names may appear. `path`: below the root, "" for the root itself."""

    root: RootDirectory
    path: str

    @property
    def absolute(self) -> str:
        """Its path."""
        return os.path.join(self.root.path, self.path)

    @property
    def depth(self) -> int:
        """0 for a root."""
        return self.path.count("/") + 1 if self.path else 0

    @property
    def is_watched(self) -> bool:
        """Whether it is near enough to the root and not in a tree that is skipped."""
        return self.depth <= GUARDED_DEPTH and _SKIPPED.isdisjoint(self.path.split("/")[:-1])

    @property
    def is_entered(self) -> bool:
        """Whether directories in it are watched too."""
        return self.below("any").is_watched

    def below(self, name: str) -> "Directory":
        """A directory in this one."""
        return Directory(self.root, f"{self.path}/{name}" if self.path else name)


class Subject(NamedTuple):
    """A guarded name in a directory; without a name: the directory itself, should it be a bare repository."""

    directory: Directory
    name: str

    @property
    def path(self) -> str:
        """Absolute path."""
        return os.path.join(self.directory.root.path, self.directory.path, self.name).rstrip("/")

    @property
    def key(self) -> str:
        """Its path, so that no other subject has the same."""
        return self.path if self.name else f"{self.path}/"

    @property
    def is_git(self) -> bool:
        """Whether it is a repository or what makes one, and not a protected name."""
        return not self.name or self.name.casefold() == _GIT


class Inside(NamedTuple):
    """A watched file or directory of a subject. `names`: that matter in the directory; None: all."""

    subject: Subject
    names: frozenset[str] | None


Spot: TypeAlias = Directory | Inside


class Known(NamedTuple):
    """What a guard took for harmless: enough for its successor to recognize it.

    Attributes:
        named: see `Guard`.
        dangers: digests, by the key of the subject and the path of the item.
    """

    named: frozenset[str]
    dangers: Mapping[str, Mapping[str, frozenset[str]]]


class Guard:
    """Watches over the guarded names in some directories.

    Args:
        roots: absolute paths of the writable directories; those that do not exist are left out.
        git_writable: whether a repository may come into being at the top of a root.
        inotify: tells where to look; without it everything is looked at every time.
        named: absolute paths of further guarded names, anywhere below the roots.
        git_directories: absolute paths of git directories elsewhere that belong to the roots and can be written.

    Attributes:
        stuck: what to move away that a mount keeps, which came while a command could write. It has to be released.
        scans: it cannot watch everything, so it reads all directories at every check.
    """

    def __init__(
        self,
        roots: Iterable[str],
        git_writable: bool,
        inotify: Inotify | None,
        named: Iterable[str] = (),
        git_directories: Iterable[str] = (),
    ) -> None:
        self._named = frozenset(path.casefold() for path in named)
        self._roots = [root for path in roots if (root := _open_root(path)) is not None]
        elsewhere = (root for path in git_directories if (root := _open_root(path)) is not None)
        self._elsewhere = [Subject(Directory(root, ""), "") for root in elsewhere]
        self._git_writable = git_writable
        self._inotify = inotify
        self.scans = inotify is None
        self._held = TrustedMounts([*(root.path for root in self._roots), *(each.path for each in self._elsewhere)])
        self._spots: dict[int, dict[Spot, None]] = {}
        self._base: dict[Subject, Items] = {}
        self._has_learned = False  # what is dangerous in the base is not what it was
        self._subjects: set[Subject] = set()  # at which there are files
        # What was harmless when it was last looked at, of what is not in the base: to put back, and nothing else.
        self._harmless: dict[Subject, Items] = {}
        # To be watched though nobody would look: the index of a repository, or a symlink, leads there.
        self._linked: set[Directory] = set()
        self._linked_trees: set[Directory] = set()  # the same, with all that is below
        self._to_look_into: deque[Directory] = deque()
        self._changed: set[Subject] = set()  # harmlessly: perhaps only the first half of a change
        self._kept: dict[str, tuple[int, int] | None] = {}  # what this guard moved away, by its path now
        self._findings: list[GuardFinding] = []
        self._count = 0  # of findings since the last `forget_flood`
        self._more = 0
        self.stuck: set[Subject] = set()
        self._expected: list[str] = [root.path for root in self._roots]
        self._look_everywhere()
        self._expected.clear()

    def expect(self, path: str) -> None:
        """Take what happens at this absolute path, below and above it, as intended until it is accepted."""
        if path not in self._expected:  # the brain repeats itself when it was interrupted
            self._expected.append(path)

    def accept(self, path: str) -> None:
        """End the expectation of a path; everything that happened so far has been taken in.

        That of a root ends what happens while nothing of kaa's runs.
        """
        if path in self._expected:
            if any(path == root.path for root in self._roots):
                self._held.renew()
            self._expected.remove(path)

    def take_known(self) -> Known | None:
        """What a successor needs to know; None if that is what it was the last time."""
        if not self._has_learned:
            return None
        self._has_learned = False
        subjects = {
            subject.key: {path: _digests(item) for path, item in items.items() if item.dangers}
            for subject, items in self._base.items()
        }
        always = {subject.key: subjects.get(subject.key, {}) for subject in self._elsewhere}
        return Known(self._named, {key: items for key, items in subjects.items() if items} | always)

    def succeed(self, former: Known) -> None:
        """Take over from a guard that died while commands ran: whatever it did not know comes from them."""
        self._held.distrust()
        if not former.named <= self._named:
            self._named |= former.named
            self._expected += [root.path for root in self._roots]
            self._look_everywhere()
            self._expected.clear()
        for subject, items in tuple(self._base.items()):
            if subject in self._elsewhere and subject.key not in former.dangers:
                continue  # no command could write there before
            known = former.dangers.get(subject.key, {})
            self._has_learned = True
            self._base[subject] = {
                path: item for path, item in items.items() if _digests(item) <= known.get(path, frozenset())
            }
            self._inspect(subject)

    def retry(self) -> None:
        """Try again to move away what was stuck. What still cannot be moved is reported."""
        stuck, self.stuck = self.stuck, set()
        for subject in stuck:
            self._inspect(subject, released=True)

    @property
    def flooded(self) -> bool:
        """Whether there were so many findings since the last `forget_flood` that they come from a loop."""
        return self._count > _FLOOD_FINDINGS

    def forget_flood(self) -> None:
        """Count findings anew."""
        self._count = 0

    @property
    def has_findings(self) -> bool:
        """Whether `take_findings` would give some."""
        return bool(self._findings)

    @property
    def minds(self) -> bool:
        """Whether anything that happens may come from a command."""
        return not any(root.path in self._expected for root in self._roots)

    def compare(self) -> None:
        """Look at all guarded files: what is written through a mapping causes no event before it ends."""
        for subject in tuple(self._subjects):
            self._inspect(subject)

    def catch_up(self) -> None:
        """Deal with everything that has happened by now."""
        everywhere = self.scans
        for _ in range(_MAX_ROUNDS):
            if not self.act():
                break
        else:
            everywhere = True
        if everywhere:
            self._look_everywhere()
        for subject in self._changed:
            self._inspect(subject, adopt=True)
        self._changed.clear()

    def take_findings(self) -> tuple[list[GuardFinding], int]:
        """The findings since the last time, and how many more there were."""
        findings, more = self._findings, self._more
        self._findings, self._more = [], 0
        return findings, more

    def act(self) -> bool:
        """Deal with some of what has happened; False if nothing has."""
        happenings = self._inotify.take() if self._inotify is not None else []
        directories: dict[Directory, None] = {}
        subjects: dict[Subject, None] = {}
        for happening in happenings:
            if happening.watch < 0:
                directories.update(dict.fromkeys(Directory(root, "") for root in self._roots))
                subjects.update(dict.fromkeys(self._elsewhere))
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

    def close(self) -> None:
        """Let go of the directories and of inotify."""
        self._held.close()
        for root in (*self._roots, *(subject.directory.root for subject in self._elsewhere)):
            os.close(root.descriptor)
        if self._inotify is not None:
            self._inotify.close()

    def _look_everywhere(self) -> None:
        self._to_look_into.extend((*self._linked, *self._linked_trees))
        for root in self._roots:
            self._look_into(Directory(root, ""))
        for subject in self._elsewhere:
            self._inspect(subject)
        self._follow_links()

    def _follow_links(self) -> None:
        """Look into the directories that an index leads to, and those that the index there leads to."""
        while self._to_look_into:
            self._look_into(self._to_look_into.popleft())

    def _link(self, directory: Directory, paths: Iterable[str]) -> bool:
        """Watch directories below one, with those on the way; False if that would be too many.

        A path that ends in a slash is that of a whole tree.
        """
        for path in paths:
            linked = directory
            for name in path.split("/"):
                if name in ("", ".", "..") or "\0" in name or name.casefold() == _GIT:
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

    def _is_linked(self, directory: Directory) -> bool:
        """Whether an index leads to a directory or to a tree that it is in."""
        if directory in self._linked or not self._linked_trees:
            return directory in self._linked
        return any(
            tree.root == directory.root and (not tree.path or _contains(tree.path, directory.path))
            for tree in self._linked_trees
        )

    def _look_into(self, start: Directory) -> None:
        """Watch a directory and those below it, the nearest first, and inspect what is in them."""
        remaining = deque([start])
        for count in range(_MAX_DIRECTORIES_READ):
            if not remaining:
                return
            self.scans = self.scans or count >= _MAX_DIRECTORIES
            directory = remaining.popleft()
            try:
                names, below, links = self._entries(directory)
            except Exception as error:  # noqa: BLE001 - as in `_inspect`
                why = f"it cannot be looked into ({type(error).__name__}: {error})"
                self._report(GuardFinding(directory.absolute, "", why, "protected"))
                continue
            for name in links:
                self._follow_symlink(directory, name)
            for name in names:
                if self._is_guarded(directory, name):
                    self._inspect(Subject(directory, name))
            if looks_bare(set(names)):
                self._inspect(Subject(directory, ""))
            inside = [directory.below(name) for name in below if name.casefold() != _GIT]
            remaining += inside if directory.is_entered else [each for each in inside if self._is_linked(each)]

    def _follow_symlink(self, directory: Directory, name: str) -> None:
        """Watch where a symlink leads that somebody may enter, if that is below a root.

        Those in node_modules and the like are many, and lead to their neighbours.
        """
        if not directory.is_entered or len(self._linked) >= _MAX_LINKED // 2:  # the others are for indexes
            return
        try:
            target = os.path.realpath(Subject(directory, name).path)
        except OSError:  # Python 3.11 raises if a link is exchanged meanwhile; what is there now causes another event
            return
        for root in self._roots:
            top = os.path.realpath(root.path)
            if target.startswith(f"{top}/"):
                self._link(Directory(root, ""), [target[len(top) + 1 :]])

    def _entries(self, directory: Directory) -> tuple[list[str], list[str], list[str]]:
        """All names in a directory, those of directories and those of links; from now on, new ones are reported."""
        with open_below(directory.root, directory.path) as descriptor:
            if descriptor is None:
                return [], [], []
            self._watch(descriptor, directory)
            try:
                with os.scandir(descriptor) as entries:
                    kinds = {entry.name: (entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries}
            except OSError:
                return [], [], []
        below = [name for name, (is_directory, _) in kinds.items() if is_directory]
        return list(kinds), below, [name for name, (_, is_link) in kinds.items() if is_link]

    def _watch(self, descriptor: int, spot: Spot) -> None:
        if self._inotify is None:
            return
        if len(self._spots) >= _MAX_WATCHES:
            self.scans = True
            return
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        try:
            watch = self._inotify.watch_content(descriptor) if is_file else self._inotify.watch_names(descriptor)
        except WatchLimitError:
            self.scans = True
        except OSError:
            return  # it is gone, or not for us
        else:
            spots = self._spots.setdefault(watch, {})
            spots.pop(spot, None)
            spots[spot] = None
            if len(spots) > _MAX_SPOTS_PER_WATCH:
                del spots[next(iter(spots))]

    def _inspect(self, subject: Subject, *, adopt: bool = False, released: bool = False) -> None:
        """Compare what is at a guarded name with what was there before, and act on what is worse.

        Whatever goes wrong is a finding: what a command makes must not end the guard.

        Args:
            subject: what to look at.
            adopt: take a harmless change of what was there before as the new state.
            released: no mount keeps it that could be taken away.
        """
        try:
            self._act_on(subject, adopt, released)
        except Exception as error:  # noqa: BLE001 - see above
            why = f"it cannot be inspected ({type(error).__name__}: {error}), remove it before you open the project"
            self._report(GuardFinding(subject.path, "", why, "protected"))

    def _act_on(self, subject: Subject, adopt: bool, released: bool) -> None:
        directory = subject.directory
        with open_below(directory.root, directory.path) as descriptor:
            if descriptor is None:
                return
            items = self._items(subject, descriptor)
            (self._subjects.add if have_content(items) else self._subjects.discard)(subject)
            if self._is_expected(subject):
                self._take_as_base(subject, items)
                return
            before = self._base.get(subject, {})
            harmful = [path for path in _harmful(before, items) if not self._is_kept(subject, path)]
            harmless = {
                path: item.after(before[path]) for path, item in items.items() if path in before and path not in harmful
            }
            self._remember(subject, {path: item for path, item in items.items() if not item.dangers})
            if adopt:
                before.update(harmless)
            elif any(item != before[path] for path, item in harmless.items()):
                self._changed.add(subject)
            for path in harmful:
                self._remove(subject, descriptor, path, before, items, released)
                if not path:  # the rest has gone with it
                    break

    def _remember(self, subject: Subject, harmless: Items) -> None:
        """Keep small files that are harmless, the last version of each."""
        small = {path: item for path, item in harmless.items() if 0 < len(item.content or b"") <= _MAX_REMEMBERED_BYTES}
        known = self._harmless.pop(subject, {})  # and back at the end: the oldest are forgotten first
        if len(kept := known | small) <= _MAX_REMEMBERED_FILES and kept:
            self._harmless[subject] = kept
        if len(self._harmless) > _MAX_REMEMBERED_SUBJECTS:
            del self._harmless[next(iter(self._harmless))]

    def _take_as_base(self, subject: Subject, items: Items) -> None:
        self._has_learned = True
        if items:
            self._base[subject] = items
        else:
            self._base.pop(subject, None)

    def _accept_item(self, subject: Subject, path: str, item: GuardedItem) -> None:
        self._has_learned = True
        self._base.setdefault(subject, {})[path] = item

    def _items(self, subject: Subject, directory: int) -> Items:
        """What is at a guarded name. What cannot be judged is dangerous as a whole."""
        try:
            return self._judged(subject, directory)
        except Exception as error:  # noqa: BLE001 - a command may have made it for that
            item = GuardedItem(
                frozenset({"cannot be judged"}), f"it cannot be judged ({type(error).__name__}: {error})"
            )
            heads = (name for name in names_in(directory) if name.casefold() == "head")  # without it, it is none
            return {"" if subject.name else next(heads, "HEAD"): item}

    def _judged(self, subject: Subject, directory: int) -> Items:
        def watch(descriptor: int, names: frozenset[str] | None) -> None:
            self._watch(descriptor, Inside(subject, names))

        if not subject.name:
            return bare_repository_items(
                directory, watch, lambda path: self._is_in_root(os.path.join(subject.path, path))
            )
        if is_judged_name(subject.name) and subject.path.casefold() not in self._named:
            return judged_items(directory, subject.name, watch)
        if not subject.is_git:
            return protected_items(directory, subject.name, watch)
        return repository_items(
            directory,
            subject.name,
            watch,
            lambda paths: self._link(subject.directory, paths),
            allowed=self._git_writable or subject.directory.depth > 0,
            is_known=lambda target: self._is_known(subject, target),
        )

    def _is_in_root(self, path: str) -> bool:
        """Whether a path, with all links followed, is in a writable directory."""
        return any(_contains(os.path.realpath(root.path), os.path.realpath(path)) for root in self._roots)

    def _is_known(self, subject: Subject, target: str) -> bool:
        """Whether a `.git` file points to a worktree or submodule of a `.git` where those are watched over."""
        try:
            target = os.path.realpath(os.path.join(os.path.dirname(subject.path), target))
        except ValueError:  # no path
            return False
        repository, _, inner = target.partition(f"/{_GIT}/")
        for root in self._roots:
            top = os.path.realpath(root.path)
            if _contains(top, repository):
                directory = Directory(root, repository[len(top) + 1 :])
                is_watched = directory.is_watched or self._is_linked(directory)
                return is_watched and _is_collected(inner)
        for elsewhere in self._elsewhere:
            top = os.path.realpath(elsewhere.path)
            if _contains(top, target):
                return _is_collected(target[len(top) + 1 :])
        return False

    def _is_expected(self, subject: Subject) -> bool:
        if subject in self._elsewhere:
            return any(path == root.path for path in self._expected for root in self._roots)
        return any(_contains(path, subject.path) or _contains(subject.path, path) for path in self._expected)

    def _remove(self, subject: Subject, directory: int, path: str, before: Items, items: Items, released: bool) -> None:
        """Move one item of a subject away and put back what was there before."""
        absolute = os.path.join(subject.path, path).rstrip("/")
        parent, _, name = os.path.join(subject.name, path).rstrip("/").rpartition("/")
        why, kind = items[path].reason, "git" if items[path].dangers == UNWANTED_REPOSITORY else "protected"
        kept = ""
        with open_below(RootDirectory(subject.directory.root.path, directory), parent) as descriptor:
            if descriptor is None:
                return
            versions = (items[path], before.get(path))
            if not any(item and item.has_other_names for item in versions) and self._held.holds(descriptor, name):
                self._accept_item(subject, path, items[path])  # since before any command ran: the user changed it
                return
            try:
                moved = move_away(descriptor, name)
            except MountedError:
                if not released:
                    self.stuck.add(subject)
                    return
                why += "; something is mounted there, so it could not be moved away: look at it before you go on"
                self._accept_item(subject, path, items[path])
            except OSError as error:
                why += f"; it could not be moved away ({error.strerror}), remove it before you open the project"
            else:
                if moved is None:
                    self._accept_item(subject, path, items[path])
                    return
                kept = os.path.join(os.path.dirname(absolute), moved)
                self._kept[kept] = _identity(kept)
                # Once only: what was harmless when it was remembered may be so no longer.
                if former := before.get(path) or self._harmless.get(subject, {}).pop(path, None):
                    restored = put_back(descriptor, name, former)
                    why += "; what was there before " + ("is back" if restored else "could not be put back")
        self._report(GuardFinding(absolute, kept, why, kind))

    def _is_kept(self, subject: Subject, path: str) -> bool:
        """Whether this, or what it is in, was moved away by this guard and has been there since."""
        absolute = os.path.join(subject.path, path)
        while len(absolute) > len(subject.path):
            if absolute in self._kept and self._kept[absolute] == _identity(absolute):
                return True
            absolute = os.path.dirname(absolute)
        return False

    def _is_guarded(self, directory: Directory, name: str) -> bool:
        folded = name.casefold()  # on some filesystems .GIT is .git
        is_known = folded in GUARDED_NAMES or folded.endswith(PROTECTED_ENDINGS)  # the others are many
        if is_known and (folded == _GIT or is_judged_name(name) or is_protected_name(name, directory.depth)):
            return True
        return bool(self._named) and Subject(directory, name).path.casefold() in self._named

    def _note(
        self, spot: Spot, happening: Happening, directories: dict[Directory, None], subjects: dict[Subject, None]
    ) -> None:
        """Note where to look because something happened at a watched place."""
        name = happening.name
        if isinstance(spot, Inside):
            if spot.names is None or name in spot.names:
                subjects[spot.subject] = None
            return
        if self._is_guarded(spot, name):
            subjects[Subject(spot, name)] = None
        elif name.casefold() in _BARE_MARKS:
            subjects[Subject(spot, "")] = None
        below = spot.below(name)
        if not happening.directory and os.path.islink(below.absolute):
            self._follow_symlink(spot, name)
        if happening.directory and name.casefold() != _GIT and (spot.is_entered or self._is_linked(below)):
            directories[below] = None

    def _report(self, finding: GuardFinding) -> None:
        self._count += 1
        if self._count <= _MAX_FINDINGS:
            self._findings.append(finding)
        else:
            self._more += 1


def _harmful(before: Items, items: Items) -> Sequence[str]:
    """Paths of the items that are more dangerous than what was there before."""
    known = len(before) < MAX_FILES  # else not everything of it was noted
    return sorted(
        path
        for path, item in items.items()
        if (item.dangers - before[path].dangers if path in before else known and item.dangers)
    )


def _digests(item: GuardedItem) -> frozenset[str]:
    return frozenset(
        hashlib.sha256(danger.encode("utf-8", "backslashreplace")).hexdigest()[:32] for danger in item.dangers
    )


def _is_collected(inner: str) -> bool:
    """Whether a path in a git directory is that of a worktree or submodule that is looked at.

    What the guard keeps in there is not.
    """
    kind, *names = inner.split("/")
    is_near = len(names) <= MAX_MODULE_DEPTH and not any(map(is_kept_name, names))
    return kind in ("modules", "worktrees") and is_near


def _identity(path: str) -> tuple[int, int] | None:
    """Device and inode of what is at a path."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _contains(path: str, below: str) -> bool:
    return below == path or below.startswith(path.rstrip("/") + "/")


def _open_root(path: str) -> RootDirectory | None:
    try:
        return RootDirectory(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError:
        return None
