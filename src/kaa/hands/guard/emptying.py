"""Takes files out of new protected directories, which stay where they are: an empty directory executes nothing.

So a command that makes a directory and then writes into it goes on, whichever of its steps the guard sees first.
"""

import _thread  # `threading` would load for a millisecond
import contextlib
import errno
import itertools
import os
from collections.abc import Callable, Iterator, Sequence

from kaa.hands.below import RootDirectory, reach_below
from kaa.hands.guard.items import OpenedItem, kept_names, names_in, opened
from kaa.hands.guard.quarantine import MountedError, exists, rename
from kaa.hands.guard.subjects import Subject

_MAX_TAKEN_FILES = 32  # out of one directory at a time; one with more is moved away as a whole
_MAX_TRIED_NAMES = 10  # for what is taken out
_MAX_NAMES = 512  # to look at in one that stays
_MAX_DEPTH = 4  # of one that stays
_MAX_DIRECTORIES = 32  # in one that stays: each takes a watch, and nobody is to use up all of them
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def files_in(directory: int, name: str, watch: Callable[[int], bool]) -> list[str] | None:
    """Return the paths of all files, links and the like in a directory that is under a name in an open one.

    Args:
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
            for kept in itertools.islice(self._names(subject, directory), _MAX_TRIED_NAMES):
                names = [kept, *parent.split("/")] if parent else [kept]
                try:
                    _make_directories(here, names)
                    with reach_below(here, "/".join(names)) as target:
                        if target is not None and not exists(target, name):
                            rename(source, name, target, name)
                            self._kept[subject] = kept
                            return kept
                except (OSError, MountedError):
                    _remove_empty(here, names)
                    raise
                _remove_empty(here, names)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

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


def _make_directories(here: RootDirectory, names: Sequence[str]) -> None:
    """Make directories, each in the one before; the first one is there. Their path may be longer than the kernel takes.

    Raises:
        OSError: one cannot be made. If something else is there, the caller finds out.
    """
    for at in range(1, len(names)):
        with reach_below(here, "/".join(names[:at])) as above:
            if above is None:
                return
            with contextlib.suppress(FileExistsError):
                os.mkdir(names[at], 0o700, dir_fd=above)


def _remove_empty(here: RootDirectory, names: Sequence[str]) -> None:
    """Remove directories, each in the one before, from the innermost one on, as far as nothing is in them."""
    with contextlib.suppress(OSError):
        for at in reversed(range(len(names))):
            with reach_below(here, "/".join(names[:at])) as above:
                if above is not None:
                    os.rmdir(names[at], dir_fd=above)


def _remove(directory: int, name: str) -> None:
    descriptor = os.open(name, _DIRECTORY, dir_fd=directory)
    try:
        for below in os.listdir(descriptor):
            _remove(descriptor, below)
    finally:
        os.close(descriptor)
    os.rmdir(name, dir_fd=directory)
