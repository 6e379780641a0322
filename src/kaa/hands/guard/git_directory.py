"""A git directory, and the symlinks in it: git itself makes none.

It follows them to write logs, messages, `packed-refs` and more, with content that a command can choose: a link in place
of `COMMIT_EDITMSG` or `logs/HEAD` would have the user's next `git commit` write to `~/.bashrc`.
"""

import contextlib
import os
from typing import NamedTuple

from kaa.hands.git_names import is_trial
from kaa.hands.guard.items import GIT_LINK, GuardedItem, Items, Plain, Watch

_MAX_DIRECTORIES = 8192  # of one git directory: 30 us each


class GitDirectory(NamedTuple):
    """A git directory, or a directory in one.

    Attributes:
        directory: open.
        path: below the subject's.
        depth: how many git directories it is in.
        work_tree: where its files are if its configuration says nothing of it, below the directory that has the
            `.git`; None if that is not known.
        is_worktree: it is that of a worktree, inside the common one.
        is_module: it is that of a submodule.
        absolute: its absolute path.
        sha256: its hashes have 32 bytes, as the configuration of the repository says.
    """

    directory: int
    path: str
    depth: int = 0
    work_tree: str | None = None
    is_worktree: bool = False
    is_module: bool = False
    absolute: str = ""
    sha256: bool = False

    def below(self, directory: int, name: str) -> "GitDirectory":
        """A directory in it."""
        return self._replace(directory=directory, path=self.inside(name), absolute=os.path.join(self.absolute, name))

    def inside(self, name: str) -> str:
        """The path of something in it."""
        return f"{self.path}/{name}" if self.path else name


def note_all_links(items: Items, top: GitDirectory, watch: Watch, without: frozenset[str]) -> None:
    """Add the symlinks of a git directory to the items.

    Args:
        items: what is added to.
        top: the git directory, which is watched already.
        watch: see `GuardWatch`.
        without: directories in it to leave out.
    """
    remaining = [top]
    for count in range(_MAX_DIRECTORIES):
        if not remaining:
            return
        at = remaining.pop()
        if count:
            watch(at.directory, Plain(_nothing, at.absolute, grows=True))
        try:
            for name in note_links(items, at):
                if count or name not in without:
                    with contextlib.suppress(OSError):  # gone, or exchanged: that is another event
                        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                        remaining.append(at.below(os.open(name, flags, dir_fd=at.directory), name))
        finally:
            if count:
                os.close(at.directory)
    for at in remaining:
        os.close(at.directory)
        reason = "it is in a repository with more directories than can be checked for links"
        items[at.path] = GuardedItem(frozenset({"too much"}), reason)


def _nothing(name: str) -> bool:
    return False


def note_links(items: Items, place: GitDirectory) -> list[str]:
    """Add the symlinks in one directory to the items. Returns the names of the directories in it."""
    below = []
    with contextlib.suppress(OSError), os.scandir(place.directory) as entries:
        for entry in entries:
            if entry.is_symlink():
                items.setdefault(place.inside(entry.name), _link(place, entry.name))
            elif entry.is_dir(follow_symlinks=False):
                below.append(entry.name)
    return below


def _link(place: GitDirectory, name: str) -> GuardedItem:
    try:
        target = os.readlink(name, dir_fd=place.directory)
    except OSError:  # exchanged meanwhile, which is another event
        target = ""
    is_branch = name == "HEAD" and target.startswith("refs/heads/") and ".." not in target.split("/")
    is_harmless = is_branch or not target or is_trial(name, target)
    return GuardedItem(frozenset() if is_harmless else frozenset({f"-> {target}"}), GIT_LINK)
