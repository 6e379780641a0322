"""The directories that checkpoints cover, and what paths below them are called.

Paths below the first, the project, are relative to it; those below the others are absolute. What this user may not
read, but may permit themselves to read, is open all the same: what a command closes is not gone.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from kaa.hands.below import RootDirectory, open_root, reach_known
from kaa.hands.checkpoints.states import State


class Roots:
    """Some directories, open.

    Args:
        paths: absolute real paths, the project first. What is missing, or shares something with one before, is left
            out.

    Attributes:
        starts: with what paths below each of them start: "" for the project.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._roots = {
            "" if path == paths[0] else path: root for path in _separate(paths) if (root := open_root(path)) is not None
        }
        self.starts = tuple(self._roots)

    def find(self, path: str) -> tuple[RootDirectory, str]:
        """The directory that a path is in, and the path below that.

        Raises:
            PermissionError: it is in none.
        """
        start = self.start_of(path)
        below = path[len(start) :].strip("/")
        if start not in self._roots or not {"", ".", "..", ".git"}.isdisjoint(below.split("/")):
            raise PermissionError(f"{path} is in none of the directories that may be written")
        return self._roots[start], below

    def is_root(self, path: str) -> bool:
        """Whether a path is the name of one of these directories, a dot in it: `.` for the project."""
        start, _, name = path.rpartition("/")
        return name == "." and start in self._roots

    @contextlib.contextmanager
    def opened(self, directory: str) -> Iterator[int | None]:
        """A descriptor of a directory; None if it is not there, cannot be opened, or is in none of these."""
        with contextlib.ExitStack() as held:
            try:
                descriptor = held.enter_context(self._reached(directory))
            except OSError:
                descriptor = None
            yield descriptor

    def opened_for_writing(self, directory: str) -> AbstractContextManager[int | None]:
        """A descriptor of a directory in which names are going to change; None if there is certainly none.

        Raises:
            OSError: it cannot be opened.
        """
        return self._reached(directory, writing=True)

    def is_gone(self, directory: str) -> bool:
        """Whether there is certainly no directory at a path in these."""
        if self.start_of(directory) not in self._roots:
            return False
        try:
            with self._reached(directory) as descriptor:
                return descriptor is None
        except OSError:
            return False

    def _reached(self, directory: str, *, writing: bool = False) -> AbstractContextManager[int | None]:
        start = self.start_of(directory)
        if start not in self._roots:
            return contextlib.nullcontext(None)
        return reach_known(self._roots[start], directory[len(start) :].strip("/"), writing=writing)

    def itself(self, start: str) -> tuple[int, State]:
        """A descriptor of one of `starts`, perhaps for passing only, and its state, which needs no rights."""
        descriptor = self._roots[start].descriptor
        status = os.fstat(descriptor)
        return descriptor, State("directory", "", stat.S_IMODE(status.st_mode), 0, f"{status.st_ino:x}")

    def device_of(self, path: str) -> int:
        """On which file system the directory lies that a path is in."""
        return os.fstat(self._roots[self.start_of(path)].descriptor).st_dev

    def path_of(self, start: str) -> str:
        """The directory, absolute, whose paths start with one of `starts`."""
        return self._roots[start].path

    def start_of(self, path: str) -> str:
        """With what a path starts, as in `starts`; "/" if it is in none of these."""
        if not path.startswith("/"):
            return ""
        return next((start for start in self.starts if start and _is_in(path, start)), "/")

    def name_of(self, path: str) -> str | None:
        """What a real path is called here; None if it is in none of these, or is one."""
        for start, root in self._roots.items():
            if path != root.path and _is_in(path, root.path):
                return path[len(root.path.rstrip("/")) + 1 :] if not start else path
        return None


class Nearby:
    """Directories opened one after another. The last one stays open: what is next is mostly in it too.

    Args:
        opened: `Roots.opened` or `Roots.opened_for_writing`.
    """

    def __init__(self, opened: Callable[[str], AbstractContextManager[int | None]]) -> None:
        self._opened = opened
        self._path: str | None = None
        self._held = contextlib.ExitStack()
        self._descriptor: int | None = None

    def opened(self, directory: str) -> int | None:
        """A descriptor of a directory, valid until another one is asked for."""
        if directory != self._path:
            self.forget()
            self._descriptor = self._held.enter_context(self._opened(directory))
            self._path = directory if self._descriptor is not None else None
        return self._descriptor

    def forget(self) -> None:
        """Open the next one anew."""
        self._path = self._descriptor = None
        self._held.close()


def _separate(paths: Sequence[str]) -> list[str]:
    """The first, and those of the others that do not share anything with one before."""
    chosen: list[str] = []
    for path in paths:
        if os.path.isdir(path) and not any(_is_in(path, other) or _is_in(other, path) for other in chosen):
            chosen.append(path)
    return chosen


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
