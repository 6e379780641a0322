"""The way from one state of the files to another: what has to happen to each, and what speaks against it."""

import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from kaa.workspace.checkpoints.attribution import append
from kaa.workspace.checkpoints.contract import (
    ChangeSet,
    FileChange,
    FileState,
    MissingCheckpointError,
    Origin,
    comes_or_goes_as_directory,
    is_same,
    least_certain,
)
from kaa.workspace.checkpoints.plans import CertainPart, FileConflict, FileDifference, FileMove, FileStep, RestorePlan

_NOT_KEPT = "its content was not kept, as it is too large, no regular file, or could not be read"
_UNREAD = (
    "kaa had not read it before it was changed or deleted: set checkpoints.waitForAllFiles to true in settings.json,"
    " or let .gitignore leave large folders out"
)
_OUTSIDE = "kaa cannot use its folder: add it with --add-dir, unless another user has closed it"
_BETWEEN = "changed by someone else in between"
# Line by line comparison takes the product of both lengths; above this, lines are only counted.
_MAX_COMPARED = 4_000_000
_PERMISSIONS = 0o777
_REPLACED = ("special", "other")


class Way:
    """What some change sets, taken back or done one after another, come to.

    Args:
        undo: to take back, the newest first.

    Attributes:
        paths: those that may have to be different at the end, sorted.
    """

    def __init__(self, undo: Iterable[ChangeSet], redo: Iterable[ChangeSet]) -> None:
        self._legs: dict[str, list[_Leg]] = {}
        for change_set in undo:
            for change in reversed(change_set.changes):
                self._legs.setdefault(change.path, []).append(_Leg(change.reverse, is_undo=True))
        for change_set in redo:
            for change in change_set.changes:
                self._legs.setdefault(change.path, []).append(_Leg(change, is_undo=False))
        self._whole = {path: _Reading(legs) for path, legs in sorted(self._legs.items())}
        self._certain = {
            path: _Reading(certain)
            for path, legs in self._legs.items()
            if len(certain := [leg for leg in legs if leg.change.by != "background"]) not in (0, len(legs))
        }
        self.paths = tuple(
            path
            for path, whole in self._whole.items()
            if not whole.is_nothing or whole.gap or (path in self._certain and not self._certain[path].is_nothing)
        )

    def plan(
        self,
        now: Mapping[str, FileState | None],
        content: Callable[[FileState], bytes],
        uncovered: Sequence[str] = (),
    ) -> RestorePlan:
        """What there is to do.

        What may be somebody else's doing is taken back, too, where that leads anywhere. Else it stays.

        Args:
            now: what is at each of the `paths`; without those that cannot be looked at.
            uncovered: for people, as `RestorePlan` has it.

        Raises:
            MissingCheckpointError: `content` does.
        """
        steps, moves, conflicts, gone, parts = [], [], [], [], []
        for path in self.paths:
            reading = self._whole[path]
            move = reading.move_from(now)
            certain = self._certain.get(path)
            part = certain.move_from(now) if certain is not None else None
            if certain is not None and isinstance(part, FileMove):
                if isinstance(move, FileMove):
                    parts.append(CertainPart(certain.step(part, content), part))
                else:
                    reading, move = certain, part
            if isinstance(move, FileMove):
                moves.append(move)
                if not reading.is_directory:
                    steps.append(reading.step(move, content))
            elif move and not reading.is_directory:
                conflicts.append(FileConflict(path, move))
            elif not move and not reading.is_nothing and now[path] is None:
                gone.append(path)
        return RestorePlan(
            tuple(steps), tuple(conflicts), tuple(uncovered), moves=tuple(moves), gone=tuple(gone), certain=tuple(parts)
        )

    def differences(
        self, now: Mapping[str, FileState | None], content: Callable[[FileState], bytes]
    ) -> tuple[FileDifference, ...]:
        """What the way makes of files; `now` and `content` as for `plan`."""
        return tuple(
            self._difference(reading, now, content)
            for reading in self._whole.values()
            if not is_same(reading.first, reading.last) and not comes_or_goes_as_directory(reading.first, reading.last)
        )

    def changes(self, leave_out: Collection[str], moves: Iterable[FileMove] = ()) -> tuple[FileChange, ...]:
        """The whole way as changes, without some paths. `moves`: ways that paths went instead."""
        other = {move.path: self._change(move) for move in moves}
        return tuple(
            change
            for path, reading in self._whole.items()
            if path not in leave_out
            for change in ([other[path]] if path in other else reading.changes)
        )

    def _change(self, move: FileMove) -> FileChange:
        certain = self._certain.get(move.path)
        reading = certain if certain is not None and certain.move == move else self._whole[move.path]
        return FileChange(move.path, move.expected, move.target, reading.by, move.outside)

    def _difference(
        self, reading: "_Reading", states: Mapping[str, FileState | None], content: Callable[[FileState], bytes]
    ) -> FileDifference:
        path, first, last = reading.move.path, reading.first, reading.last
        remarks = [reading.gap]
        now = states.get(path)
        if path not in states:
            remarks.append(_OUTSIDE)
        elif not is_same(now, last) and not (_is_other(now) or _is_other(last)):
            remarks.append(f"{'deleted' if now is None else 'changed'} since by someone else")
        contents: list[bytes | None] = []
        for state in (first, last):
            try:
                contents.append(content(state) if state is not None and state.kind in ("file", "symlink") else None)
            except MissingCheckpointError as error:
                contents.append(None)
                remarks.append(str(error))
        modes = tuple(state.mode if state is not None and state.kind == "file" else None for state in (first, last))
        remark = "; ".join(dict.fromkeys(filter(None, remarks)))
        return FileDifference(path, contents[0], contents[1], (modes[0], modes[1]), reading.by, remark)


class _Leg(NamedTuple):
    """A change in the direction in which it is gone through."""

    change: FileChange
    is_undo: bool


class _Reading:
    """What the changes of a path come to.

    Where somebody else changed it between two of them, taking back ends at what they left, and doing again begins
    there: theirs is never lost.

    Attributes:
        move: the way that it goes.
        by: what ran when it changed; the least certain.
        changes: the same in parts; none where the way is broken.
        first: the state before all changes.
        gap: why one change does not begin where the one before ended; "" if all do.
    """

    def __init__(self, legs: Sequence[_Leg]) -> None:
        first = legs[0].change
        self.first, self.last, self.by, self.gap = first.before, legs[-1].change.after, first.by, ""
        self.move = FileMove(first.path, first.before, first.after)
        self._is_partial, self._problem = False, ""
        changes: list[FileChange] = []
        last = first
        append(changes, first)
        for change, is_undo in legs[1:]:
            if self._is_partial and is_undo:
                continue
            start = self.move.expected
            if is_same(_unprivileged(self.move.target), _unprivileged(change.before)):
                self.by = least_certain(self.by, change.by)
            else:
                self.gap = _reason_for(self.move.target, change.before) or _BETWEEN
                if is_undo:
                    self._is_partial = True
                    continue
                if legs[0].is_undo:
                    self._problem = self.gap
                else:
                    start, self.by = change.before, change.by
            self.move = FileMove(change.path, start, change.after)
            last = change
            append(changes, change)
        self.changes = () if self._problem else tuple(changes)
        outside = "restored" if self.move.target is None and all(leg.is_undo for leg in legs) else last.outside
        self.move = FileMove(first.path, self.move.expected, self.move.target, outside)

    @property
    def is_nothing(self) -> bool:
        """Whether it ends where it begins."""
        return is_same(self.move.expected, self.move.target)

    @property
    def is_directory(self) -> bool:
        """Whether only a directory comes or goes."""
        return comes_or_goes_as_directory(self.move.expected, self.move.target)

    def move_from(self, now: Mapping[str, FileState | None]) -> FileMove | str:
        """What there is to do, or a reason not to do it; "" if nothing is to be done. `now`: as for `Way.plan`."""
        move = self.move
        if self.is_nothing:
            return ""
        if move.path not in now:
            return _OUTSIDE
        state = now[move.path]
        if is_same(state, move.target):
            return ""
        if not self._problem and (_is_halfway(move, state) or _is_reduced(state, move)):
            return FileMove(move.path, state, move.target, move.outside)  # a restore was killed there, or left it so
        return self._reason_against(state) or move

    def step(self, move: FileMove, content: Callable[[FileState], bytes]) -> FileStep:
        """What a move does, for people."""
        return msgspec.structs.replace(_step(move, content, self.by), is_partial=self._is_partial)

    def _reason_against(self, state: FileState | None) -> str:
        move = self.move
        # Nothing is lost: what has no content is replaced, and a file whose content is not kept gets another name.
        is_replaced = move.target is not None and move.expected is not None and move.expected.kind in _REPLACED
        if reason := _reason_for(move.target, None if is_replaced else move.expected):
            return reason
        if is_replaced and move.expected is not None and state is not None and state.kind == move.expected.kind:
            return self._problem
        if is_same(state, move.expected) or (_is_directory(state, move.expected) and not _is_directory(move.target)):
            return self._problem
        if state is None:
            return "deleted since by someone else"
        return "created since by someone else" if move.expected is None else "changed since by someone else"


def in_order(moves: Iterable[FileMove]) -> Iterator[Sequence[FileMove]]:
    """Moves in phases, so that each finds its directory, and no directory holds what is going to go.

    What comes back does so before anything is taken away, but for what is in its way: where a directory takes the place
    of a file, or the other way round. So what fails in a phase can keep later ones from removing the only copy.

    A directory gets its mode at the end, the deepest first. Until then, its owner may do anything in it.
    """
    moves = tuple(moves)
    needed = frozenset(above for move in moves if move.target is not None for above in _directories_of(move.path))
    exchanged = frozenset(move.path for move in moves if _takes_two_steps(move) or _is_in_the_way(move, needed))
    free, below = _Phases(), _Phases()
    for move in moves:
        (below if _is_in(exchanged, move.path) else free).add(move)
    wanted = frozenset(move.target.digest for move in moves if move.target is not None)
    opening = sorted((*free.opening, *below.opening), key=_path_of)
    yield [*filter(None, map(_first_part, opening)), *free.making_first(), *free.creating]
    yield [move for move in free.replacing if not _has_any(wanted, move.expected)]
    yield [move for move in free.replacing if _has_any(wanted, move.expected)]
    yield [*below.deleting, *below.emptied_first()]
    yield [*below.making_first(), *below.creating, *below.replacing]
    yield [*free.deleting, *free.emptied_first()]
    made = (*opening, *free.making, *below.making)
    yield [*filter(None, map(_last_part, sorted(made, key=_path_of, reverse=True)))]


class _Phases:
    """Moves, or their parts, by what they do."""

    def __init__(self) -> None:
        self.opening: list[FileMove] = []
        self.making: list[FileMove] = []
        self.creating: list[FileMove] = []
        self.replacing: list[FileMove] = []
        self.deleting: list[FileMove] = []
        self.emptied: list[FileMove] = []

    def add(self, move: FileMove) -> None:
        for part in _parts(move):
            if _is_directory(part.expected, part.target):
                self.opening.append(part)
            elif part.target is None:
                (self.emptied if _is_directory(part.expected) else self.deleting).append(part)
            elif part.target.kind == "directory":
                self.making.append(part)
            else:
                (self.creating if part.expected is None else self.replacing).append(part)

    def making_first(self) -> Iterator[FileMove]:
        """The first parts of new directories, each after the one that it is in."""
        return filter(None, map(_first_part, sorted(self.making, key=_path_of)))

    def emptied_first(self) -> Sequence[FileMove]:
        """Directories that go, the deepest first."""
        return sorted(self.emptied, key=_path_of, reverse=True)


def _is_in(paths: Collection[str], path: str) -> bool:
    """Whether a path, or a directory that it is in, is one of these."""
    while path and paths:
        if path in paths:
            return True
        path = path.rpartition("/")[0]
    return False


def _has_any(digests: Collection[str], state: FileState | None) -> bool:
    return state is not None and state.digest in digests


def _opened(state: FileState | None) -> FileState | None:
    """A directory in that its owner may do anything."""
    return None if state is None else msgspec.structs.replace(state, mode=state.mode | stat.S_IRWXU)


def _first_part(move: FileMove) -> FileMove | None:
    """A directory's way to where it is open; None if it is there."""
    opened = _opened(move.target)
    return None if is_same(move.expected, opened) else FileMove(move.path, move.expected, opened)


def _last_part(move: FileMove) -> FileMove | None:
    """The rest of its way; None if there is none."""
    opened = _opened(move.target)
    return None if is_same(opened, move.target) else FileMove(move.path, opened, move.target)


def _is_halfway(move: FileMove, state: FileState | None) -> bool:
    """Whether this is what a restore leaves that was killed between two parts of a move."""
    if state is None:
        return _takes_two_steps(move)
    return _is_directory(state, move.target) and is_same(state, _opened(move.target))


def _is_reduced(state: FileState | None, move: FileMove) -> bool:
    """Whether this is what a restore leaves where the system refuses the special bits of a file."""
    if _is_other(move.expected) or _is_other(move.target):
        return False
    wanted = [one for one in (move.expected, move.target) if one is not None and one.mode & ~_PERMISSIONS]
    return any(one.kind == "file" and is_same(state, _unprivileged(one)) for one in wanted)


def _unprivileged(state: FileState | None) -> FileState | None:
    """A file without its special bits."""
    if state is None or state.kind != "file":
        return state
    return msgspec.structs.replace(state, mode=state.mode & _PERMISSIONS)


def _path_of(move: FileMove) -> str:
    return move.path


def _parts(move: FileMove) -> Sequence[FileMove]:
    """A directory in place of a file, or the other way round, takes two steps."""
    if _takes_two_steps(move):
        return FileMove(move.path, move.expected, None), FileMove(move.path, None, move.target)
    return (move,)


def _directories_of(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _is_in_the_way(move: FileMove, needed: Collection[str]) -> bool:
    """Whether it is a file that goes, and something comes back below a directory of its name."""
    return move.path in needed and move.target is None and not _is_directory(move.expected)


def _takes_two_steps(move: FileMove) -> bool:
    one, other = move.expected, move.target
    return one is not None and other is not None and (one.kind == "directory") != (other.kind == "directory")


def _step(move: FileMove, content: Callable[[FileState], bytes], by: Origin) -> FileStep:
    before, after = (
        content(state) if state is not None and state.kind in ("file", "symlink") else b""
        for state in (move.expected, move.target)
    )
    action: Literal["restore", "create", "delete"] = "restore"
    if _is_directory(move.expected, move.target):
        pass  # only its mode changes
    elif move.expected is None or move.expected.kind == "directory":
        action = "create"
    elif move.target is None or move.target.kind == "directory":
        action = "delete"
    if b"\0" in before or b"\0" in after:
        return FileStep(move.path, action, by=by)
    added, removed = _lines_changed(before.splitlines(), after.splitlines())
    return FileStep(move.path, action, added, removed, by)


def _lines_changed(before: Sequence[bytes], after: Sequence[bytes]) -> tuple[int, int]:
    """How many lines come and go."""
    start = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    before, after = before[start : len(before) - end], after[start : len(after) - end]
    if not before or not after or len(before) * len(after) > _MAX_COMPARED:
        return len(after), len(before)
    from difflib import SequenceMatcher  # lazy: only whoever looks at a plan needs it

    kept = sum(block.size for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks())
    return len(after) - kept, len(before) - kept


def _is_other(state: FileState | None) -> bool:
    return state is not None and not state.is_kept


def _reason_for(*states: FileState | None) -> str:
    """Why the content of one of these was not kept; "" if all were."""
    if any(state is not None and state.kind == "unread" for state in states):
        return _UNREAD
    return _NOT_KEPT if any(map(_is_other, states)) else ""


def _is_directory(*states: FileState | None) -> bool:
    return all(state is not None and state.kind == "directory" for state in states)
