"""What a command would throw away, said so that a person can decide."""

from collections.abc import Sequence

import msgspec


class Loss(msgspec.Struct, frozen=True):
    """What a command would throw away.

    Attributes:
        sentence: for people.
        changes: only changes that are not committed are lost, so that nothing is if there are none; the paths
            concerned, or an empty tuple for all of them. None if something is lost in any case.
    """

    sentence: str
    changes: tuple[str, ...] | None = None

    def spares(self, changed: Sequence[str] | None) -> bool:
        """Whether nothing is lost, given the files with changes that are not committed (None: not known)."""
        if self.changes is None or changed is None:
            return False
        if not self.changes:
            return not changed
        return not any(_concerns(path, file) for path in self.changes for file in changed)


def listed(words: Sequence[str | None]) -> str:
    """Words of a command for a sentence; None stands for one that bash computes."""
    shown = [word or "what is computed" for word in words[:3]]
    more = [f"{len(words) - 3} more"] if len(words) > 3 else []
    return ", ".join((*shown, *more)) or "something"


def _concerns(path: str, file: str) -> bool:
    """Whether `path`, relative to a directory we do not know for certain, may mean `file`."""
    return f"/{path}/" in f"/{file}/"
