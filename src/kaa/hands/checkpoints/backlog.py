"""Files that are there and that nobody has read yet, as they were too many at once. They are read later, in portions.

Those of the first look are not in the manifest. Such a file is what it was as long as its ctime is older than the look;
when it changes before somebody has read it, nobody knows what it was: its state is `UNREAD`.

Those that were made since are in the manifest, of the kind `unread` and with their stamp, and count as made: as long as
the stamp is the same, what is read later is what was made.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from kaa.hands.checkpoints.manifest import StateManifest
from kaa.hands.checkpoints.roots import Roots
from kaa.hands.checkpoints.rules import ScanRules, covers_name
from kaa.hands.checkpoints.states import FRESH_NS, State, is_known, is_unchanged, look, unread_state

UNREAD = State("unread")
# A file that is known from an earlier session is only compared by `stat`, which takes a tenth of the time.
_COMPARED_AT_THE_COST_OF_ONE = 10
# Between which somebody else may ask for something.
NAMES_AT_ONCE = 100
BYTES_AT_ONCE = 4 * 1024 * 1024
# Of the files of one directory, so many are read before those of others: data sets and caches have many in each.
_FIRST_OF_DIRECTORY = 200
# Files that are read because a command is going to remove them; beyond that, they count as not kept.
_READ_ON_DEMAND = 500


class Portion(NamedTuple):
    """How much is read in one go. `files` 0: everything."""

    files: int = 0
    bytes: int = 0


EVERYTHING = Portion()


class SpentPortion:
    """What has been read of a portion.

    Args:
        portion: all that may be read.
    """

    def __init__(self, portion: Portion) -> None:
        self._portion = portion
        self._compared = 0
        self._files = 0
        self._bytes = 0

    @property
    def is_over(self) -> bool:
        """Whether nothing is left of the portion."""
        if not self._portion.files:
            return False
        files = self._files + self._compared // _COMPARED_AT_THE_COST_OF_ONE
        return files >= self._portion.files or self._bytes >= self._portion.bytes

    def compare(self) -> None:
        """Count a file that was not read, as it is known."""
        self._compared += 1

    def read(self, size: int) -> None:
        """Count a file that was read, of so many bytes."""
        self._files += 1
        self._bytes += size


class Unread:
    """The paths of files that were not read."""

    def __init__(self) -> None:
        self.count = 0
        self._names: dict[str, set[str]] = {}

    def __contains__(self, path: str) -> bool:
        directory, _, name = path.rpartition("/")
        return name in self._names.get(directory, ())

    def add(self, directory: str, names: Collection[str]) -> None:
        """Note files in a directory that are not read now."""
        known = self._names.setdefault(directory, set())
        before = len(known)
        known.update(names)
        self.count += len(known) - before

    def remove(self, path: str) -> None:
        """Forget one: it was read, or is not what it was."""
        directory, _, name = path.rpartition("/")
        names = self._names.get(directory, set())
        if name in names:
            names.remove(name)
            self.count -= 1
        if not names:
            self._names.pop(directory, None)

    def names(self, directory: str) -> tuple[str, ...]:
        return tuple(self._names.get(directory, ()))

    def below(self, directory: str) -> list[str]:
        prefix = directory + "/"
        return [
            f"{parent}/{name}" if parent else name
            for parent in [each for each in self._names if each == directory or each.startswith(prefix)]
            for name in self._names[parent]
        ]

    def directories(self) -> Iterator[str]:
        """The directories, those with the fewest files first: data sets and caches have many in each."""
        yield from sorted(self._names, key=lambda directory: (len(self._names[directory]), directory))


def is_older(descriptor: int, name: str, moment: int) -> bool:
    """Whether a name in an open directory is there and was last changed before a moment (Unix time, nanoseconds)."""
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_ctime_ns < moment - FRESH_NS
    except OSError:
        return False


class Backlog:
    """The files that nobody has read, and how much may be read now.

    Args:
        manifest: what is known of everything else.
        happened: gives the names to which something happened since the last look, by directory.
        incomplete: gets directories in which names that are not known may have been there before.
        first: how much is read in the first look.
    """

    def __init__(
        self,
        roots: Roots,
        manifest: StateManifest,
        rules: ScanRules,
        keep: Callable[[bytes], None],
        listen: Callable[[], None],
        happened: Callable[[], Mapping[str, set[str]]],
        incomplete: set[str],
        first: Portion,
    ) -> None:
        self._roots = roots
        self._manifest = manifest
        self._rules = rules
        self._keep = keep
        self._listen = listen
        self._happened = happened
        self._incomplete = incomplete
        self._spending = SpentPortion(first)
        self._found = Unread()
        self._made = Unread()
        self._since = 0  # when the first look began: Unix time in nanoseconds
        self._on_demand = 0

    @property
    def count(self) -> int:
        return self._found.count + self._made.count

    @property
    def is_partial(self) -> bool:
        """Whether files are there that the manifest does not know."""
        return self._found.count > 0

    def __contains__(self, path: str) -> bool:
        return path in self._found or path in self._made

    def begin(self, now: int) -> None:
        """The first look begins. `now`: Unix time in nanoseconds."""
        self._since = now

    def begin_again(self, portion: Portion) -> None:
        """A later look begins, which reads so much of what was made since."""
        self._spending = SpentPortion(portion)
        self._on_demand = 0

    def choose(self, directory: str, entries: Mapping[str, "os.DirEntry[str]"], noted: set[str]) -> Iterator[str]:
        """Choose the names that are read in the first look: all, but for files that have time.

        Args:
            entries: what is in it, by name.
        """
        names = entries.keys() - noted
        if self._spending.is_over:
            files = {name for name in names if covers_name(name) and not _is_directory(entries[name])}
            self._found.add(directory, files)
            names = names - files
        read = 0
        for name in names:
            is_file = not _is_directory(entries[name])
            if is_file and (read >= _FIRST_OF_DIRECTORY or self._spending.is_over):
                self._found.add(directory, [name] if covers_name(name) else [])
                continue
            path = join(directory, name)
            known = self._manifest.get(path)
            yield name
            if is_file:
                self._count(self._spending, path, known)
                read += known is None

    def read_first(self, see: Callable[[int, str, str], object]) -> Iterator[None]:
        """Have the tracker see what is left of the portion of the first look, a little at a time.

        Args:
            see: gets the descriptor of a directory, its path, and a name in it.
        """
        for directory in self._found.directories():
            if self._spending.is_over:
                break
            yield from self._read_in(self._found, directory, self._spending, see)

    def read_more(self, portion: Portion, max_bytes: int) -> Iterator[None]:
        """Read a portion, a little at a time: what was made since comes first.

        Args:
            max_bytes: of all that is known, above which nothing is read that was there before; 0: none.
        """
        spending = SpentPortion(portion)
        for directory in self._made.directories():
            yield from self._read_in(self._made, directory, spending)
        for directory in self._found.directories():
            if spending.is_over or 0 < max_bytes <= self._manifest.bytes:
                break
            yield from self._read_in(self._found, directory, spending)

    def read_made(self) -> Iterator[tuple[str, set[str]]]:
        """Read all that was made since. Gives the names, by directory, that have changed and are to be looked at."""
        for directory in self._made.directories():
            for _ in self._read_in(self._made, directory, SpentPortion(Portion())):
                pass
            changed = set(self._made.names(directory))
            if changed and not self._is_closed(directory):
                for name in changed:
                    self._made.remove(join(directory, name))
                yield directory, changed

    def defers(self, descriptor: int, directory: str, name: str) -> bool:
        """Whether a new file is read later, as the portion is used up; then it counts as made, by its stamp."""
        if not self._spending.is_over or directory in self._incomplete:
            return False
        path = join(directory, name)
        state = unread_state(descriptor, name)
        # One that may change without a sign is read at once, and one of which a look changes the ctime.
        if state is None or not state.stamp or not state.mode & stat.S_IRUSR:
            return False
        files, size = self._manifest.besides(None)
        if state.size > self._rules.max_bytes(directory, path, files + self._made.count, size):
            return False
        self._manifest.set(path, state)
        self._made.add(directory, [name])
        return True

    def spend(self, size: int) -> None:
        """Count a new file that was read."""
        self._spending.read(size)

    def is_as_it_was(self, descriptor: int, directory: str, name: str) -> bool:
        """Whether a name in an open directory is of a file that nobody has read, and that is the same."""
        path = join(directory, name)
        if path in self._found:
            return is_older(descriptor, name, self._since)
        known = self._manifest.get(path)
        return path in self._made and known is not None and is_unchanged(descriptor, name, known)

    def learn(self, descriptor: int, directory: str, name: str) -> bool:
        """Read a file; False if it has changed since it was found or made."""
        path = join(directory, name)
        known = self._manifest.get(path)
        if not self.is_as_it_was(descriptor, directory, name):
            return False
        was_made = path in self._made
        limit = self._rules.max_bytes(directory, path, *self._manifest.besides(known))
        state, content, was_closed = look(descriptor, name, None if was_made else known, limit)
        self._listen()
        is_same = self.is_as_it_was(descriptor, directory, name) and name not in self._happened().get(directory, ())
        if state is None or not (is_same or was_closed):  # of one that was closed, the look itself tells a change
            return False
        self.remove(path)
        if state.kind in ("other", "special"):
            self._rules.leave_out(limit, state.size)
        if was_made:
            if content is not None:
                self._keep(content)
            self._manifest.complete(path, state)
        elif limit < 0 and known is None:
            self._incomplete.add(directory)
        elif state is not known:
            if content is not None and (known is None or known.digest != state.digest):
                self._keep(content)
            self._manifest.learn(path, state)
        return True

    def keeps(self, path: str, status: os.stat_result) -> bool:
        """Whether the content of one of these files, as `stat` describes it, is kept before somebody removes it.

        What was made since is removed by whoever made it: nothing would restore it, read or not.
        """
        if path in self._made:
            return is_known(status, self._manifest.get(path))
        self._on_demand += 1
        if self._on_demand > _READ_ON_DEMAND:
            return False
        directory, _, name = path.rpartition("/")
        with self._roots.opened(directory) as descriptor:
            return descriptor is not None and self.learn(descriptor, directory, name)

    def miss(self, path: str, descriptor: int | None = None) -> None:
        """Something happened to a path, or it is gone: if it was not read, nobody knows any more what it was.

        Args:
            path: of what may be unread.
            descriptor: of its directory, if that is there: nothing of what is in the file may have changed.
        """
        if path not in self:
            return
        directory, _, name = path.rpartition("/")
        self._happened().get(directory, set()).discard(name)  # that is what we deal with
        if descriptor is not None and self.learn(descriptor, directory, name):
            return
        if path in self._found:
            self._manifest.assume(path, UNREAD)
        self.remove(path)

    def remove(self, path: str) -> None:
        """Forget one: it was read, or is not what it was."""
        self._found.remove(path)
        self._made.remove(path)

    def names(self, directory: str) -> tuple[str, ...]:
        return (*self._found.names(directory), *self._made.names(directory))

    def below(self, directory: str) -> list[str]:
        return [*self._found.below(directory), *self._made.below(directory)]

    def _is_closed(self, directory: str) -> bool:
        """Whether another user has closed a directory: what is in it may be the same, and is read later."""
        with self._roots.opened(directory) as descriptor:
            return descriptor is None and not self._roots.is_gone(directory)

    def _read_in(
        self,
        unread: Unread,
        directory: str,
        spending: SpentPortion,
        see: Callable[[int, str, str], object] | None = None,
    ) -> Iterator[None]:
        """Read the files in a directory, as far as the portion goes."""
        with self._roots.opened(directory) as descriptor:
            if descriptor is None:
                return
            bytes_before = self._manifest.bytes
            for number, name in enumerate(unread.names(directory), 1):
                path = join(directory, name)
                if spending.is_over:
                    return
                if path not in unread:  # it was read, or it changed, while others asked for something
                    continue
                known = self._manifest.get(path)
                if see is None:
                    self.learn(descriptor, directory, name)
                else:
                    unread.remove(path)
                    see(descriptor, directory, name)
                self._count(spending, path, known)
                if number % NAMES_AT_ONCE == 0 or self._manifest.bytes - bytes_before > BYTES_AT_ONCE:
                    bytes_before = self._manifest.bytes
                    yield

    def _count(self, spending: SpentPortion, path: str, known: State | None) -> None:
        """Count a file that was looked at. `known`: what was known of it before."""
        state = self._manifest.get(path)
        if state is None or state is known:
            spending.compare()
        else:
            spending.read(state.size)


def join(directory: str, name: str) -> str:
    """The path of a name in a directory; that of a root is empty."""
    return f"{directory}/{name}" if directory else name


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:  # it is gone
        return False
