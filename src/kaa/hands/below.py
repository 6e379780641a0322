"""What is below a directory, by its path, or opened on a way that no symlink is part of.

The way is safe however fast somebody exchanges directories for links.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import NamedTuple

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class RootDirectory(NamedTuple):
    """A writable directory and an open descriptor of it."""

    path: str
    descriptor: int


def is_below(path: str, directory: str) -> bool:
    """Whether an absolute path is that of a directory, or of something below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


@contextlib.contextmanager
def open_below(root: RootDirectory, path: str) -> Iterator[int | None]:
    """A directory below a root, by a path that no symlink is part of; None if there is none."""
    descriptor = os.dup(root.descriptor)
    try:
        for part in path.split("/") if path else ():
            below = os.open(part, _DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        if not path:  # the root's own descriptor may be without right to list it
            below = os.open(".", _DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
    except OSError:
        os.close(descriptor)
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
