"""Takes files out of new protected directories, which stay where they are: an empty directory executes nothing.

So a command that makes a directory and then writes into it goes on, whichever of its steps the guard sees first.
"""

import _thread  # `threading` would load for a millisecond
import contextlib
import errno
import os
from collections.abc import Callable, Iterator

from kaa.hands.below import RootDirectory, reach_below
from kaa.hands.guard.items import OpenedItem, kept_names, names_in, opened
from kaa.hands.guard.quarantine import MountedError, exists, rename
from kaa.hands.guard.subjects import Subject

_MAX_TAKEN_FILES = 32  # out of one directory at a time; one with more is moved away as a whole
_MAX_NAMES = 512  # to look at in one that stays
_MAX_DEPTH = 4  # of one that stays
_MAX_DIRECTORIES = 32  # in one that stays: each takes a watch, and nobody is to use up all of them
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def files_in(directory: int, name: str, watch: Callable[[int], bool]) -> list[str] | None:
    """Return the paths of all files, links and the like in a directory that is under a name in an open one.

    Args:
        directory: the open one.
        name: in it.
        watch: gets each directory before it is read, to have changes reported; False if they will not be.

    Returns:
        Paths below the name; None if it is no directory, has more or deeper ones than can be taken out singly, or
        cannot be watched.
    """
    found: list[str] = []
    remaining, directories = _MAX_NAMES, 0

    def collect(directory: int, name: str, path: str, depth: int) -> bool:
        nonlocal remaining, directories
        with opened(name, directory) as item:
            if item is None:
                return True
            if not isinstance(item, OpenedItem) or item.is_file:
                found.append(path)
                return bool(path) and len(found) <= _MAX_TAKEN_FILES
            directories += 1
            if directories > _MAX_DIRECTORIES or not watch(item.descriptor):
                return False
            names = names_in(item.descriptor)
            remaining -= len(names)
            if remaining <= 0 or (names and depth == _MAX_DEPTH):
                return False
            return all(collect(item.descriptor, one, f"{path}/{one}" if path else one, depth + 1) for one in names)

    return found if collect(directory, name, "", 0) else None


class EmptiedDirectories:
    """The new directories that files were taken out of. Threads share it."""

    def __init__(self) -> None:
        self._kept: dict[Subject, str] = {}  # under which name, beside it, the files of each are now
        self._changing = _thread.allocate_lock()

    def take_out(self, subject: Subject, directory: int, path: str) -> str:
        """Move a file of a new directory to the same path in a directory beside it.

        Args:
            subject: the new directory.
            directory: the open directory in which that is.
            path: of the file, below the subject.

        Returns:
            The name of the directory beside it.

        Raises:
            FileNotFoundError: it is gone.
            MountedError: a mount keeps it.
            OSError: it is still there.
        """
        parent, _, name = path.rpartition("/")
        here = RootDirectory("", directory)
        with self._changing, reach_below(here, os.path.join(subject.name, parent).rstrip("/")) as source:
            if source is None or not exists(source, name):  # the other thread may have been here
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            for kept in self._names(subject, directory):
                _make_directories(directory, kept, parent)
                with reach_below(here, os.path.join(kept, parent).rstrip("/")) as target:
                    if target is not None and not exists(target, name):
                        try:
                            rename(source, name, target, name)
                        except (OSError, MountedError):
                            _remove_empty(directory, kept, parent)
                            raise
                        self._kept[subject] = kept
                        return kept
        raise AssertionError("there is always another name")

    def clear_away(self) -> None:
        """Remove the directories that files were taken out of, unless there are other files in them by now."""
        with self._changing:
            emptied, self._kept = self._kept, {}
            for subject in emptied:
                root, path = subject.directory
                # A mount holds it, or a file has come; or it cannot be read, which `look_into` reports.
                with contextlib.suppress(OSError), reach_below(root, path) as directory:
                    if directory is not None and files_in(directory, subject.name, lambda _: True) == []:
                        _remove(directory, subject.name)

    def _names(self, subject: Subject, directory: int) -> Iterator[str]:
        """Names of directories to keep its files in: that of those before, then new ones, which exist when given."""
        if subject in self._kept:
            yield self._kept[subject]
        for name in kept_names(subject.name):
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=directory)
                yield name


def _make_directories(directory: int, name: str, path: str) -> None:
    for end in (at for at, one in enumerate(f"{path}/") if path and one == "/"):
        with contextlib.suppress(OSError):  # it is there already; or it cannot be, as the caller finds out
            os.mkdir(os.path.join(name, path[:end]), 0o700, dir_fd=directory)


def _remove_empty(directory: int, name: str, path: str) -> None:
    """Remove what `_make_directories` has made, from the innermost one on, as far as nothing is in it."""
    inner = os.path.join(name, path).rstrip("/")
    with contextlib.suppress(OSError):
        while inner:
            os.rmdir(inner, dir_fd=directory)
            inner = os.path.dirname(inner)


def _remove(directory: int, name: str) -> None:
    descriptor = os.open(name, _DIRECTORY, dir_fd=directory)
    try:
        for below in os.listdir(descriptor):
            _remove(descriptor, below)
    finally:
        os.close(descriptor)
    os.rmdir(name, dir_fd=directory)
