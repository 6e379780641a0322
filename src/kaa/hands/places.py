"""Where a file operation works: a name in an open directory, which stays the same however fast others exchange links.

A path that a person approved is real: no part of it is a symlink. It is walked directory by directory without following
any, so that the operation either happens there or fails.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import NamedTuple

# Entering a directory needs no right to list it. Systems without O_PATH ask for that right too.
_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileLocation(NamedTuple):
    """A file that may or may not exist.

    Attributes:
        path: absolute, for messages and answers.
        name: what to hand to the system, relative to `directory`.
        directory: descriptor of the directory it is in; None for a path that the kernel follows through symlinks.
    """

    path: str
    name: str
    directory: int | None = None

    def status(self) -> os.stat_result:
        return os.stat(self.name, dir_fd=self.directory, follow_symlinks=self.directory is None)

    def open(self, flags: int) -> int:
        """Open what is there. Returns a descriptor."""
        no_follow = 0 if self.directory is None else os.O_NOFOLLOW
        return os.open(self.name, flags | no_follow | os.O_CLOEXEC, dir_fd=self.directory)


def followed(path: str) -> FileLocation:
    """The place that an absolute path leads to when it is used."""
    return FileLocation(path, path)


@contextlib.contextmanager
def real(path: str, *, create: bool = False) -> Iterator[FileLocation]:
    """The place at an absolute path of which no part may be a symlink.

    Args:
        path: without `.` and `..`.

    Raises:
        OSError: a directory on the way is missing, or is none.
    """
    *directories, name = path.lstrip("/").split("/")
    if ".." in (*directories, name):
        raise OSError(errno.EINVAL, "A real path has no '..'")
    with _walk(directories, create=create) as descriptor:
        yield FileLocation(path, name or ".", descriptor)


def enter(path: str) -> None:
    """Make the directory at a real path the current one."""
    with _walk([part for part in path.split("/") if part], create=False) as descriptor:
        os.fchdir(descriptor)


@contextlib.contextmanager
def _walk(parts: list[str], *, create: bool) -> Iterator[int]:
    descriptor = os.open("/", _DIRECTORY)
    try:
        for part in parts:
            below = _step(part, descriptor, create=create)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _step(part: str, directory: int, *, create: bool) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=directory)
    except FileNotFoundError:
        if not create:
            raise
    with contextlib.suppress(FileExistsError):  # somebody else made it, or put something else there
        os.mkdir(part, dir_fd=directory)
    return os.open(part, _DIRECTORY, dir_fd=directory)
