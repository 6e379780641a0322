"""What a command would throw away, said so that a person can decide."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

# What is lost: files below `paths`; changes that are not committed, of files below `paths` or of all if there are none,
# and what is staged of them; files that git does not track; what only the repository has, or a remote of it; or
# something else. Of the last three, checkpoints keep nothing.
LossKind: TypeAlias = Literal["files", "changes", "untracked", "repository", "remote", "other"]


class Loss(msgspec.Struct, frozen=True):
    """What a command would throw away.

    Attributes:
        paths: where, as the command names them; of files, as wildcard patterns.
        name: pattern of the names that are lost below `paths`; "" for all.
        entry_type: of what is lost there: `d`, `f` or "" for both.
    """

    sentence: str
    kind: LossKind = "other"
    paths: tuple[str, ...] = ()
    name: str = ""
    entry_type: str = ""

    def changes_among(self, changed: Sequence[str]) -> tuple[str, ...]:
        """Those of the files with changes that are not committed whose changes are lost."""
        return tuple(file for file in changed if not self.paths or any(_concerns(path, file) for path in self.paths))


def listed(words: Sequence[str | None]) -> str:
    """Words of a command for a sentence; None stands for one that bash computes."""
    shown = [word or "what is computed" for word in words[:3]]
    more = [f"{len(words) - 3} more"] if len(words) > 3 else []
    return ", ".join((*shown, *more)) or "something"


def _concerns(path: str, file: str) -> bool:
    """Whether `path`, relative to a directory we do not know for certain, may mean `file`; git expands patterns."""
    return not {"*", "?", "["}.isdisjoint(path) or f"/{path}/" in f"/{file}/"
