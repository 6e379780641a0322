"""Keeps protected names read-only while other programs replace them.

A mount belongs to one file or directory. Editors and git replace files by renaming a new one over them; the kernel then
removes the mount, in all namespaces, and the new file can be written. What comes under a protected name later has no
mount either.
"""

import contextlib
import os
import stat
from collections.abc import Iterable

from kaa.hands.confinement import mounts
from kaa.hands.confinement.expansion import exists

_MAX_DIRECTORIES = 64  # in one without files


class ReadOnlyMounts:
    """Mounts what is at protected names read-only again, in the calling process's namespace and in those of slots.

    Args:
        paths: absolute paths of the names, whether they exist or not.
        awaited: the same, of names at which there was nothing. New directories there are held once they are filled: a
            command that has just made one goes on, and the guard takes out what it writes there.

    Attributes:
        is_released: the guard is acting on what was held: nothing else may call `hold` until that is done.
    """

    def __init__(self, paths: Iterable[str], awaited: Iterable[str] = ()) -> None:
        self._awaited = frozenset(awaited)
        self._paths = (*paths, *self._awaited)
        self.is_released = False
        self._held: list[tuple[str, int]] = []  # a path and the descriptor of the mount made there

    def hold(self) -> None:
        """Hold what is there by now and not held. What cannot be held is left to the guard."""
        self.is_released = False
        for path in filter(exists, self._paths):
            with contextlib.suppress(OSError):  # it was replaced meanwhile
                self._hold(path)

    def release(self) -> None:
        """Let go of everything that `hold` holds, so that the guard can act on what a command wrote before."""
        self.is_released = True
        for _, mount in reversed(self._held):
            with contextlib.suppress(OSError):  # it was replaced in turn
                mounts.uncover(mount)
            os.close(mount)
        self._held.clear()

    def _hold(self, path: str) -> None:
        if os.statvfs(path).f_flag & os.ST_RDONLY:  # one call for most names
            return
        handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            kind = os.fstat(handle).st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)) or os.fstatvfs(handle).f_flag & os.ST_RDONLY:
                return
            if path in self._awaited and stat.S_ISDIR(kind) and not _has_files(handle):
                return
            mount = mounts.cover(handle)
            if any(path == held for held, _ in self._held):
                self._forget_removed()
            self._held.append((path, mount))
        finally:
            os.close(handle)

    def _forget_removed(self) -> None:
        """Let go of mounts that the kernel has removed. Others went elsewhere with a directory."""
        removed = [entry for entry in self._held if not mounts.is_attached(entry[1])]
        for entry in removed:
            self._held.remove(entry)
            os.close(entry[1])


def _has_files(directory: int) -> bool:
    """Whether there is more in a directory than some directories, such as those of `mkdir -p .claude/commands`."""
    remaining, found = [f"/proc/self/fd/{directory}"], 0
    while remaining:
        with os.scandir(remaining.pop()) as entries:
            for entry in entries:
                found += 1
                if found > _MAX_DIRECTORIES or not entry.is_dir(follow_symlinks=False):
                    return True
                remaining.append(entry.path)
    return False
