"""Checkpoints of a project that lives in memory: the same ways from state to state, without a disk."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

import msgspec

from kaa.workspace.checkpoints.attribution import ChangeRow, TurnRecord
from kaa.workspace.checkpoints.contract import (
    ChangeSet,
    FileChange,
    FileState,
    Kept,
    MissingCheckpointError,
    StateRow,
    is_same,
)
from kaa.workspace.checkpoints.planning import Way, in_order
from kaa.workspace.checkpoints.plans import FileConflict, FileDifference, FileMove, RestorePlan, RestoreResult

Snapshot: TypeAlias = Mapping[str, tuple[FileState, bytes]]


class KeptContents(msgspec.Struct):
    """What is kept of a project, by all sessions."""

    sets: dict[str, ChangeSet] = {}
    contents: dict[str, bytes] = {}


class MemoryCheckpoints:
    """Change sets of one session.

    Args:
        snapshot: everything that is in the project.
        put: makes a path what it is to be; a directory is only removed if it is empty. False if it cannot be.
    """

    def __init__(
        self, kept: KeptContents, snapshot: Callable[[], Snapshot], put: Callable[[str, FileState | None, bytes], bool]
    ) -> None:
        self._kept = kept
        self._snapshot = snapshot
        self._put = put
        self._known: Snapshot = {}
        self._record = TurnRecord()
        self._is_open = False

    def begin(self) -> None:
        """Looking takes no time here."""

    async def ready(self, path: str | None = None, *, call: str = "") -> None:
        """`path` is taken as it is called in the project."""
        rows = self._changes()
        if self._is_open:
            self._record.add(rows)
        self._is_open = True
        self._record.begin(call, path)

    async def keeps(self, patterns: Sequence[str], *, name: str = "", kind: str = "") -> Kept:
        """Everything in memory is kept."""
        return Kept(True)

    async def ended(self, call: str, *, in_background: bool = False) -> None:
        if self._record.end(call):
            self._record.add(self._changes())
            self._record.close()
        self._record.in_background = in_background

    async def collect(self, *, more_to_come: bool = False) -> ChangeSet | None:
        if not self._is_open:
            return None
        self._record.add(self._changes())
        changes = self._record.take()
        if not more_to_come:
            self._is_open, self._record = False, TurnRecord()
        return self._keep(changes)

    async def interrupted(self) -> None:
        """What is killed here leaves nothing behind."""

    async def change_set(self, change_set_id: str) -> ChangeSet:
        try:
            return self._kept.sets[change_set_id]
        except KeyError:
            raise MissingCheckpointError("what files were then is no longer kept") from None

    async def preview(self, undo: Sequence[str], redo: Sequence[str]) -> RestorePlan:
        way, now = await self._way(undo, redo), self._look()
        return way.plan({path: _state(now, path) for path in way.paths}, self._content)

    async def restore(self, plan: RestorePlan, progress: Callable[[int, int], None] | None = None) -> RestoreResult:
        files = {step.path for step in plan.steps}
        kept = {conflict.path: conflict for conflict in plan.conflicts}
        for move in chain.from_iterable(in_order(plan.moves)):
            now, target = _state(self._look(), move.path), move.target
            as_expected = is_same(move.expected, now)
            content = self._content(target) if target is not None and target.kind == "file" else b""
            if not (as_expected and self._put(move.path, target, content)) and move.path in files:
                kept[move.path] = FileConflict(move.path, "changed since the preview")
        self._known = self._look()
        return RestoreResult(
            tuple(step for step in plan.steps if step.path not in kept),
            tuple(conflict for _, conflict in sorted(kept.items())),
        )

    async def merge(
        self,
        undo: Sequence[str],
        redo: Sequence[str],
        leave_out: Sequence[str] = (),
        moves: Sequence[FileMove] = (),
    ) -> ChangeSet | None:
        return self._keep((await self._way(undo, redo)).changes(frozenset(leave_out), moves))

    async def differences(self, change_sets: Sequence[str]) -> Sequence[FileDifference]:
        way, now = await self._way((), change_sets), self._look()
        return way.differences({path: _state(now, path) for path in way.paths}, self._content)

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _changes(self) -> list[ChangeRow]:
        """What changed since the last time."""
        before, self._known = self._known, self._look()
        return [
            (path, _row(before, path), _row(self._known, path))
            for path in sorted({*before, *self._known})
            if not is_same(_state(before, path), _state(self._known, path))
        ]

    def _look(self) -> Snapshot:
        snapshot = self._snapshot()
        self._kept.contents.update((state.digest, data) for state, data in snapshot.values() if state.digest)
        return snapshot

    def _keep(self, changes: Sequence[FileChange]) -> ChangeSet | None:
        if not changes:
            return None
        change_set = ChangeSet(f"{len(self._kept.sets) + 1:08x}", tuple(changes))
        self._kept.sets[change_set.id] = change_set
        return change_set

    def _content(self, state: FileState) -> bytes:
        return self._kept.contents[state.digest]

    async def _way(self, undo: Sequence[str], redo: Sequence[str]) -> Way:
        return Way([await self.change_set(one) for one in undo], [await self.change_set(one) for one in redo])


def _row(snapshot: Snapshot, path: str) -> StateRow | None:
    state = _state(snapshot, path)
    return None if state is None else (state.kind, state.digest, state.mode, state.size, "")


def _state(snapshot: Snapshot, path: str) -> FileState | None:
    return snapshot[path][0] if path in snapshot else None
