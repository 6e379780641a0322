"""What is below a directory, by its path, or opened on a way that no symlink is part of.

The way is safe however fast somebody exchanges directories for links.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PASSED = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_EFFECTIVE = os.access in os.supports_effective_ids

# What the kernel says of a path at which there is nothing of the wanted kind. No other error means that.
NOTHING_THERE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG))


class ClosedByOtherUserError(PermissionError):
    """Nobody but another user can open a directory."""


class RootDirectory(NamedTuple):
    """A writable directory and an open descriptor of it."""

    path: str
    descriptor: int


def is_below(path: str, directory: str) -> bool:
    """Whether an absolute path is that of a directory, or of something below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


@contextlib.contextmanager
def open_below(root: RootDirectory, path: str) -> Iterator[int | None]:
    """A directory below a root, by a path that no symlink is part of; None if there is none, or it cannot be read."""
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


@contextlib.contextmanager
def reach_below(root: RootDirectory, path: str) -> Iterator[int | None]:
    """A directory below a root as `open_below` gives it, also if a command took away the right to read or enter it.

    Directories of this user on the way get these rights as long as the directory is open, and lose them again: what a
    command closes is not empty.

    Yields:
        None if there is none, or it is in one that another user has closed, which no command can have done.

    Raises:
        OSError: nobody knows what is there.
    """
    with contextlib.ExitStack() as held:
        try:
            descriptor = _reach(held, root, path)
        except ClosedByOtherUserError:
            descriptor = None
        yield descriptor


@contextlib.contextmanager
def reach_known(root: RootDirectory, path: str, *, writing: bool = False) -> Iterator[int | None]:
    """A directory below a root like `reach_below`, None only if there is certainly none.

    Args:
        writing: if the directory is this user's, it also gets the right to change names in it, where that is possible.

    Raises:
        OSError: nobody knows what is there; a `PermissionError` also if another user has closed it.
    """
    with contextlib.ExitStack() as held:
        descriptor = _reach(held, root, path)
        if writing and descriptor is not None and not _permits(descriptor, os.W_OK):
            with contextlib.suppress(OSError):  # whoever writes is told
                _give(held, descriptor, stat.S_IRWXU)
        yield descriptor


def open_root(path: str) -> RootDirectory | None:
    """Open a directory by its path; None if there is none. One that this user may not list is open for passing only.

    Raises:
        OSError: nobody knows whether there is one.
    """
    try:
        return RootDirectory(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError as error:
        if error.errno in NOTHING_THERE:
            return None
        if error.errno != errno.EACCES:
            raise
    return RootDirectory(path, os.open(path, _PASSED & ~os.O_NOFOLLOW))


@contextlib.contextmanager
def reach(path: str) -> Iterator[int | None]:
    """A directory by its path, like `reach_below`. What is above it has to be open to this user."""
    root = open_root(path)
    if root is None:
        yield None
        return
    try:
        with reach_below(root, "") as descriptor:
            yield descriptor
    finally:
        os.close(root.descriptor)


def _reach(held: contextlib.ExitStack, root: RootDirectory, path: str) -> int | None:
    """Open a directory until the stack is left; None if there is none.

    Raises:
        OSError: nobody knows what is there.
    """
    try:
        descriptor = _descend(root.descriptor, path)
    except OSError as error:
        if error.errno in NOTHING_THERE:
            return None
        if error.errno != errno.EACCES:
            raise
    else:
        if may_enter(descriptor):
            held.callback(os.close, descriptor)
            return descriptor
        os.close(descriptor)
    return _force(held, root.descriptor, path)


def _descend(directory: int, path: str) -> int:
    descriptor = directory
    *above, last = path.split("/") if path else ["."]
    try:
        for part in above:
            below = os.open(part, _PASSED, dir_fd=descriptor)
            if descriptor != directory:
                os.close(descriptor)
            descriptor = below
        return os.open(last, _DIRECTORY, dir_fd=descriptor)
    finally:
        if descriptor != directory:
            os.close(descriptor)


def _force(held: contextlib.ExitStack, directory: int, path: str) -> int | None:
    """Open a directory with rights that are taken back when the stack is left, as all else that is open then.

    Raises:
        OSError: nobody knows what is there.
    """
    at = os.dup(directory)
    parts = path.split("/") if path else []
    try:
        for count, part in enumerate((".", *parts)):
            below = os.open(part, _PASSED, dir_fd=at) if count else os.dup(at)
            os.close(at)
            at = below
            if not _give_rights(held, at, os.X_OK if count < len(parts) else os.R_OK | os.X_OK):
                raise ClosedByOtherUserError(errno.EACCES, os.strerror(errno.EACCES))
        opened = os.open(".", _DIRECTORY, dir_fd=at)
    except OSError as error:
        if error.errno in NOTHING_THERE:
            return None
        raise
    finally:
        os.close(at)
    held.callback(os.close, opened)
    return opened


def open_closed(held: contextlib.ExitStack, name: str, directory: int) -> int | None:
    """Open a file or directory in an open directory that may not be read, with rights until the stack is left.

    Returns:
        None if it is another user's, or nothing of that kind.

    Raises:
        OSError: it is gone, or cannot be opened.
    """
    at = os.open(name, _PASSED & ~os.O_DIRECTORY, dir_fd=directory)
    try:
        status = os.fstat(at)
        if stat.S_ISDIR(status.st_mode):
            opened = os.open(".", _DIRECTORY, dir_fd=at) if _give_rights(held, at, os.R_OK | os.X_OK) else None
        elif stat.S_ISREG(status.st_mode) and _give(held, at, stat.S_IRUSR):
            opened = os.open(_by_number(at), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        else:
            opened = None
    finally:
        os.close(at)
    if opened is not None:
        held.callback(os.close, opened)
    return opened


def open_again(held: contextlib.ExitStack, directory: int) -> bool:
    """Let names in an open directory be looked at until the stack is left; False if another user forbids it.

    Raises:
        OSError: that is not possible.
    """
    return _give_rights(held, directory, os.R_OK | os.X_OK)


def may_enter(directory: int) -> bool:
    """Whether what is in an open directory may be opened."""
    return _permits(directory, os.X_OK)


def _permits(directory: int, rights: int) -> bool:
    return os.access(".", rights, dir_fd=directory, effective_ids=_EFFECTIVE)


def _give_rights(held: contextlib.ExitStack, directory: int, rights: int) -> bool:
    """Give an open directory all rights of its owner, if some are missing; False if it is another user's."""
    return _permits(directory, rights) or _give(held, directory, stat.S_IRWXU)


def _give(held: contextlib.ExitStack, descriptor: int, rights: int) -> bool:
    """Give the owner rights to what is open until the stack is left; False if that is another user.

    Raises:
        OSError: that is not possible.
    """
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid():
        return False
    mode = stat.S_IMODE(status.st_mode)
    kept = os.dup(descriptor)
    held.callback(os.close, kept)
    try:
        os.chmod(_by_number(kept), mode | rights)  # fchmod(2) takes no descriptor of O_PATH
    except FileNotFoundError as error:  # it is not the directory that is missing, but /proc
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from error
    held.callback(_take, kept, mode | rights, mode)
    return True


def _take(descriptor: int, given: int, mode: int) -> None:
    with contextlib.suppress(OSError):  # it is the user's, who can do the same
        if stat.S_IMODE(os.fstat(descriptor).st_mode) == given:  # else somebody else has changed it
            os.chmod(_by_number(descriptor), mode)


def _by_number(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"
