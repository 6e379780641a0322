"""Writing a file so that at any moment, crash included, either its old or its new content is there."""

import contextlib
import errno
import hashlib
import os
import stat
from typing import NamedTuple

from kaa.hands.reading import open_regular, refuse_irregular

_READ_BYTES = 1024 * 1024
_TEMPORARY_MODE = 0o600  # nobody else may look in before the file has its own mode


class FileChangedError(OSError):
    """The file is not as it was expected to be."""


class Expectation(NamedTuple):
    """What must be there before: a file with this SHA-256 (hex), or with None no file."""

    digest: str | None


def write(path: str, data: bytes, expected: Expectation | None, umask: int) -> None:
    """Replace the content of a file, creating it and its directories if needed.

    The content goes to a new file beside the old one, which takes over its mode, owner and extended attributes and
    then its name. Symlinks are followed. Other names of the same file (hard links) keep the old content.

    Args:
        path: absolute path.
        data: the new content.
        expected: what must be there right before the exchange; None for anything.
        umask: of new files.

    Raises:
        FileChangedError: the file is not as expected; nothing was written.
        OSError: nothing was written.
    """
    target = os.path.realpath(path)
    old = _status(target)
    if old is not None:
        refuse_irregular(old)
    _check_presence(old, expected)
    directory = os.path.dirname(target)
    os.makedirs(directory, exist_ok=True)
    temporary = os.path.join(directory, f".kaa-{os.urandom(8).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, _TEMPORARY_MODE)
    try:
        _fill(descriptor, data)
        _take_over_attributes(descriptor, target, old, umask)
        os.fsync(descriptor)
        _exchange(temporary, target, expected)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    finally:
        os.close(descriptor)
    _sync_directory(directory)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _check_presence(old: os.stat_result | None, expected: Expectation | None) -> None:
    """Fail before anything is created where it is clear already."""
    if expected is None:
        return
    if expected.digest is None and old is not None:
        raise FileChangedError(errno.EEXIST, "The file already exists")
    if expected.digest is not None and old is None:
        raise FileChangedError(errno.ENOENT, "The file no longer exists")


def _fill(descriptor: int, data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


def _take_over_attributes(descriptor: int, target: str, old: os.stat_result | None, umask: int) -> None:
    """Give the new file what the old one had, as far as we may; a new one gets the usual mode."""
    if old is None:
        os.fchmod(descriptor, 0o666 & ~umask)
        return
    mode = stat.S_IMODE(old.st_mode)
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except PermissionError:
            mode &= ~(stat.S_ISUID | stat.S_ISGID)  # it must not run as somebody who does not own it
    _copy_extended_attributes(target, descriptor)
    os.fchmod(descriptor, mode)


def _copy_extended_attributes(source: str, descriptor: int) -> None:
    """Access control lists, labels and the user's own; not every filesystem has them, not all may be set."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(source):
            with contextlib.suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(source, name))


def _exchange(temporary: str, target: str, expected: Expectation | None) -> None:
    """Put the new file in place of the old one if that is still as expected."""
    if expected is None:
        os.rename(temporary, target)
        return
    if expected.digest is None:
        _create(temporary, target)
        return
    try:
        unchanged = _digest(target) == expected.digest
    except FileNotFoundError as error:
        raise FileChangedError(errno.ENOENT, "The file no longer exists") from error
    if not unchanged:
        raise FileChangedError(errno.ESTALE, "The file was changed since it was read")
    os.rename(temporary, target)


def _create(temporary: str, target: str) -> None:
    """Give the new file its name unless something has it."""
    try:
        os.link(temporary, target, follow_symlinks=False)
    except FileExistsError as error:
        raise FileChangedError(errno.EEXIST, "The file already exists") from error
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        # A filesystem without hard links (FAT, some network ones): the name could be taken between these two.
        if os.path.lexists(target):
            raise FileChangedError(errno.EEXIST, "The file already exists") from error
        os.rename(temporary, target)
    else:
        os.unlink(temporary)


def _digest(path: str) -> str:
    with open_regular(path) as (descriptor, _):
        digest = hashlib.sha256()
        while piece := os.read(descriptor, _READ_BYTES):
            digest.update(piece)
        return digest.hexdigest()


def _sync_directory(directory: str) -> None:
    """Make the new name survive a power failure; where directories cannot be synced, it is the system's business."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EACCES, errno.EROFS, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
