"""What the slot says of changes, checked: it is the only one who sees the project, and it may lie."""

import json
from collections.abc import Sequence

import msgspec

from kaa.workspace.checkpoints.attribution import ChangeRow
from kaa.workspace.checkpoints.contract import FileState, StateRow
from kaa.workspace.checkpoints.store import Turn
from kaa.workspace.protocol import WorkspaceUnavailableError

# How much later than its last sign of life a turn that was killed may have changed something.
_SIGN_TOLERANCE_NS = 2_000_000_000
# Clocks of file systems lag behind by a tick of the kernel.
_CLOCK_TOLERANCE_NS = 100_000_000
_STAMP_PARTS = 3


class Report(msgspec.Struct, frozen=True):
    """The body of an answer.

    Attributes:
        uncovered: how much each rule left out.
        learned: what was there all along, and was read only now.
        completed: what changes told before as `unread`, and was read only now.
    """

    changes: tuple[ChangeRow, ...]
    uncovered: dict[str, int]
    learned: tuple[tuple[str, StateRow], ...] = ()
    completed: tuple[tuple[str, StateRow], ...] = ()


class Extent(msgspec.Struct, frozen=True):
    """Files, and their bytes in all."""

    files: int
    bytes: int


class Begun(msgspec.Struct, frozen=True):
    """The header of an answer to `begin`: what would be copied, if that is to be announced first."""

    announce: Extent | None = None


class Noted(msgspec.Struct, frozen=True):
    """The header of an answer to `note`: what the path is called here; "" if it is not covered."""

    noted: str


class LookReport(msgspec.Struct, frozen=True):
    """The header of an answer to `look`. `outside`: the paths that cannot be looked at."""

    states: tuple[StateRow | None, ...]
    outside: frozenset[str] = frozenset()


class Restored(msgspec.Struct, frozen=True):
    """The header of an answer to `restore`. Of each move: None if done, "" if something else was there, or why not.

    `remarks`: of each, too, what it was done without; "" if nothing.
    """

    results: tuple[str | None, ...]
    remarks: tuple[str, ...]


def read_report(body: bytes) -> Report:
    """Check a report. Blocking: of a whole project it is megabytes.

    A path that no file of a project can have is dropped and counted as `refused`; the others are kept.

    Raises:
        WorkspaceUnavailableError: it is none.
    """
    try:
        report = msgspec.convert(json.loads(body), Report)
    except (ValueError, RecursionError) as error:
        raise WorkspaceUnavailableError(f"The process for checkpoints cannot be understood: {error}.") from error
    kept = tuple(change for change in report.changes if _may_be_restored(change))
    learned = tuple(row for row in report.learned if _may_be_restored((row[0], None, row[1])))
    if refused := len(report.changes) - len(kept) + len(report.learned) - len(learned):
        return Report(kept, {**report.uncovered, "refused": refused}, learned, report.completed)
    return report


def row_of(state: FileState | None) -> StateRow | None:
    """A state as the slot wants it."""
    return None if state is None else (state.kind, state.digest, state.mode, state.size, "")


def doing_of(turn: Turn, changes: Sequence[ChangeRow]) -> list[ChangeRow]:
    """What a turn that was killed can have done; what was changed later was somebody else.

    When something was deleted cannot be told; to take that back destroys nothing.
    """
    start, end = turn.began - _CLOCK_TOLERANCE_NS, turn.last_sign + _SIGN_TOLERANCE_NS
    return [
        change
        for change in changes
        if change[2] is None or change[2][0] == "directory" or start <= _changed_at(change[2]) <= end
    ]


def _may_be_restored(change: ChangeRow) -> bool:
    """Nothing outside the project, and nothing that git executes, may ever be "put back"; of a root, only the mode."""
    path, *states = change
    names = path.removeprefix("/").split("/")
    if path == "." or (path.startswith("/") and names[-1] == "."):
        if any(state is not None and state[0] != "directory" for state in states):
            return False
        names.pop()
    return {"", ".", "..", ".git"}.isdisjoint(names) and "\0" not in path


def _changed_at(row: StateRow) -> int:
    """When it was changed last (ctime), in nanoseconds of Unix time; 0 if that is not known."""
    parts = row[4].split("-")
    try:
        return int(parts[1], 16) if len(parts) == _STAMP_PARTS else 0
    except ValueError:
        return 0
