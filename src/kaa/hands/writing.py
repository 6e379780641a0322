"""Writing a file so that at any moment, crash included, either its old or its new content is there.

A file whose owner and group a new one cannot have is written in place: meanwhile its new content is beside it, too.
"""

import contextlib
import errno
import os
import stat
from typing import NamedTuple

from kaa.hands.digest import new_digest
from kaa.hands.places import FileLocation, real
from kaa.hands.reading import Info, info_of, open_regular, refuse_irregular

_READ_BYTES = 1024 * 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY_MODE = 0o600  # nobody else may look in before the file has its own mode


class FileChangedError(OSError):
    """The file is not as it was expected to be."""


class _KeptBesideError(OSError):
    """The new content is in a file beside the old one, which has a part of it."""


class Expectation(NamedTuple):
    """What must be there before: a file with this SHA-256 (hex), or with None no file."""

    digest: str | None


def write(
    path: str,
    data: bytes,
    expected: Expectation | None,
    umask: int,
    *,
    executable: bool = False,
    mode: int | None = None,
) -> Info | None:
    """Replace the content of a file, creating it and its directories if needed.

    The content goes to a new file beside the old one, which takes over its mode, owner and extended attributes and
    then its name. Other names of the same file (hard links) keep the old content. The content is on the disk before it
    gets the name, so that there is never an empty file; the name follows when the system writes the directory. If the
    new file cannot have the owner and group of the old one (a user namespace has one group only), the content goes
    into the old one, as far as that may be written.

    Args:
        path: absolute; no part of it may be a symlink.
        expected: what must be there right before the exchange; None for anything.
        executable: whoever may read it may execute it.
        mode: the permissions of a new file; None for the usual ones.

    Returns:
        What is there now.

    Raises:
        FileChangedError: the file is not as expected; nothing was written.
        OSError: nothing was written, or a file in place only in part, and the message says where all of it is.
    """
    is_change = expected is not None and expected.digest is not None
    try:
        with real(path, create=not is_change) as place:
            _replace(place, data, expected, 0o666 & ~umask if mode is None else mode, executable=executable)
            return info_of(place)
    except FileNotFoundError as error:
        if not is_change:
            raise
        raise FileChangedError(errno.ENOENT, "The file no longer exists") from error


def discard(path: str, expected: Expectation, top: str) -> None:
    """Remove a file, and the directories around it that are empty then.

    Args:
        path: absolute; no part of it may be a symlink.
        expected: what must be there.
        top: the outermost directory that may go; the file itself if none may.

    Raises:
        FileChangedError: the file is not as expected; nothing was removed.
        OSError: it cannot be removed.
    """
    with real(path) as place:
        refuse_irregular(place.status())
        if _digest(place) != expected.digest:
            raise FileChangedError(errno.ESTALE, "The file was changed")
        os.unlink(place.name, dir_fd=place.directory)
    with contextlib.suppress(OSError):  # one is not empty, or a mount holds it
        while path != top:
            path = os.path.dirname(path)
            with real(path) as place:
                os.rmdir(place.name, dir_fd=place.directory)


def _replace(
    place: FileLocation, data: bytes, expected: Expectation | None, new_mode: int, *, executable: bool
) -> None:
    old = _status(place)
    if old is not None:
        refuse_irregular(old)
    _check_presence(old, expected)
    temporary = place._replace(name=f".kaa-{os.urandom(8).hex()}.tmp")
    descriptor = os.open(temporary.name, _NEW, _TEMPORARY_MODE, dir_fd=place.directory)
    try:
        _fill(descriptor, data)
        has_owner = _take_over_attributes(descriptor, place, old, new_mode)
        if executable:
            _make_executable(descriptor)
        os.fsync(descriptor)
        if has_owner or not _overwrite(place, temporary, data, expected, executable=executable):
            _exchange(temporary, place, expected)
        else:
            os.unlink(temporary.name, dir_fd=temporary.directory)
    except _KeptBesideError:
        raise
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary.name, dir_fd=temporary.directory)
        raise
    finally:
        os.close(descriptor)


def _status(place: FileLocation) -> os.stat_result | None:
    try:
        return place.status()
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


def _make_executable(descriptor: int) -> None:
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    os.fchmod(descriptor, mode | (mode & 0o444) >> 2)


def _take_over_attributes(descriptor: int, target: FileLocation, old: os.stat_result | None, new_mode: int) -> bool:
    """Give the new file what the old one had, as far as we may; without an old one, a mode.

    Returns:
        Whether it has the owner and the group.
    """
    if old is None:
        os.fchmod(descriptor, new_mode)
        return True
    mode = stat.S_IMODE(old.st_mode)
    new = os.fstat(descriptor)
    has_owner = (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid)
    if not has_owner:
        from kaa.hands.in_place import take_owner  # lazy: few files have other owners and groups

        has_owner = take_owner(old, lambda user, group: os.fchown(descriptor, user, group))
        if not has_owner:
            mode &= ~(stat.S_ISUID | stat.S_ISGID)  # it must not run as somebody who does not own it
    _copy_extended_attributes(target, descriptor)
    os.fchmod(descriptor, mode)
    return has_owner


def _overwrite(
    target: FileLocation, temporary: FileLocation, data: bytes, expected: Expectation | None, *, executable: bool
) -> bool:
    """Write into a file that exists; False if that is not possible."""
    from kaa.hands.in_place import HalfWrittenError, overwrite  # lazy: few files have other owners and groups

    def check(descriptor: int) -> None:
        if expected is not None and _digest_of(descriptor) != expected.digest:
            raise _changed()
        if executable:
            with contextlib.suppress(PermissionError):
                _make_executable(descriptor)

    try:
        return overwrite(target.directory, target.name, data, check)
    except HalfWrittenError as error:
        raise _KeptBesideError(error.errno, f"{error.strerror}: {temporary.name} beside it has all") from error


def _copy_extended_attributes(source: FileLocation, descriptor: int) -> None:
    """Access control lists, labels and the user's own; not every filesystem has them, not all may be set."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError), open_regular(source) as (old, _):
        for name in os.listxattr(old):
            with contextlib.suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(old, name))


def _exchange(temporary: FileLocation, target: FileLocation, expected: Expectation | None) -> None:
    """Put the new file in place of the old one if that is still as expected."""
    if expected is None:
        _rename(temporary, target)
        return
    if expected.digest is None:
        _create(temporary, target)
        return
    if _digest(target) != expected.digest:
        raise _changed()
    _rename(temporary, target)


def _create(temporary: FileLocation, target: FileLocation) -> None:
    """Give the new file its name unless something has it."""
    try:
        os.link(
            temporary.name,
            target.name,
            src_dir_fd=temporary.directory,
            dst_dir_fd=target.directory,
            follow_symlinks=False,
        )
    except FileExistsError as error:
        raise FileChangedError(errno.EEXIST, "The file already exists") from error
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        # A filesystem without hard links (FAT, some network ones): the name could be taken between these two.
        if _status(target) is not None:
            raise FileChangedError(errno.EEXIST, "The file already exists") from error
        _rename(temporary, target)
    else:
        os.unlink(temporary.name, dir_fd=temporary.directory)


def _rename(temporary: FileLocation, target: FileLocation) -> None:
    os.rename(temporary.name, target.name, src_dir_fd=temporary.directory, dst_dir_fd=target.directory)


def _changed() -> FileChangedError:
    return FileChangedError(errno.ESTALE, "The file was changed since it was read")


def _digest(place: FileLocation) -> str:
    with open_regular(place) as (descriptor, _):
        return _digest_of(descriptor)


def _digest_of(descriptor: int) -> str:
    digest = new_digest()
    while piece := os.read(descriptor, _READ_BYTES):
        digest.update(piece)
    return digest.hexdigest()
