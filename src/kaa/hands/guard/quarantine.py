"""Moving something out of the way, in place, and putting back what was there before.

Nothing is deleted: the user finds it beside its old name, and a wrong suspicion costs one `mv`.
"""

import errno
import os
import stat
from typing import NamedTuple

from kaa.hands.guard.items import GuardedItem, kept_names

_MOUNTED = (errno.EROFS, errno.EBUSY)


class MountedError(Exception):
    """A mount keeps the name where it is."""


class GuardFinding(NamedTuple):
    """What was done about something.

    Attributes:
        path: absolute path of what should not have been there.
        kept_as: its path now; empty if it could not be moved.
        why: what was wrong with it, as a sentence without its dot.
        kind: as `kaa.workspace.blocked` has it: `git` if git writes would have to be allowed, else `protected`.
    """

    path: str
    kept_as: str
    why: str
    kind: str


def move_away(directory: int, name: str) -> str | None:
    """Rename something in an open directory; its new name.

    Returns:
        None if it is gone, or held by a Seatbelt profile, so that no command can have changed it.

    Raises:
        MountedError: a mount keeps it.
        OSError: it is still there.
    """
    for kept in kept_names(name):
        if _exists(directory, kept):
            continue
        try:
            _rename(directory, name, kept)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR):  # taken meanwhile
                continue
            if error.errno in _MOUNTED:
                raise MountedError from error
            if error.errno == errno.EPERM:
                return None
            raise
        return kept
    raise AssertionError("there is always another name")


def put_back(directory: int, name: str, item: GuardedItem) -> bool:
    """Write a file as it was before; whether that worked."""
    if item.content is None:
        return False
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, 0o600, dir_fd=directory)
    except OSError:
        return False
    try:
        remaining = memoryview(item.content)
        while remaining:
            remaining = remaining[os.write(descriptor, remaining) :]
        os.fchmod(descriptor, item.mode)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _rename(directory: int, name: str, kept: str) -> None:
    try:
        os.rename(name, kept, src_dir_fd=directory, dst_dir_fd=directory)
    except PermissionError as error:
        if error.errno != errno.EACCES:
            raise
        # Its maker may have made the directory read-only, but it belongs to the same user as we do.
        mode = stat.S_IMODE(os.fstat(directory).st_mode)
        os.fchmod(directory, mode | stat.S_IRWXU)
        try:
            os.rename(name, kept, src_dir_fd=directory, dst_dir_fd=directory)
        finally:
            os.fchmod(directory, mode)


def _exists(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
