"""Worktrees elsewhere of a project's repositories: slots see that they exist, and nothing of what is in them.

`git worktree prune`, which `git gc` starts, forgets each worktree whose `.git` it does not find, with its index and its
log; `git worktree remove` does so whether it can remove the files or not. In the place of a `.git` that slots do not
see there is an empty directory. Git takes the worktree for an existing one then, and refuses to remove it, since that
is no `.git` of a worktree. A judge of commands cannot do this: they start git in scripts and programs.
"""

import contextlib
import os
import stat

from kaa.hands.below import RootDirectory, open_below
from kaa.hands.confinement import mounts, repositories
from kaa.hands.confinement.layout import Layout
from kaa.hands.confinement.view import SlotView, ancestors

_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LaterWorktrees:
    """Shows slots in the directories of the home that were carved that worktrees exist which came since the start.

    Args:
        view: as it was built.
        layout: likewise.
        home: the path and a descriptor of the user's home on the host, which the view covers.
    """

    def __init__(self, view: SlotView, layout: Layout, home: RootDirectory) -> None:
        self._kinds = {step.target: step.kind for step in view.steps}
        self._repositories = layout.repositories
        self._home = home
        self._changed: dict[str, int] = {}  # when worktrees came or went last
        self._shown: set[str] = set()

    def catch_up(self) -> None:
        """Show what exists by now. What cannot be shown stays away."""
        for path in self._repositories:
            folder = os.path.join(path, "worktrees")
            try:
                changed = os.stat(folder, follow_symlinks=False).st_mtime_ns
            except OSError:  # there are none
                continue
            if self._changed.get(folder) == changed:
                continue
            self._changed[folder] = changed
            for worktree in repositories.worktrees(path):
                with contextlib.suppress(OSError):
                    self._show(worktree.entry)

    def _show(self, entry: str) -> None:
        place = next((path for path in ancestors(entry) if path in self._kinds), "")
        if entry in self._shown or self._kinds.get(place) != "carved" or os.path.lexists(entry):
            return
        if not self._exists(entry):
            return
        visible = os.open(place, _DIRECTORY)
        try:
            writable = mounts.clone(visible, writable=True)
        finally:
            os.close(visible)
        try:
            _make_directories(writable, os.path.relpath(entry, place))
        finally:
            os.close(writable)
        self._shown.add(entry)

    def _exists(self, entry: str) -> bool:
        """Whether a `.git` file is at a path of the host: a command may have written that path."""
        above, _, name = os.path.relpath(entry, self._home.path).rpartition("/")
        if above == ".." or above.startswith("../"):
            return False
        with open_below(self._home, above) as directory:
            if directory is None:
                return False
            return stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)


def _make_directories(root: int, path: str) -> None:
    with contextlib.ExitStack() as opened:
        directory = root
        for name in path.split("/"):
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=directory)
            directory = os.open(name, _DIRECTORY, dir_fd=directory)
            opened.callback(os.close, directory)
