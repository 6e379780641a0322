"""Which losses of a command need no question: nothing is lost, or checkpoints keep it and `/undo` restores it."""

import posixpath
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import msgspec

from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.losses import Loss
from kaa.workspace.git import ChangedFiles

# Files with changes that are not committed, if asked for with those that git does not track; None: not known.
AskGit: TypeAlias = Callable[[bool], Awaitable[ChangedFiles | None]]
# Whether checkpoints keep all that is at or below some paths.
Keeps: TypeAlias = Callable[[Sequence[str]], Awaitable[bool]]


class Sparing:
    """Judges losses by what git and the checkpoints know.

    Args:
        ask_git: about the repository of the project.
        keeps: asks the checkpoints.
    """

    def __init__(self, ask_git: AskGit, keeps: Keeps) -> None:
        self._ask_git = ask_git
        self._keeps = keeps

    async def spare(self, call: JudgedCall) -> JudgedCall:
        """The call with only those losses that need a question."""
        losses, restorable = [], []
        for loss in call.losses:
            paths = await self._lost_paths(loss, call)
            possible = [posixpath.join(start, path) for start in call.directories for path in paths or ()]
            if paths is None or (paths and not (possible and await self._keeps(possible))):
                losses.append(loss)
            elif paths:
                restorable.append(loss)
        return msgspec.structs.replace(call, losses=tuple(losses), restorable=tuple(restorable))

    async def _lost_paths(self, loss: Loss, call: JudgedCall) -> Sequence[str] | None:
        """The files that are lost; None if that is not known, or something else is lost."""
        match loss.kind:
            case "files":
                return loss.paths
            case "changes" | "untracked" if not call.works_elsewhere:
                changed = await self._ask_git(loss.kind == "untracked")
                if changed is None or changed.more:
                    return None
                lost = loss.changes_among(changed.paths)
                return None if lost and changed.mixed else lost  # what is staged is in no checkpoint
            case _:
                return None
