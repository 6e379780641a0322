"""Putting one file, symlink or directory back: only in place of what is expected there, and through no symlink."""

import contextlib
import errno
import os

from kaa.hands.below import Root, open_below
from kaa.hands.checkpoints.states import State, look

_NEW_DIRECTORY_MODE = 0o777  # less the umask


class NotAsExpectedError(Exception):
    """Something else is there; nothing was changed."""


def put(root: Root, path: str, expected: State | None, target: State | None, content: bytes) -> None:
    """Make a path what it is to be.

    A directory is only removed if it is empty; otherwise it stays, as somebody else has put something there.

    Args:
        root: the directory that the path is below.
        path: below the root, as `Roots.find` gives it: without `..`.
        expected: what is there; None: nothing.
        target: what is to be there; None: nothing.
        content: of a file, or a symlink's target.

    Raises:
        NotAsExpectedError: something else is there.
        OSError: the system refused.
    """
    directory, _, name = path.rpartition("/")
    if target is not None:
        _make_directories(root, directory)
    with open_below(root, directory) as descriptor:
        if descriptor is None:
            if target is None and expected is None:
                return
            raise NotAsExpectedError
        _check(descriptor, name, expected)
        if target is None:
            _remove(descriptor, name, expected)
        elif target.kind == "directory":
            os.mkdir(name, target.mode, dir_fd=descriptor)
        else:
            _replace(descriptor, name, expected, target, content)


def _check(directory: int, name: str, expected: State | None) -> None:
    state = look(directory, name).state
    if state is None and expected is None:
        return
    if state is None or not state.same_as(expected):
        raise NotAsExpectedError


def _remove(directory: int, name: str, expected: State | None) -> None:
    if expected is None:
        return
    if expected.kind != "directory":
        os.unlink(name, dir_fd=directory)
        return
    try:
        os.rmdir(name, dir_fd=directory)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def _replace(directory: int, name: str, expected: State | None, target: State, content: bytes) -> None:
    """Put the new one beside the old one, then give it the name."""
    temporary = f".kaa-{os.urandom(8).hex()}.tmp"
    try:
        if target.kind == "symlink":
            os.symlink(os.fsdecode(content), temporary, dir_fd=directory)
        else:
            _write(directory, temporary, target.mode, content)
        _check(directory, name, expected)  # as late as can be
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise


def _write(directory: int, name: str, mode: int, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=directory)
    try:
        remaining = memoryview(content)
        while remaining:
            remaining = remaining[os.write(descriptor, remaining) :]
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _make_directories(root: Root, path: str) -> None:
    """Make the directories on the way that are missing.

    Raises:
        NotAsExpectedError: something else is in the way.
        OSError: one cannot be made.
    """
    made = ""
    for name in path.split("/") if path else ():
        with open_below(root, made) as descriptor:
            if descriptor is None:
                raise NotAsExpectedError
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, _NEW_DIRECTORY_MODE, dir_fd=descriptor)
        made = f"{made}/{name}" if made else name
