"""What checkpoints consist of, and what a workspace can do with them. See docs/checkpoints.md.

Paths are relative to the project's root, with `/`; those in other writable directories are absolute. `.` is the root
itself, and `/directory/.` another writable directory: of these, only the mode is kept.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, TypeAlias

import msgspec

if TYPE_CHECKING:  # few turns restore anything
    from kaa.workspace.checkpoints.plans import FileDifference, FileMove, RestorePlan, RestoreResult

# `other`: a file whose content is not kept: it is above the limits, or cannot be read.
# `special`: a pipe, a socket or a device: it has no content, so nothing is lost where something takes its place.
# `unread`: a file that changed before its content had been read for the first time; with a size and a mode, one that is
# read before the turn ends, unless it changes.
StateKind: TypeAlias = Literal["file", "symlink", "directory", "special", "other", "unread"]

Digest: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{2})*\Z")]

# As `kaa.hands.checkpoints.states.State`; the last is a stamp: times and inode.
StateRow: TypeAlias = tuple[StateKind, Digest, int, int, str]


class FileState(msgspec.Struct, frozen=True):
    """What is at a path.

    Attributes:
        digest: BLAKE2b (20 bytes, hex) of a file's content or of a symlink's target; empty for other kinds.
        mode: permission bits; 0 for symlinks.
        size: bytes of the content.
    """

    kind: StateKind
    digest: Digest = ""
    mode: int = 0
    size: int = 0

    @property
    def is_kept(self) -> bool:
        """Whether the store has all that is needed to restore it."""
        return self.kind not in ("special", "other", "unread")

    def same_as(self, other: "FileState | None") -> bool:
        """Whether there is no difference that would have to be restored."""
        if other is None or self.kind != other.kind:
            return False
        if self.kind == "unread":  # told twice of one file: between the two, nobody changed it
            return self.mode != 0 and self == other
        if not self.is_kept and self.kind != "special":
            return False
        return (self.digest, self.mode) == (other.digest, other.mode)


def is_same(one: FileState | None, other: FileState | None) -> bool:
    """Whether there is no difference that would have to be restored, where nothing may be there."""
    return other is None if one is None else one.same_as(other)


def comes_or_goes_as_directory(one: FileState | None, other: FileState | None) -> bool:
    """Whether there is a directory before or after and nothing else; people are not told of it."""
    return (one is None or other is None) and all(state is None or state.kind == "directory" for state in (one, other))


# What ran when something changed: a call that can change only this file; a command, so that another program may have
# done it as well; only a process in the background.
Origin: TypeAlias = Literal["call", "command", "background"]


_CERTAINTY: Mapping[Origin, int] = {"background": 0, "command": 1, "call": 2}


def least_certain(one: Origin, other: Origin) -> Origin:
    """Of two origins the one that tells less of who changed something."""
    return min(one, other, key=_CERTAINTY.__getitem__)


# Who wrote a file outside the sandbox, if somebody did: a call with the person's yes, or a restore of what was there.
Outside: TypeAlias = Literal["", "permitted", "restored"]


class FileChange(msgspec.Struct, frozen=True):
    """What a turn did at a path; None: nothing was, or is, there. `by`: what ran then."""

    path: str
    before: FileState | None
    after: FileState | None
    by: Origin = "command"
    outside: Outside = ""

    @property
    def kind(self) -> Literal["created", "changed", "deleted"]:
        if self.before is None:
            return "created"
        return "deleted" if self.after is None else "changed"

    @property
    def reverse(self) -> "FileChange":
        """The way back."""
        outside: Mapping[Outside, Outside] = {"permitted": "restored", "restored": "permitted"}
        return FileChange(self.path, self.after, self.before, self.by, outside.get(self.outside, ""))

    @property
    def is_directory(self) -> bool:
        """Whether only a directory came or went; people are told of files, and of modes."""
        return comes_or_goes_as_directory(self.before, self.after)


class ChangeSet(msgspec.Struct, frozen=True):
    """What changed in one turn.

    Attributes:
        interrupted: the turn was killed, and this was found afterwards.
    """

    id: str
    changes: tuple[FileChange, ...]
    interrupted: bool = False

    @property
    def files(self) -> tuple[FileChange, ...]:
        """The changes without directories that came or went."""
        return tuple(change for change in self.changes if not change.is_directory)


class CheckpointLimits(msgspec.Struct, frozen=True):
    """How much is kept. Megabytes are 2**20 bytes.

    Attributes:
        announce_megabytes: somebody is asked before so much is copied at once; 0: nobody is.
        first_files: so many new files are read before the first command, and the others during the next turns; 0: all.
    """

    max_megabytes: int = 1024
    max_days: int = 90
    announce_megabytes: int = 200
    first_files: int = 10_000


# Asked before much is copied: how many files, and how many bytes. The answer holds for the session.
Permit: TypeAlias = Callable[[int, int], Awaitable[bool]]


class CheckpointsDeclinedError(OSError):
    """Somebody did not want so much to be copied."""


class MissingCheckpointError(LookupError):
    """What would be needed is no longer kept; the message says why and what can be done."""


class Kept(msgspec.Struct, frozen=True):
    """What would remain of files that a call destroyed.

    Attributes:
        kept: checkpoints would restore all, but for `generated`.
        generated: directories, relative to the project, that checkpoints leave out. By their names, programs make
            them again, if git ignores them.
        unread: how many files of the project were not read yet, if not all is kept.
    """

    kept: bool
    generated: tuple[str, ...] = ()
    unread: int = 0


class Checkpoints(Protocol):
    """Change sets of one session in one project."""

    def begin(self) -> None:
        """Start to take in what the project looks like, in the background. Again, it does nothing."""

    async def ready(self, path: str | None = None, *, call: str = "") -> None:
        """Wait until what changes from here on can be told from what was there before. A call begins.

        Args:
            path: the only file that is about to change, as the tool was given it; None if it may be anything.
            call: what is about to change something, for `ended`.

        Raises:
            OSError: it cannot be told; what changes is not kept.
        """

    async def keeps(self, patterns: Sequence[str], *, name: str = "", kind: str = "") -> Kept:
        """Whether all that is at or below some paths would be restored, if a call destroyed it now.

        What changed since a call began that still runs is not kept: it counts as that call's doing.

        Args:
            patterns: paths with `*`, `?` and `[…]` as in `glob`, absolute or relative to the project.
            name: only what has such a name below them counts; "" for all.
            kind: only directories (`d`) or files (`f`) count there.

        Raises:
            OSError: it cannot be told.
        """

    async def ended(self, call: str, *, in_background: bool = False) -> None:
        """A call is over. What changes until the next `ready` is somebody else's.

        Args:
            call: as `ready` was told.
            in_background: something that it, or another one, started goes on; what changes may be its doing.

        Raises:
            OSError: it cannot be told what changed.
        """

    async def collect(self, *, more_to_come: bool = False) -> ChangeSet | None:
        """Keep what calls changed since the first `ready` as a change set; None if nothing did.

        Args:
            more_to_come: something goes on in the background: what it changes belongs to the next change set. Otherwise
                what changes until the next `ready` is somebody else's.
        """

    async def interrupted(self) -> ChangeSet | None:
        """What a turn of this session did that was killed, once; None if there was none."""

    async def change_set(self, change_set_id: str) -> ChangeSet:
        """A change set of this project.

        Raises:
            MissingCheckpointError: it is no longer kept.
        """

    async def preview(self, undo: Sequence[str], redo: Sequence[str]) -> "RestorePlan":
        """What taking back some change sets, the newest first, and then doing others again, would do.

        Raises:
            MissingCheckpointError: one of them is no longer kept.
        """

    async def restore(self, plan: "RestorePlan", progress: Callable[[int, int], None] | None = None) -> "RestoreResult":
        """Carry out a plan, but for what changed since it was made.

        Args:
            plan: as `preview` made it.
            progress: told now and then how many of how many paths are done.
        """

    async def merge(
        self,
        undo: Sequence[str],
        redo: Sequence[str],
        leave_out: Sequence[str] = (),
        moves: "Sequence[FileMove]" = (),
    ) -> ChangeSet | None:
        """Keep the way from one state to another as one change set. Touches no file.

        Args:
            undo: change sets to take back, the newest first.
            leave_out: paths that did not go that way.

        Raises:
            MissingCheckpointError: one of them is no longer kept.
        """

    async def differences(self, change_sets: Sequence[str]) -> "Sequence[FileDifference]":
        """What some change sets, done one after another, made of files; sorted by path, without directories.

        Raises:
            MissingCheckpointError: one of them is no longer kept.
        """

    async def close(self) -> None:
        """Let go of the project; remove what is kept beyond the limits."""
