"""What a guard moved away, which it recognizes by device and inode: anybody can use its name."""

import os
import stat
from typing import TypeAlias

from kaa.hands.guard.items import NO_BRANCH, is_kept_name
from kaa.hands.guard.subjects import Subject

Identity: TypeAlias = tuple[int, int, int]
"""Device, inode and kind. Inodes are given again."""


class MovedAway:
    """What this guard moved away, and its directory. The guard of another kaa may give it another name.

    What must not be the name of a branch stays that only under such a name.
    """

    def __init__(self) -> None:
        self._known: set[tuple[str, Identity | None, bool]] = set()

    def note(self, kept: str, identity: Identity | None) -> None:
        """Note what was moved away to a path. It is gone from there if the guard of another kaa was as quick.

        Args:
            kept: the path, absolute.
        """
        self._known.add((os.path.dirname(kept), identity_of(kept) or identity, kept.endswith(NO_BRANCH)))

    def covers(self, subject: Subject, path: str) -> bool:
        """Whether this, or what it is in, was moved away and has been in its directory since.

        Git may use what is in a directory that was moved away: that is judged.
        """
        absolute = os.path.join(subject.path, path)
        if subject.is_git:
            return self.has(absolute)
        while len(absolute) > len(subject.path):
            if self.has(absolute):
                return True
            absolute = os.path.dirname(absolute)
        return False

    def has(self, absolute: str) -> bool:
        """Whether what is at a path was moved away."""
        parent, name = os.path.split(absolute)
        identity = identity_of(absolute) if is_kept_name(name) else None
        return identity is not None and (parent, identity, name.endswith(NO_BRANCH)) in self._known


def identity_of(path: str) -> Identity | None:
    """What is at a path; None if nothing is."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, stat.S_IFMT(status.st_mode)
