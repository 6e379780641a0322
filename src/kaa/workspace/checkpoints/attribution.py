"""Whose doing a change is, as far as the time at which it happened tells.

What changes while a call of a tool runs is the call's: of one that can change a single file only that file, of a
command everything. What changes while only a background process runs may be that process's. All else is somebody
else's: an editor, git by hand, a server that kaa did not start.
"""

from collections.abc import Iterable
from typing import Final

from kaa.workspace.checkpoints.contract import FileChange, FileState, Origin, StateRow, is_same, least_certain

ChangeRow = tuple[str, StateRow | None, StateRow | None]
_STAMP: Final = 4  # its place in a `StateRow`


class TurnRecord:
    """What happened since a turn began, in the order in which it was seen.

    Attributes:
        in_background: whether a process that kaa started runs although no call does.
    """

    def __init__(self) -> None:
        self.in_background = False
        self._running: set[str] = set()
        self._names: set[str | None] = set()  # what the calls since then can change; None: anything
        self._rows: list[tuple[ChangeRow, Origin | None]] = []
        self._completed: dict[tuple[str, str], StateRow] = {}  # by path and stamp, what was `unread` in rows

    @property
    def is_idle(self) -> bool:
        """Whether no call has begun since `close`."""
        return not self._names

    @property
    def rows(self) -> list[ChangeRow]:
        """All changes, whosever they are."""
        return [self._whole(row) for row, _ in self._rows]

    @property
    def is_incomplete(self) -> bool:
        """Whether a file was not read when its change was added, and has not been since."""
        return any(_is_to_be_read(after) for _, _, after in self.rows)

    def complete(self, states: Iterable[tuple[str, StateRow]]) -> None:
        """Take in what files are whose changes were added, or are going to be, before they were read."""
        self._completed |= {(path, state[_STAMP]): state for path, state in states}

    def begin(self, call: str, name: str | None) -> None:
        """A call begins. `name`: the only path that it can change, None if that may be any."""
        self._running.add(call)
        self._names.add(name)

    def end(self, call: str) -> bool:
        """A call is over; whether it was the last one that ran."""
        if call not in self._running:
            return False
        self._running.remove(call)
        return not self._running

    def close(self) -> None:
        """No call runs, and what they changed has been added."""
        self._running.clear()
        self._names.clear()

    def add(self, rows: Iterable[ChangeRow]) -> None:
        """Take in what changed since the last time."""
        self._rows += [(row, self._origin(row[0])) for row in rows]

    def pass_over(self, rows: Iterable[ChangeRow]) -> None:
        """Take in what is certainly not the turn's doing."""
        self._rows += [(row, None) for row in rows]

    def take(self) -> tuple[FileChange, ...]:
        """What the turn did, by path, and forget it.

        A path has several changes if somebody else changed it in between, or may have.
        """
        found: dict[str, list[FileChange]] = {}
        for row, origin in self._rows:
            path, before, after = self._whole(row)
            if origin is not None:
                append(found.setdefault(path, []), FileChange(path, state_of(before), state_of(after), origin))
        self._rows.clear()
        return tuple(
            change for _, changes in sorted(found.items()) for change in changes if not _is_root_seen_first(change)
        )

    def _whole(self, row: ChangeRow) -> ChangeRow:
        """The change with states that were completed since."""
        if not self._completed:
            return row
        path, *states = row
        before, after = (
            self._completed.get((path, state[_STAMP]), state) if state is not None and state[0] == "unread" else state
            for state in states
        )
        return path, before, after

    def _origin(self, path: str) -> Origin | None:
        if any(name is not None and (name == path or name.startswith(path + "/")) for name in self._names):
            return "call"
        if None in self._names:
            return "command"
        return "background" if self.in_background else None


def append(changes: list[FileChange], change: FileChange) -> None:
    """Add a change of a path to earlier ones. It is joined with the last if it begins where that ended.

    What may be somebody else's is never joined with what a call did: both can be taken back on their own.
    """
    if changes and _continues(changes[-1], change):
        known = changes.pop()
        outside = change.outside if change.outside == known.outside else ""
        change = FileChange(change.path, known.before, change.after, least_certain(known.by, change.by), outside)
    if not is_same(change.before, change.after):
        changes.append(change)


def _continues(one: FileChange, other: FileChange) -> bool:
    return is_same(one.after, other.before) and (one.by == "background") == (other.by == "background")


def _is_to_be_read(state: StateRow | None) -> bool:
    return state is not None and state[0] == "unread" and state[_STAMP] != ""


def _is_root_seen_first(change: FileChange) -> bool:
    """Whether nothing changed: an earlier kaa did not keep the modes of roots, which neither come nor go."""
    return change.path.rpartition("/")[2] == "." and None in (change.before, change.after)


def state_of(row: StateRow | None) -> FileState | None:
    """The state without its stamp."""
    return None if row is None else FileState(*row[:4])
