"""Puts back what the guard of the sandbox moved away while git created a worktree: files that programs obey.

The guard takes what git writes for what a command planted. Here it comes from the user's own project: kaa asks git for
the contents and writes them itself, once nothing runs in the worktree any more.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from kaa.shell.worktrees.states import MovedFile

_BLOCKED = ".kaa-blocked*"


def put_back(files: Sequence[MovedFile], directory: str, place: str) -> None:
    """Write the files where git had written them, and remove what the guard kept of them.

    Args:
        files: with their contents.
        directory: of the worktree, which is new.
        place: the project that it was made of; what it has under such a name is not removed.

    Raises:
        OSError: a file cannot be written.
    """
    for file in files:
        target = Path(directory, file.path)
        for part in (target, *target.parents):
            if part == Path(directory):
                break
            for kept in part.parent.glob(f"{part.name}{_BLOCKED}"):
                if not os.path.lexists(Path(place, kept.relative_to(directory))):
                    _remove(kept)
        target.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(os.open(target, flags, 0o777 if file.is_executable else 0o666), "wb") as opened:
            opened.write(file.content)


def _remove(kept: Path) -> None:
    if kept.is_dir() and not kept.is_symlink():
        shutil.rmtree(kept)
    else:
        kept.unlink()
