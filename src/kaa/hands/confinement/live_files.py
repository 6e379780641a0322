"""Keeps single files that a view shows as they are, though a copy is in the place of their directory.

A mount shows one file: after an editor or `git checkout` has replaced it, programs would read the former one for good,
and what they write would be lost.
"""

import contextlib
import os
import stat

from kaa.hands.confinement import mounts
from kaa.hands.confinement.building import open_without_links
from kaa.hands.confinement.view import SlotView
from kaa.hands.policy import Policy

_FILE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_NOTHING = (0, 0)


class LiveFiles:
    """The files of a view. Make it before the view covers their directories.

    Args:
        view: as it will be built.

    Raises:
        ViewChangedError: the path of a directory leads through a symlink.
        OSError: a directory cannot be opened.
    """

    def __init__(self, policy: Policy, view: SlotView) -> None:
        kept = {path for path, copy in policy.replaced if path == copy}
        kinds = {step.target: step.kind for step in view.steps if step.kind in ("readable", "writable")}
        self._writable = {path: kinds[path] == "writable" for path in kept & kinds.keys() if os.path.isfile(path)}
        self._shown = dict.fromkeys(self._writable, _NOTHING)
        self.directories = {path: open_without_links(path) for path in set(map(os.path.dirname, self._writable))}

    @property
    def names(self) -> frozenset[str]:
        return frozenset(map(os.path.basename, self._writable))

    def begin(self) -> None:
        """The view is built now."""
        for path in self._shown:
            with contextlib.suppress(OSError):
                self._shown[path] = _identity(os.lstat(path))

    def catch_up(self) -> None:
        """Show what has replaced files. What cannot be shown stays as it was."""
        for path, is_writable in self._writable.items():
            with contextlib.suppress(OSError):  # it is gone, or comes back in a moment
                handle = os.open(os.path.basename(path), _FILE, dir_fd=self.directories[os.path.dirname(path)])
                try:
                    status = os.fstat(handle)
                    if stat.S_ISREG(status.st_mode) and self._shown[path] != _identity(status):
                        self._show(path, handle, is_writable=is_writable)
                        self._shown[path] = _identity(status)
                finally:
                    os.close(handle)

    def close(self) -> None:
        """In a slot: let go of what leads to the directories of the host."""
        for descriptor in self.directories.values():
            os.close(descriptor)

    def _show(self, path: str, handle: int, *, is_writable: bool) -> None:
        with contextlib.suppress(OSError):  # it failed before
            mounts.uncover_name(path)  # the directory is a copy, which no command can change
        place = os.open(path, _FILE)
        try:
            os.close(mounts.attach(handle, place, writable=is_writable))
        finally:
            os.close(place)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
