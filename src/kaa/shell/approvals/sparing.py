"""Which losses of a command need no question: nothing is lost, or checkpoints keep it and `/undo` restores it."""

import glob
import posixpath
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from kaa.builtin.amounts import counted
from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.losses import Loss
from kaa.workspace.checkpoints.contract import Kept

if TYPE_CHECKING:
    from kaa.workspace.git import ChangedFiles

# Files with changes that are not committed, if asked for with those that git does not track; None: not known.
AskGit: TypeAlias = Callable[[bool], "Awaitable[ChangedFiles | None]"]
# Whether git ignores all of some directories, and tracks nothing in them.
Ignores: TypeAlias = Callable[[Sequence[str]], Awaitable[bool]]


class Keeps(Protocol):
    """Asks the checkpoints; see `Checkpoints.keeps`."""

    async def __call__(self, patterns: Sequence[str], *, name: str = "", kind: str = "") -> Kept:
        """What would remain of some files."""


class Sparing:
    """Judges losses by what git and the checkpoints know."""

    def __init__(self, ask_git: AskGit, ignores: Ignores, keeps: Keeps) -> None:
        self._ask_git = ask_git
        self._ignores = ignores
        self._keeps = keeps

    async def spare(self, call: JudgedCall) -> JudgedCall:
        """The call with only those losses that need a question."""
        losses, restorable = [], []
        for loss in call.losses:
            paths = await self._lost_paths(loss, call)
            if paths is None:
                losses.append(loss)
            elif paths:
                lost = [*paths, *map(glob.escape, call.moved or ())]
                possible = [posixpath.join(glob.escape(start), path) for start in call.directories for path in lost]
                kept = await self._keeps(possible, name=loss.name, kind=loss.entry_type) if possible else Kept(False)
                if not kept.kept or (kept.generated and not await self._ignores(kept.generated)):
                    losses.append(_restored_in_part(loss, kept.unread))
                elif not kept.generated:  # else /undo does not restore all of it
                    restorable.append(loss)
        return msgspec.structs.replace(call, losses=tuple(losses), restorable=tuple(restorable))

    async def _lost_paths(self, loss: Loss, call: JudgedCall) -> Sequence[str] | None:
        """Patterns of the files that are lost; None if that is not known, or something else is lost."""
        match loss.kind:
            case "files":
                return loss.paths
            case "changes" | "untracked" if call.directory is not None:
                changed = await self._ask_git(loss.kind == "untracked")
                if changed is None or changed.more:
                    return None
                lost = loss.changes_among(changed.paths)
                return (
                    None if lost and changed.mixed else tuple(map(glob.escape, lost))
                )  # what is staged is in no checkpoint
            case _:
                return None


def _restored_in_part(loss: Loss, unread: int) -> Loss:
    """Say in a loss that `/undo` may restore only a part of it, if files of the project were not read yet."""
    if not unread:
        return loss
    files = counted(unread, "file")
    said = (
        f"{loss.sentence}, and /undo may restore only a part: kaa has not read {files} of the project yet"
        " (checkpoints.waitForAllFiles has commands wait for that)"
    )
    return msgspec.structs.replace(loss, sentence=said)
