"""Keeps protected names read-only while other programs replace them.

A mount belongs to one file or directory. Editors and git replace files by renaming a new one over them; the kernel then
removes the mount, in all namespaces, and the new file can be written. What comes under a protected name later has no
mount either. A new directory without files gets none before there is one: who has made it, perhaps a command that runs,
is going to write into it.
"""

import contextlib
import os
import stat
from collections.abc import Iterable

from kaa.hands.confinement import mounts
from kaa.hands.confinement.expansion import exists
from kaa.hands.protected import is_protected_name

_MAX_DIRECTORIES = 64  # in one that counts as empty


class ReadOnlyMounts:
    """Mounts what is at protected names read-only again, in the calling process's namespace and in those of slots.

    Args:
        paths: absolute paths of the names, whether they exist or not.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = tuple(paths)
        self._held: list[tuple[str, int]] = []  # a path and the descriptor of the mount made there

    def hold(self) -> None:
        """Hold what is there by now and not held. What cannot be held is left to the guard."""
        for path in filter(exists, self._paths):
            with contextlib.suppress(OSError):  # it was replaced meanwhile
                self._hold(path)

    def release(self) -> None:
        """Let go of everything that `hold` holds, so that the guard can act on what a command wrote before."""
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
            if stat.S_ISDIR(kind) and is_protected_name(os.path.basename(path), 0) and _is_empty(handle):
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


def _is_empty(directory: int) -> bool:
    """Whether there is nothing in a directory but some directories."""
    remaining, found = [f"/proc/self/fd/{directory}"], 0
    while remaining:
        with os.scandir(remaining.pop()) as entries:
            for entry in entries:
                found += 1
                if found > _MAX_DIRECTORIES or not entry.is_dir(follow_symlinks=False):
                    return False
                remaining.append(entry.path)
    return True
