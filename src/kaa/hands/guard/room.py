"""How much of what is at a guarded name is looked at, and how closely, so that nothing hides behind something else."""

import os
import stat

from kaa.hands.guard.items import NOTED, TOO_MUCH, GuardedItem, Items

_MAX_READ = 2048  # files of a subject: each takes 50 us, and a directory as long
_MAX_NEW = 2048  # things of a subject that are looked at besides those that are accepted
_MAX_WITH_NEW = 8192  # of both, up to which there may be new ones
_MAX_NOTED = 16384  # things that are looked at when everything is accepted; 3 us for a file that is not read


class Room:
    """How much of a subject is looked at, and how closely.

    When everything is accepted, `_MAX_READ` files are read, of the others is noted when they were changed last, and
    nobody looks at what is beyond `_MAX_NOTED` things. Commands may add things until there are `_MAX_WITH_NEW`; more of
    them are dangerous. So whatever a command adds, it comes to lie within what is noted at the next start, and so does
    what is there besides. What was only noted is read once it has changed.

    Args:
        takes_in: everything is accepted now.
    """

    def __init__(self, before: Items, *, takes_in: bool = False) -> None:
        self.items: Items = {}
        self._before = before
        self._takes_in = takes_in
        # For what is new, while commands run. What was moved away counts, too: commands can give such names themselves.
        self._left = min(_MAX_NEW, max(_MAX_WITH_NEW - len(before), 0))
        self._read = 0
        self._accepted: set[str] | None = None  # paths of what is accepted, and of directories above

    def has(self, path: str, directory: int, name: str, reason: str, *, is_near: bool = True) -> bool:
        """Return True if what is at a path is to be looked at. Otherwise it becomes an item as it is.

        Args:
            reason: what is dangerous about more than can be looked at.
            is_near: it is not too deep.
        """
        if is_near and self._fits(path):
            return True
        self.items[path] = GuardedItem(TOO_MUCH | _noted(_status(directory, name)), reason)
        return False

    def notes(self, path: str, directory: int, name: str, reason: str) -> bool:
        """Return True if a file has not to be read, because there are more, and it is as it was."""
        status = None
        accepted = self._before.get(path)
        if accepted is not None and accepted.is_noted:
            status = _status(directory, name)
            if accepted.dangers == NOTED | _noted(status):
                self.items[path] = accepted
                return True
        if not self._takes_in or self._read < _MAX_READ:
            return False
        status = status or _status(directory, name)
        if status is None or stat.S_ISDIR(status.st_mode):
            return False
        self.items[path] = GuardedItem(NOTED | _noted(status), reason)
        return True

    def add(self, path: str, item: GuardedItem) -> None:
        """Add something that was read. What is harmless takes no room from the rest."""
        self.items[path] = item
        self._read += bool(item.dangers)
        self._left -= path not in self._before

    def was_read(self, path: str) -> bool:
        """Whether what is at a path is accepted."""
        return path in self._before

    def was_directory(self, path: str) -> bool:
        """Whether something below a path is accepted."""
        return path not in self._before and path in self._accepted_paths()

    def _fits(self, path: str) -> bool:
        if self._takes_in:
            return len(self.items) < _MAX_NOTED
        accepted = self._before.get(path)
        if accepted is not None:
            return not accepted.is_unread
        return self._left > 0 or path in self._accepted_paths()

    def _accepted_paths(self) -> set[str]:
        if self._accepted is None:
            self._accepted = set()
            for accepted in self._before:
                path = accepted
                while path and path not in self._accepted:
                    self._accepted.add(path)
                    path = path.rpartition("/")[0]
        return self._accepted


def _status(directory: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None


def _noted(status: os.stat_result | None) -> frozenset[str]:
    """What is another as soon as a file is changed, or exchanged."""
    if status is None:
        return frozenset()
    kind, size, changed = status.st_mode, status.st_size, status.st_ctime_ns
    return frozenset({f"{status.st_dev}:{status.st_ino}:{kind:o}:{size}:{changed}"})
