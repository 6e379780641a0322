"""Knows the project: looks at everything once, then only where the kernel says that something happened.

Events are hints where to look. Where there are none, or too many, everything is looked at again; files whose `stat` is
the same are not read then.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from kaa.hands.checkpoints.backlog import BYTES_AT_ONCE, EVERYTHING, NAMES_AT_ONCE, Backlog, Portion, join
from kaa.hands.checkpoints.manifest import StateManifest
from kaa.hands.checkpoints.roots import Nearby, Roots
from kaa.hands.checkpoints.rules import ScanLimits, ScanRules, covers_name, covers_path, reads_ignore_file
from kaa.hands.checkpoints.states import Row, State, is_known, is_unchanged, look
from kaa.hands.checkpoints.survey import FilesToRead, survey
from kaa.hands.inotify import Inotify, WatchLimitError

# More places than this to look at again are no better than all.
_MAX_DIRTY_NAMES = 100_000
_ITSELF = "."  # the name of a root in itself: only its mode is covered


class Tracker:
    """The files below some directories.

    Args:
        roots: the directories, the project first.
        inotify: tells where to look; None: everything is looked at every time.
        limits: of everything together.
        first: how much is read in `begin`; the rest is left for `read_more`.

    Attributes:
        inotify: None from when there were no watches left.
    """

    def __init__(
        self,
        roots: Roots,
        inotify: Inotify | None,
        limits: ScanLimits,
        keep: Callable[[bytes], None],
        first: Portion = EVERYTHING,
    ) -> None:
        self.roots = roots
        self.inotify = inotify
        self._keep = keep
        self._manifest = StateManifest()
        self._limits = limits
        self._rules = ScanRules(limits)
        self._entered: dict[str, int | None] = {}  # directories that are covered, and their watches
        self._watched: dict[int, str] = {}
        self._incomplete: set[str] = set()  # here, names that were not known may have been there before
        self._noted: set[str] = set()
        self._dirty: dict[str, set[str]] = {}
        self._dirty_names = 0
        self._put: set[str] = set()  # files that were put back, and of which the kernel has not told yet
        self._overflowed = False
        self._begun = False
        self._backlog = Backlog(
            roots, self._manifest, self._rules, keep, self.listen, lambda: self._dirty, self._incomplete, first
        )
        self._was_partial = False  # files that the manifest does not know may have been there all along

    @property
    def uncovered(self) -> dict[str, int]:
        """How many files or directories each rule left out."""
        unread = {"unread": self._backlog.count} if self._backlog.count else {}
        return {**self._rules.uncovered, **unread}

    def begin(self, manifest: bytes) -> Iterator[None]:
        """Look at everything, a little at a time, beginning with the first step; what was known holds at once.

        Raises:
            WireError: the manifest is none.
        """
        self._manifest.load(manifest)  # not with the first step: a file may be noted before that
        root = self._manifest.get(_ITSELF)
        self._was_partial = root is not None and root.size > 0
        self._backlog.begin(time.time_ns())
        return self._look_at_first()

    def read_more(self, portion: Portion, max_bytes: int) -> Iterator[None]:
        """Read a portion of the files that nobody has read, a little at a time.

        `take_learned` gives those that are left from `begin`, `take_completed` those that were made since.

        Args:
            max_bytes: of all that is known, above which nothing is read that was there before; 0: none.
        """
        yield from self._backlog.read_more(portion, max_bytes)
        self._mark()

    def take_learned(self) -> list[Row]:
        """What `read_more` found since the last time: path, state."""
        return self._manifest.take_learned()

    def take_completed(self) -> list[Row]:
        """What was read since the last time of files that changes told before have as `unread`: path, state."""
        return self._manifest.take_completed()

    def extent(self) -> FilesToRead:
        """What is still to be read before everything is known."""
        return survey(self.roots, ScanRules(self._limits), self._manifest)

    def note(self, path: str) -> str:
        """Take in what is at an absolute path, or that nothing is there, before somebody changes it.

        Returns what the path is called here; "" if nothing is ever covered there.
        """
        found = self.roots.name_of(os.path.realpath(path))
        if found is None or not covers_path(found):
            return ""
        self._note(found)
        return found

    def _note(self, found: str) -> None:
        start = self.roots.start_of(found)
        directory = start
        for name in found[len(start) :].strip("/").split("/"):
            at = join(directory, name)
            with self.roots.opened(directory) as descriptor:
                if descriptor is None:
                    return
                if at in self._backlog:  # before a look, which changes the ctime of a closed file
                    self._backlog.learn(descriptor, directory, name)
                seen = look(descriptor, name, self._manifest.get(at))
            if seen.state is None or seen.state.kind != "directory":
                if directory not in self._entered and at not in self._noted:  # else it is seen when it changes
                    self._noted.add(at)
                    if seen.content is not None:
                        self._keep(seen.content)
                    note = self._manifest.assume if self._begun else self._manifest.set
                    note(at, seen.state)
                return
            directory = at

    def collect(self, portion: Portion = EVERYTHING) -> list[Row]:
        """What differs from what was said the last time: path, state before, state after. See `look_again`."""
        self.look_again(portion)
        return self._manifest.take_changes()

    def look_again(self, portion: Portion = EVERYTHING) -> None:
        """Take in what happened; `collect` tells it.

        Args:
            portion: how much is read of new files. The others are told as `unread` and read later: by `read_more`, or
                by a look that reads everything.
        """
        self.listen()
        self._put.clear()
        self._backlog.begin_again(portion)
        if self.inotify is None or self._overflowed:
            self._overflowed = False
            for _ in self._look_everywhere():
                pass
        dirty, self._dirty, self._dirty_names = self._dirty, {}, 0
        for path in self._noted:
            directory, _, name = path.rpartition("/")
            dirty.setdefault(directory, set()).add(name)
        for directory, names in dirty.items():
            self._look_at_names(directory, names)
        if not portion.files:
            for directory, changed in self._backlog.read_made():
                self._look_at_names(directory, changed)
        # From now on, events tell of those in directories that are covered.
        self._noted = {path for path in self._noted if path.rpartition("/")[0] not in self._entered}

    def covers(self, directory: str) -> bool:
        """Whether what is in a directory is covered, but for single files."""
        return directory in self._entered

    def has(self, path: str, status: os.stat_result) -> bool:
        """Whether the content of a file, as `stat` describes it, is kept, and is from now on.

        Not of a file in a directory that is not covered: it was kept once, and nobody tells when it changes.
        """
        if path in self._backlog and not self._backlog.keeps(path, status):
            return False
        if path.rpartition("/")[0] not in self._entered:
            return False
        if path in self._backlog:
            return True
        known = self._manifest.get(path)
        if known is None or known.kind not in ("file", "symlink"):
            return False
        return is_known(status, known) or (not known.stamp and known.size == status.st_size)

    def differs(self, path: str) -> bool:
        """Whether a path is not what it was when changes were last told."""
        return self._manifest.differs(path)

    def take_changes(self) -> list[Row]:
        """The same for what has been looked at so far."""
        return self._manifest.take_changes()

    def expect(self, path: str, state: State | None) -> None:
        """Know what just got the name of a file that is covered: it need not be read if nothing else happens to it."""
        known = self._manifest.get(path)
        if known is not None and known.kind == "file" and state is not None and state.kind == "file":
            self._backlog.remove(path)
            self._manifest.set(path, state)
            self._put.add(path)

    def with_stamp(self, path: str, state: State | None) -> State | None:
        """The state with the stamp by which `stat` tells that it still is at a path, if that is known."""
        known = self._manifest.get(path)
        return known if known is not None and known.same_as(state) else state

    def states(self, paths: Sequence[str]) -> tuple[list[State | None], list[str]]:
        """What is at some paths now, whether they are covered or not, and where nobody can tell. Everything is read."""
        found = list[State | None]()
        unknown = list[str]()
        nearby = Nearby(self.roots.opened)
        for path in paths:
            directory, _, name = path.rpartition("/")
            if self.roots.is_root(path):
                state: State | None = self.roots.itself(directory)[1]
            elif (descriptor := nearby.opened(directory)) is not None:
                if path in self._backlog:  # before a look, as in `note`
                    self._backlog.learn(descriptor, directory, name)
                state = look(descriptor, name).state
            else:
                state = None
                if not self.roots.is_gone(directory):
                    unknown.append(path)
            if state is not None and self.with_stamp(path, state) is not state:
                self._manifest.assume(path, state)  # its stamp is newer
            found.append(state)
        nearby.forget()
        return found, unknown

    def listen(self) -> None:
        """Note where something happened, so that the kernel's queue does not run over."""
        while self.inotify is not None and (happenings := self.inotify.take()):
            for happening in happenings:
                if happening.watch < 0:
                    self._overflowed = True
                elif happening.over:  # another directory may have its name by now, and even its inode
                    gone = self._watched.pop(happening.watch, None)
                    if gone is not None and self._entered.get(gone) == happening.watch:
                        del self._entered[gone]
                elif (directory := self._watched.get(happening.watch)) is None:
                    continue
                elif not happening.name and directory in self.roots.starts:
                    self._dirty.setdefault(directory, set()).add(_ITSELF)
                elif covers_name(happening.name):
                    path = join(directory, happening.name)
                    if happening.arrived and path in self._put:
                        self._put.remove(path)  # the next time it is somebody else
                        continue
                    self._dirty.setdefault(directory, set()).add(happening.name)
                    self._dirty_names += 1
            if self._dirty_names > _MAX_DIRTY_NAMES:
                self._overflowed = True
                self._dirty, self._dirty_names = {}, 0

    def _look_at_first(self) -> Iterator[None]:
        yield from self._look_everywhere()
        yield from self._backlog.read_first(self._see)
        self._begun = True
        self._mark()

    def _mark(self) -> None:
        """Tell later sessions whether files may be there that the manifest does not know."""
        root = self._manifest.get(_ITSELF)
        if root is not None:
            self._manifest.set(_ITSELF, self._marked(_ITSELF, root))

    def _marked(self, path: str, root: State) -> State:
        is_partial = path == _ITSELF and (self._backlog.is_partial or (self._was_partial and not self._begun))
        return root._replace(size=int(is_partial))

    def _see_root(self, directory: str) -> None:
        """Look at the mode of a root, which may not be open meanwhile: it may have more rights then."""
        path = join(directory, _ITSELF)
        self._manifest.set(path, self._marked(path, self.roots.itself(directory)[1]))

    def _look_everywhere(self) -> Iterator[None]:
        self._rules.reset()
        for start in self.roots.starts:
            yield from self._scan(start, None)

    def _scan(self, directory: str, parent: str | None) -> Iterator[None]:
        """Look at everything in a directory and below it."""
        remaining: deque[tuple[str, str | None]] = deque([(directory, parent)])
        while remaining:
            directory, parent = remaining.popleft()  # data sets and caches are deeper than what people write
            with self.roots.opened(directory) as descriptor:
                if descriptor is None:
                    self._rules.uncovered["unreadable"] += not self.roots.is_gone(directory)
                    self._incomplete.add(directory)
                    continue
                for below in self._scan_names(directory, parent, descriptor):
                    if below is None:
                        yield
                    else:
                        remaining.append((below, directory))
            if parent is None:
                self._see_root(directory)
            yield

    def _scan_names(self, directory: str, parent: str | None, descriptor: int) -> Iterator[str | None]:
        """Look at the names in a directory: gives the directories among them, and None now and then."""
        watch = self._watch(directory, descriptor)  # first: what comes after it is told
        try:
            with os.scandir(descriptor) as found:
                entries = {entry.name: entry for entry in found}
        except OSError:
            entries = None
        if entries is None or (watch is None and self.inotify is not None):
            self._rules.uncovered["unreadable"] += 1
            self._incomplete.add(directory)
            return
        names = frozenset(entries)
        ignore_file = reads_ignore_file(names)
        rules = look(descriptor, ignore_file).content if ignore_file else None
        foreign = os.fstat(descriptor).st_dev != self.roots.device_of(directory)
        if foreign or not self._rules.enter(directory, parent, names, rules):
            self._rules.uncovered["mounted"] += foreign
            self._incomplete.add(directory)
            self._leave(directory)
            self._forget(directory)
            return
        for gone in {*self._manifest.names(directory), *self._backlog.names(directory)} - names - {_ITSELF}:
            if (path := join(directory, gone)) not in self._noted:
                self._backlog.miss(path)
                self._take_in(path, None, None)
        bytes_before = self._manifest.bytes
        noted = {path.rpartition("/")[2] for path in self._noted if path.rpartition("/")[0] == directory}
        chosen = (
            self._names_again(directory, descriptor, names - noted)
            if self._begun
            else self._backlog.choose(directory, entries, noted)
        )
        for number, name in enumerate(chosen, 1):
            if self._see(descriptor, directory, name):
                yield join(directory, name)
            if number % NAMES_AT_ONCE == 0 or self._manifest.bytes - bytes_before > BYTES_AT_ONCE:
                bytes_before = self._manifest.bytes
                yield None
        self._entered[directory] = watch

    def _names_again(self, directory: str, descriptor: int, names: Iterable[str]) -> Iterator[str]:
        """Choose the names that are looked at later: all, but for files that have not been read and are the same."""
        for name in names:
            if not self._backlog.is_as_it_was(descriptor, directory, name):
                self._backlog.miss(join(directory, name), descriptor)
                yield name

    def _look_at_names(self, directory: str, names: set[str]) -> None:
        """Look at some names in a directory, and at everything in directories that are new."""
        if _ITSELF in names:
            names.remove(_ITSELF)
            self._see_root(directory)
        with self.roots.opened(directory) as descriptor:
            if descriptor is None and not self.roots.is_gone(directory):
                self._dirty.setdefault(directory, set()).update(names)  # nobody can tell what they are: later, perhaps
                return
            for name in names:
                self._backlog.miss(join(directory, name), descriptor)
            if descriptor is None:
                names = {name for name in names if self._manifest.get(join(directory, name)) is not None}
                for name in names:
                    self._take_in(join(directory, name), None, None)
                return
            if directory not in self._entered and not any(join(directory, name) in self._noted for name in names):
                return
            new = [
                join(directory, name)
                for name in names
                if self._see(descriptor, directory, name, trusting=False) and join(directory, name) not in self._entered
            ]
        for path in new:
            for _ in self._scan(path, directory):
                pass

    def _see(self, descriptor: int, directory: str, name: str, *, trusting: bool = True) -> bool:
        """Look at a name; whether it is a directory to go into.

        Args:
            trusting: a file that `stat` says is the same need not be read.
        """
        if not covers_name(name):
            return False
        path = join(directory, name)
        known = self._manifest.get(path)
        if trusting and known is not None and known.kind == "file" and is_unchanged(descriptor, name, known):
            return False  # as most are in a project that was looked at before
        if known is None and self._begun and self._backlog.defers(descriptor, directory, name):
            return False
        limit = self._rules.max_bytes(directory, path, *self._manifest.besides(known))
        seen = look(descriptor, name, known if trusting else None, limit)
        if seen.state is None:
            self._take_in(path, None, None)
            return False
        if seen.state.kind == "directory":
            if not self._rules.covers_directory(directory, path):
                self._leave(path)
                self._forget(path)
                return False
            if self._begun and known is not None and known.kind == "directory" and known.stamp != seen.state.stamp:
                self._take_in(path, None, None)  # another one of the same name
            if known is not None or directory not in self._incomplete:
                self._take_in(path, seen.state, None)
            return True
        if seen.state.kind in ("other", "special") and (known is None or trusting):
            self._rules.leave_out(limit, seen.state.size)
        if limit < 0 and known is None:
            self._incomplete.add(directory)
        elif known is not None or directory not in self._incomplete:
            self._take_in(path, seen.state, seen.content)
        return False

    def _take_in(self, path: str, state: State | None, content: bytes | None) -> None:
        """Note what is at a path now, and that nothing can be below what is no directory."""
        known = self._manifest.get(path)
        if known is None and state is not None and self._was_partial and not self._begun and state.kind != "directory":
            if content is not None:
                self._keep(content)
            self._manifest.learn(path, state)
            return
        if known is not None and known.kind == "directory" and (state is None or state.kind != "directory"):
            for unread in self._backlog.below(path):
                self._backlog.miss(unread)
            for below in tuple(self._manifest.below(path)):
                self._manifest.set(below, None)
            self._leave(path)
            # In place: the backlog adds to it, too.
            self._incomplete -= {each for each in self._incomplete if each == path or each.startswith(path + "/")}
        if content is not None and (known is None or state is None or known.digest != state.digest):
            self._keep(content)  # else the brain has it
            if known is None and self._begun:
                self._backlog.spend(len(content))
        self._manifest.set(path, state)

    def _watch(self, directory: str, descriptor: int) -> int | None:
        if self.inotify is None:
            return None
        try:
            watch = self.inotify.watch_entries(descriptor)
        except WatchLimitError:
            self.inotify.close()
            self.inotify = None
            return None
        except OSError:  # it is gone
            return None
        self._watched[watch] = directory
        return watch

    def _forget(self, directory: str) -> None:
        """Know nothing any more of what is in a directory, but for what was noted."""
        for path in self._backlog.below(directory):
            self._backlog.remove(path)
        self._manifest.forget(directory, self._noted)

    def _leave(self, directory: str) -> None:
        """Watch a directory and those below it no longer."""
        if directory not in self._entered:
            return
        prefix = directory + "/"
        for path in [path for path in self._entered if path == directory or path.startswith(prefix)]:
            watch = self._entered.pop(path)
            # One that was renamed has the same watch under its new name.
            if self.inotify is not None and watch is not None and self._watched.get(watch) == path:
                del self._watched[watch]
                self.inotify.forget(watch)
