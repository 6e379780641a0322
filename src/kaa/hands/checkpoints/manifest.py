"""Everything that is known of the project: the state of each name, directory by directory."""

import json
from collections.abc import Collection, Iterable, Iterator

from kaa.hands.checkpoints.states import Row, State
from kaa.hands.wire import WireError


class StateManifest:
    """The last known states, and what changed since they were asked for.

    Attributes:
        files: how many contents are known.
    """

    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0
        self._directories: dict[str, dict[str, State]] = {}
        self._changes: dict[str, tuple[State | None, State | None]] = {}
        self._learned: list[Row] = []
        self._completed: list[Row] = []

    def load(self, lines: bytes) -> None:
        """Take over what was known before; none of it is a change.

        Raises:
            WireError: it is no manifest.
        """
        try:
            for line in lines.splitlines():
                for path, row in json.loads(line):
                    state = _parse(row)
                    self._put(path, None if state is not None and state.kind == "unread" else state)
        except (ValueError, TypeError) as error:
            raise WireError(f"the manifest cannot be read: {error}") from error

    def get(self, path: str) -> State | None:
        """What is known to be at a path."""
        directory, _, name = path.rpartition("/")
        return self._directories.get(directory, {}).get(name)

    def names(self, directory: str) -> Iterable[str]:
        """The names known in a directory."""
        return tuple(self._directories.get(directory, ()))

    def set(self, path: str, state: State | None) -> None:
        """Note what is at a path now."""
        before = self.get(path)
        if before == state:
            return
        if path in self._changes:
            before = self._changes[path][0]
        self._changes[path] = (before, state)
        self._put(path, state)

    def assume(self, path: str, state: State | None) -> None:
        """Take what is at a path as known all along: it only was not looked at before."""
        self._put(path, state)

    def learn(self, path: str, state: State) -> None:
        """The same, to be kept for later sessions: `take_learned` gives it."""
        self._put(path, state)
        self._learned.append([path, list(state)])

    def complete(self, path: str, state: State) -> None:
        """Know the content of a file that was taken for made before it was read: the change has this state."""
        self._put(path, state)
        if path in self._changes:
            self._changes[path] = (self._changes[path][0], state)
        else:
            self._completed.append([path, list(state)])

    def take_completed(self) -> list[Row]:
        """What was completed since the last time, of changes that were taken before: path, state."""
        completed, self._completed = self._completed, []
        return completed

    def take_learned(self) -> list[Row]:
        """What was learned since the last time: path, state."""
        learned, self._learned = self._learned, []
        return learned

    def besides(self, known: State | None) -> tuple[int, int]:
        """How many contents are known besides one, and their bytes. `known`: the state of that one."""
        if known is None or known.kind not in ("file", "symlink"):
            return self.files, self.bytes
        return self.files - 1, self.bytes - known.size

    def below(self, directory: str) -> Iterator[str]:
        """All paths known below a directory."""
        if directory not in self._directories:
            return
        prefix = directory + "/"
        for parent in [parent for parent in self._directories if parent == directory or parent.startswith(prefix)]:
            for name in self.names(parent):
                yield f"{parent}/{name}" if parent else name

    def forget(self, directory: str, but: Collection[str]) -> None:
        """Know nothing any more of what is in a directory, but for some paths; it is no change of it."""
        for path in tuple(self.below(directory)):
            if path not in but:
                self._put(path, None)
                self._changes.pop(path, None)

    def differs(self, path: str) -> bool:
        """Whether a path is not what it was when the changes were last taken."""
        before, after = self._changes.get(path, (None, None))
        return before is not after and (after is None or not after.same_as(before))

    def take_changes(self) -> list[Row]:
        """What changed since the last time, as rows. A row without a difference that matters has a fresh stamp."""
        changes, self._changes = self._changes, {}
        return [[path, row_of(before), row_of(after)] for path, (before, after) in changes.items() if before != after]

    def _put(self, path: str, state: State | None) -> None:
        directory, _, name = path.rpartition("/")
        names = self._directories.setdefault(directory, {})
        if name in names:
            self._count(names.pop(name), -1)
        self._count(state, 1)
        if state is not None:
            names[name] = state
        elif not names:
            del self._directories[directory]

    def _count(self, state: State | None, sign: int) -> None:
        if state is not None and state.kind in ("file", "symlink"):
            self.files += sign
            self.bytes += sign * state.size


def row_of(state: State | None) -> Row | None:
    """A state as it is sent."""
    return None if state is None else list(state)


def state_of(row: object) -> State | None:
    """The inverse.

    Raises:
        WireError: it is no state.
    """
    try:
        return None if row is None else _parse(row)
    except TypeError as error:
        raise WireError(f"{row!r} is no state") from error


def _parse(row: object) -> State | None:
    if row is None:
        return None
    if not isinstance(row, list):
        raise TypeError(f"{row!r} is no row")
    kind, digest, mode, size, stamp = row
    if not (isinstance(kind, str) and isinstance(digest, str) and isinstance(stamp, str)):
        raise TypeError(f"{row!r} is no row")
    if not (isinstance(mode, int) and isinstance(size, int)):
        raise TypeError(f"{row!r} is no row")
    return State(kind, digest, mode, size, stamp)
