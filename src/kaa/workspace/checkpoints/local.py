"""Checkpoints of a project on this machine: the slot sees the project, the store keeps what it says."""

import asyncio
import os.path
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from kaa.workspace.channel import parse
from kaa.workspace.checkpoints.attribution import ChangeRow, TurnRecord
from kaa.workspace.checkpoints.change_tracker import MAX_FILES, ChangeTracker, failed, in_thread_if
from kaa.workspace.checkpoints.contract import ChangeSet, CheckpointLimits, FileChange, Kept, Permit, StateRow
from kaa.workspace.checkpoints.link import Link, checked
from kaa.workspace.checkpoints.reports import Noted, doing_of
from kaa.workspace.checkpoints.store import CheckpointStore, Turn, new_change_set_id
from kaa.workspace.slots import Slots

if TYPE_CHECKING:
    from kaa.workspace.checkpoints.planning import Way
    from kaa.workspace.checkpoints.plans import (
        FileConflict,
        FileDifference,
        FileMove,
        FileStep,
        RestorePlan,
        RestoreResult,
    )
    from kaa.workspace.checkpoints.restoring import MoveProblem, Progress
    from kaa.workspace.protected_files import ProtectedFiles

_NEEDS_PERMISSION = "kaa wrote it with your permission, and does not write it again without a question: ask the model"
_PROTECTED = "the sandbox protects it, and kaa does not know whether its earlier content was yours"
_MOVED_AWAY = ".kaa-blocked"
_MEGABYTE = 1024 * 1024
# Of what may be kept, so much may be the project as it is; the rest is for what it was.
_COVERED_SHARE = 0.5
_SIGN_SECONDS = 1.0
_SORTED_AT_ONCE = 200  # rows: takes less than a millisecond
_FILE, _FOLDER, _EITHER = ("file", "files"), ("folder", "folders"), ("file or folder", "files or folders")
# What the rules of `kaa.hands.checkpoints.rules` leave out: the word for one and for several, and what is said of them.
_UNCOVERED = {
    "ignored": (
        _EITHER,
        "that .gitignore leaves out (files up to 1 MiB are covered nevertheless, unless their folder is left out)",
    ),
    "generated": (_FOLDER, "that programs generate (node_modules, virtual environments, caches)"),
    "unread": (
        _FILE,
        "that kaa has not read yet (it reads {first_files:,} before the first command and others during later turns; "
        "with checkpoints.waitForAllFiles in settings.json, commands wait until it has read all)",
    ),
    "deep": (_FOLDER, "more than a hundred folders deep"),
    "large": (_FILE, "larger than 10 MiB"),
    "files": (_FILE, f"beyond the first {MAX_FILES:,}"),
    "bytes": (_FILE, "beyond the first {megabytes:.0f} MiB of all files"),
    "unreadable": (("name", "names"), "with nothing behind it that can be read, such as a pipe or a foreign file"),
    "mounted": (_FOLDER, "on another file system"),
    "refused": (("name", "names"), "that no file of a project can have"),
}


class LocalCheckpoints:
    """Change sets of one session in a project on this machine. All calls must come from one event loop.

    Args:
        root: real path of the project.
        folder: where everything is kept; see `CheckpointStore`.
        protected: knows what the slot cannot write, and writes it; None if there is nothing outside the sandbox.
    """

    def __init__(
        self,
        root: str,
        slots: Slots,
        folder: str,
        limits: CheckpointLimits,
        session_id: str,
        permit: Permit,
        protected: "ProtectedFiles | None" = None,
    ) -> None:
        self._root = root
        self._protected = protected
        self._folder = folder
        self._limits = limits
        self._session_id = session_id
        self._covered_megabytes = limits.max_megabytes * _COVERED_SHARE
        self._permit = permit
        self._lookout = ChangeTracker(
            slots,
            round(self._covered_megabytes * _MEGABYTE),
            limits.announce_megabytes * _MEGABYTE,
            limits.first_files,
            self._permitted,
            self._known,
            self._seen,
            self._take_in,
            self._complete,
        )
        self._opening: asyncio.Task[CheckpointStore] | None = None
        self._turn = asyncio.Lock()
        self._is_open = False
        self._began = 0
        self._lost_slot = False  # while a turn was under way
        self._record = TurnRecord()
        self._killed: Turn | None = None
        self._interrupted: ChangeSet | None = None
        self._signs: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._lookout.begin()

    async def ready(self, path: str | None = None, *, call: str = "") -> None:
        noting = None
        if path is not None:  # the answer comes with that to the next request
            noting = await (await self._lookout.link()).request({"op": "note", "path": path})
        else:
            await self._lookout.looked()
        async with self._turn:
            if self._record.is_idle and self._lookout.has_looked:
                await self._take_in_idle(await self._lookout.changes(in_portions=self._is_open))
            # Before a turn begins: if kaa is killed then, what the user has changed meanwhile counts as its doing.
            name = None if noting is None else parse(checked(await noting).header, Noted).noted
            if not self._is_open:
                store = await self._store()
                self._began = time.time_ns()
                store.begin_turn(self._session_id, self._began)
                self._is_open = True
                if self._signs is None:
                    self._signs = asyncio.create_task(self._give_signs(store))
            self._record.begin(call, name)

    async def keeps(self, patterns: Sequence[str], *, name: str = "", kind: str = "") -> Kept:
        link = await self._lookout.looked()
        # Beside calls that run, what changed since they began counts as theirs: nobody would restore it.
        beside = not self._record.is_idle
        request = {"op": "keeps", "patterns": list(patterns), "name": name, "kind": kind, "unsaid": not beside}
        return parse((await link.ask(request)).header, Kept)

    async def ended(self, call: str, *, in_background: bool = False) -> None:
        async with self._turn:
            is_last = self._record.end(call)
            # Nobody waits for the first look here: what changes until then is taken for the calls' doing.
            if is_last and self._lookout.has_looked:
                self._record.add(await self._lookout.changes(in_portions=True))
                self._record.close()
                self._lookout.read_more()
            self._record.in_background = in_background

    async def collect(self, *, more_to_come: bool = False) -> ChangeSet | None:
        async with self._turn:
            if not self._is_open:
                return None
            if not self._record.is_idle or self._record.in_background or self._record.is_incomplete:
                self._record.add(await self._lookout.changes())
            rows = self._record.rows
            changes = await in_thread_if(len(rows) > _SORTED_AT_ONCE, self._record.take)
            changes = tuple(filter(None, map(self._attributed, changes)))
            change_set = ChangeSet(new_change_set_id(), changes) if changes else None
            store = await self._store()
            try:
                if change_set is not None:
                    await asyncio.to_thread(store.save, change_set)
                await self._take_in(rows)  # after that: were kaa killed in between, nothing would know of them
            finally:  # also where it cannot be kept: what changes from here on is not the turn's doing
                if not more_to_come:
                    self._is_open = False
                    self._record = TurnRecord()
                    self._stop_signs()
                    store.end_turn(self._session_id)
        return change_set

    async def interrupted(self) -> ChangeSet | None:
        store = await self._store()
        looks = self._lookout.has_begun and not self._lookout.is_declined
        if not looks and await asyncio.to_thread(store.killed_turn, self._session_id) is None:
            return None
        await self._lookout.looked()
        found, self._interrupted = self._interrupted, None
        if self._killed is not None:
            self._killed = None
            if found is not None:
                await asyncio.to_thread(store.save, found)
            if not self._is_open:
                store.end_turn(self._session_id)
        return found

    async def change_set(self, change_set_id: str) -> ChangeSet:
        return await asyncio.to_thread((await self._store()).load, change_set_id)

    async def preview(self, undo: Sequence[str], redo: Sequence[str]) -> "RestorePlan":
        from kaa.workspace.checkpoints.plans import RestorePlan  # lazy: few turns are undone

        way = await self._way(undo, redo)
        if not way.paths:
            return RestorePlan()
        now = await self._lookout.states(way.paths)
        store = await self._store()
        plan = await asyncio.to_thread(way.plan, now, store.content, self._uncovered())
        protected = [move for move in plan.moves if move.outside != "restored" and self._is_protected(move.path)]
        refused = [move.path for move in protected if move.outside == "permitted"]
        files = {step.path for step in plan.steps}  # an empty directory executes nothing
        others = [move.path for move in protected if move.path in files and move.path not in refused]
        return plan.leaving_out(refused, _NEEDS_PERMISSION).leaving_out(others, _PROTECTED)

    async def restore(self, plan: "RestorePlan", progress: "Progress | None" = None) -> "RestoreResult":
        from kaa.workspace.checkpoints.plans import FileConflict, RestoreResult  # lazy, as above
        from kaa.workspace.checkpoints.restoring import restore  # lazy: few turns are undone

        if not plan.moves:
            return RestoreResult(kept=plan.conflicts)
        link = await self._lookout.looked()
        store = await self._store()
        steps = {step.path: step for step in plan.steps}
        kept = {conflict.path: conflict for conflict in plan.conflicts}
        failures: dict[str, FileConflict] = {}
        async with self._turn:
            if self._record.is_idle:
                await self._take_in_idle(await self._lookout.changes())
            outside = [move for move in plan.moves if move.outside == "restored" and self._is_protected(move.path)]
            inside = [move for move in plan.moves if move not in outside] if outside else plan.moves
            try:
                outcome = await restore(link, store, self._session_id, inside, progress)
                for problem in (*outcome.problems, *await self._restore_outside(store, outside)):
                    path, reason, by_system = problem.move.path, problem.reason, problem.by_system
                    if by_system and self._is_protected(path) and problem.move not in outside:
                        reason, by_system = _PROTECTED, False
                    if path not in kept and path not in failures:  # the first is the cause
                        (failures if by_system else kept)[path] = FileConflict(path, reason)
            finally:  # our own doing belongs to no turn
                rows = await self._lookout.changes()
                if self._is_open:
                    self._record.pass_over(rows)
                else:
                    await self._take_in(rows)
        done = tuple(step for path, step in steps.items() if path not in kept and path not in failures)
        reduced = {path: FileConflict(path, remark) for path, remark in outcome.remarks.items()}
        return RestoreResult(
            done, _of_files(kept, steps, plan), _of_files(failures, steps, plan), _of_files(reduced, steps, plan)
        )

    async def _restore_outside(self, store: CheckpointStore, moves: "Sequence[FileMove]") -> "Sequence[MoveProblem]":
        """Carry out moves of protected files. Returns what was not done."""
        from kaa.workspace.checkpoints.restoring import MoveProblem, restore  # lazy, as above

        if not moves or self._protected is None:
            return ()
        contents = {self._absolute(move.path): await asyncio.to_thread(_content, store, move) for move in moves}
        try:
            async with self._protected.writing(contents) as slots:
                link = Link(await slots.take("checkpoints"), store.packs.add)
                try:
                    return (await restore(link, store, self._session_id, moves, None)).problems
                finally:
                    await link.close()
        except OSError as error:
            return [MoveProblem(move, error.strerror or str(error), by_system=True) for move in moves]

    def _is_protected(self, path: str) -> bool:
        return self._protected is not None and self._protected.denies(self._absolute(path))

    def _attributed(self, change: FileChange) -> FileChange | None:
        """Return the change, noted if kaa wrote it with permission; None if it is not the model's.

        That is what kaa put back because the user had made it, and what the guard moved away: it may be the only copy.
        """
        if change.before is None and _MOVED_AWAY in change.path and _was_moved_away(change.path):
            return None
        owner = None if self._protected is None else self._protected.owner_of(self._absolute(change.path), change)
        if owner is None:
            return change
        return msgspec.structs.replace(change, outside="permitted") if owner == "model" else None

    def _absolute(self, path: str) -> str:
        return os.path.join(self._root, path)

    async def merge(
        self,
        undo: Sequence[str],
        redo: Sequence[str],
        leave_out: Sequence[str] = (),
        moves: "Sequence[FileMove]" = (),
    ) -> ChangeSet | None:
        changes = (await self._way(undo, redo)).changes(frozenset(leave_out), moves)
        if not changes:
            return None
        merged = ChangeSet(new_change_set_id(), changes)
        await asyncio.to_thread((await self._store()).save, merged)
        return merged

    async def differences(self, change_sets: Sequence[str]) -> "Sequence[FileDifference]":
        way = await self._way((), change_sets)
        if not way.paths:
            return ()
        now = await self._lookout.states(way.paths)
        return await asyncio.to_thread(way.differences, now, (await self._store()).content)

    async def close(self) -> None:
        self._stop_signs()
        await self._lookout.close()
        if self._opening is not None:
            await asyncio.wait({self._opening})
            if not failed(self._opening):
                await asyncio.to_thread(_leave, self._opening.result())

    async def _store(self) -> CheckpointStore:
        if self._opening is None or failed(self._opening):
            self._opening = asyncio.create_task(asyncio.to_thread(CheckpointStore, self._folder, self._limits))
        return await asyncio.shield(self._opening)

    async def _permitted(self, files: int, size: int) -> bool:
        """Whether so much may be copied. If not, what was copied already is removed."""
        permitted = await self._permit(files, size)
        if not permitted:
            await asyncio.to_thread((await self._store()).packs.discard_own)
        return permitted

    async def _known(self) -> tuple[CheckpointStore, bytes, bool]:
        """From what a slot is to begin, and whether all that differs from it is the doing of a turn."""
        store = await self._store()
        self._lost_slot = self._is_open
        if not self._is_open:
            self._killed = await asyncio.to_thread(store.killed_turn, self._session_id)
        known = await asyncio.to_thread(store.last_manifest, self._root, self._killed)
        return store, known, self._lost_slot or self._killed is not None

    async def _seen(self, known: bytes, rows: list[ChangeRow], cleaned_up: Sequence[str]) -> None:
        """Note how things are now that a slot has looked at everything."""
        store = await self._store()
        if cleaned_up:
            await asyncio.to_thread(store.forget_restores, cleaned_up)
        await asyncio.to_thread(store.begin_manifest, self._root, known)
        await self._take_in(rows)
        if self._is_open:  # from now on, what it does can be told even when it is killed
            store.begin_turn(self._session_id, self._began)
        if self._lost_slot:
            self._record.add(rows)
        elif self._killed is not None:
            record = TurnRecord()
            record.begin("killed", None)
            record.add(doing_of(self._killed, rows))
            changes = record.take()
            self._interrupted = ChangeSet(new_change_set_id(), changes, interrupted=True) if changes else None

    def _complete(self, states: Sequence[tuple[str, StateRow]]) -> None:
        self._record.complete(states)

    async def _take_in_idle(self, rows: list[ChangeRow]) -> None:
        """Take in what changed while no call ran."""
        if self._is_open:
            self._record.add(rows)  # their order with what the turn did matters
        else:
            await self._take_in(rows)

    async def _take_in(self, rows: Sequence[ChangeRow]) -> None:
        """Note how things are now."""
        if rows:
            await asyncio.to_thread((await self._store()).manifests.add, rows)

    async def _way(self, undo: Sequence[str], redo: Sequence[str]) -> "Way":
        store = await self._store()

        def load() -> "Way":
            from kaa.workspace.checkpoints.planning import Way  # lazy: few turns are undone

            return Way([store.load(one) for one in undo], [store.load(one) for one in redo])

        return await asyncio.to_thread(load)

    async def _give_signs(self, store: CheckpointStore) -> None:
        while True:
            await asyncio.sleep(_SIGN_SECONDS)
            await asyncio.to_thread(store.touch_turn, self._session_id)

    def _stop_signs(self) -> None:
        if self._signs is not None:
            self._signs.cancel()
            self._signs = None

    def _uncovered(self) -> tuple[str, ...]:
        """What is left out, in sentences for people."""
        told = ["what is in .git"]
        amounts = {"megabytes": self._covered_megabytes, "first_files": self._limits.first_files}
        for rule, count in sorted(self._lookout.uncovered.items()):
            if rule in _UNCOVERED and count > 0:
                (one, several), what = _UNCOVERED[rule]
                noun = one if count == 1 else several
                told.append(f"{count:,} {noun} {what.format(**amounts)}")
        return tuple(told)


def _was_moved_away(path: str) -> bool:
    from kaa.hands.guard.items import is_kept_name  # lazy: few turns make such files

    return any(map(is_kept_name, path.split("/")))


def _content(store: CheckpointStore, move: "FileMove") -> bytes:
    state = move.target
    return store.content(state) if state is not None and state.kind == "file" else b""


def _of_files(
    found: "Mapping[str, FileConflict]", steps: "Mapping[str, FileStep]", plan: "RestorePlan"
) -> "tuple[FileConflict, ...]":
    """Without the directories: that one is still there says nothing to people."""
    files = {*steps, *(conflict.path for conflict in plan.conflicts)}
    return tuple(conflict for path, conflict in sorted(found.items()) if path in files)


def _leave(store: CheckpointStore) -> None:
    try:
        store.prune()
    finally:
        store.close()
