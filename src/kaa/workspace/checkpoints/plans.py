"""What restoring files would do and did, and what change sets made of files."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from kaa.workspace.checkpoints.contract import FileState, Origin, Outside

MOST_NAMED: Final = 10


class FileMove(msgspec.Struct, frozen=True):
    """A path's way from the state it must have to the one it is to get.

    Attributes:
        outside: where the sandbox protects the path: `restored`: it gets what was there before a call that was
            permitted, or nothing; `permitted`: it gets what somebody would have to permit again.
    """

    path: str
    expected: FileState | None
    target: FileState | None
    outside: Outside = ""


class FileStep(msgspec.Struct, frozen=True):
    """What restoring does to a file.

    Attributes:
        added: lines that come; 0 for a binary file.
        removed: lines that go; likewise.
        by: what ran when the file changed; the least certain, if it changed several times.
        is_partial: earlier changes stay, because somebody else changed the file after them.
    """

    path: str
    action: Literal["restore", "create", "delete"]
    added: int = 0
    removed: int = 0
    by: Origin = "call"
    is_partial: bool = False


class CertainPart(msgspec.Struct, frozen=True):
    """What can be restored of a file without what may have been somebody else's doing."""

    step: FileStep
    move: FileMove


class FileConflict(msgspec.Struct, frozen=True):
    """A file that is kept as it is. `reason` is a clause, such as `changed since by someone else`."""

    path: str
    reason: str


class RestorePlan(msgspec.Struct, frozen=True):
    """What restoring would do. Nothing was touched.

    Attributes:
        steps: files that change, sorted by path.
        conflicts: files that would have to change, but are kept.
        uncovered: sentences that say what checkpoints of this project leave out, by which rule.
        gaps: sentences that say of which turns no checkpoint was taken, and why: their changes stay.
        moves: what is carried out, directories too.
        gone: what would have to be deleted, and is not there already.
        certain: what there is to do instead to some of the `uncertain` files, if others' changes are to stay.
    """

    steps: tuple[FileStep, ...] = ()
    conflicts: tuple[FileConflict, ...] = ()
    uncovered: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    moves: tuple[FileMove, ...] = ()
    gone: tuple[str, ...] = ()
    certain: tuple[CertainPart, ...] = ()

    @property
    def uncertain(self) -> tuple[str, ...]:
        """Files that changed while only a background process ran: it may have been somebody else who changed them."""
        return tuple(step.path for step in self.steps if step.by == "background")

    @property
    def of_commands(self) -> tuple[str, ...]:
        """Files that changed while a command ran: perhaps somebody else changed them too."""
        return tuple(step.path for step in self.steps if step.by == "command")

    def keeping_uncertain(self, reason: str) -> "RestorePlan":
        """The same without what somebody else may have changed; `reason` for files of which nothing else is to do."""
        parts = {part.step.path: part for part in self.certain}
        whole = self.leaving_out([path for path in self.uncertain if path not in parts], reason)
        return msgspec.structs.replace(
            whole,
            steps=tuple(parts[step.path].step if step.path in parts else step for step in whole.steps),
            moves=tuple(parts[move.path].move if move.path in parts else move for move in whole.moves),
            certain=(),
        )

    def leaving_out(self, paths: Collection[str], reason: str) -> "RestorePlan":
        """The same without what would happen to some files."""
        out = frozenset(paths)
        return msgspec.structs.replace(
            self,
            steps=tuple(step for step in self.steps if step.path not in out),
            moves=tuple(move for move in self.moves if move.path not in out),
            conflicts=(*self.conflicts, *(FileConflict(path, reason) for path in paths)),
            certain=tuple(part for part in self.certain if part.step.path not in out),
        )

    @property
    def is_empty(self) -> bool:
        """Whether all files are as they are to be already."""
        return not self.moves and not self.conflicts


class RestoreResult(msgspec.Struct, frozen=True):
    """What restoring did. It can be repeated: what is done already is no step any more.

    Attributes:
        kept: files that were left as they are: the plan's conflicts, what changed since the plan was made, and files
            whose content is no longer kept.
        failed: files that the system refused to change. Restoring is not finished: repeat it when the reason is gone.
        reduced: files that were changed, but for a part of their mode that the system refused. No repeating helps.
    """

    done: tuple[FileStep, ...] = ()
    kept: tuple[FileConflict, ...] = ()
    failed: tuple[FileConflict, ...] = ()
    reduced: tuple[FileConflict, ...] = ()


class FileDifference(msgspec.Struct, frozen=True):
    """What some change sets made of a file.

    Attributes:
        before: its content, or a symlink's target; None: nothing was there, or it is not known.
        after: the same, behind the last of them.
        modes: the permission bits before and after; None without a file.
        by: what ran when the file changed; the least certain, if it changed several times.
        remark: a clause that says that it is not the whole truth, such as `changed since by someone else`.
    """

    path: str
    before: bytes | None
    after: bytes | None
    modes: tuple[int | None, int | None] = (None, None)
    by: Origin = "call"
    remark: str = ""


"""Of files of which the same is to be said. More would push everything else off the screen."""


def named(paths: Sequence[str]) -> str:
    """Return the first of some paths, and how many more there are."""
    if len(paths) <= MOST_NAMED:
        return ", ".join(paths)
    more = len(paths) - MOST_NAMED
    return f"{', '.join(paths[:MOST_NAMED])} and {more:,} more {'file' if more == 1 else 'files'}"


def by_reason(conflicts: Iterable[FileConflict], shown: Callable[[str], str] = str) -> Iterator[tuple[str, str]]:
    """Yield each reason once, behind the names of its files."""
    paths: dict[str, list[str]] = {}
    for conflict in conflicts:
        paths.setdefault(conflict.reason, []).append(conflict.path)
    for reason, those in paths.items():
        yield named([*map(shown, those[:MOST_NAMED]), *those[MOST_NAMED:]]), reason
