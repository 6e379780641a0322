"""Opens the file of the log where only the user can read it and no sandboxed command can change it."""

import errno
import os
import stat

from kaa.host.programs import commands_can_write

_PRIVATE_FILE = 0o600

# What the system's own words do not say.
_REASONS = {
    errno.ELOOP: "is a symbolic link: use the path of the file itself",
    errno.EISDIR: "is a directory: use the path of a file in it",
    errno.ENOENT: "is in a directory that does not exist: create the directory first",
    errno.ENOTDIR: "is not in a directory: use the path of a file in a directory",
    errno.EACCES: "cannot be written with your permissions: use another file",
    errno.EROFS: "is on a read-only file system: use another file",
    errno.ENAMETOOLONG: "is too long for a file name: use a shorter one",
    errno.ENXIO: "is not a regular file: use another file",
}


class LogFileError(Exception):
    """The file cannot be used; the message says why and what to do."""


def check_log_path(path: str) -> str:
    """The absolute path of a log file.

    Raises:
        LogFileError: it is relative, or sandboxed commands can write there.
    """
    expanded = os.path.expanduser(path)
    advice = "use an absolute path outside the project, such as ~/.kaa/agent/kaa.log"
    if not os.path.isabs(expanded):
        raise LogFileError(f"{path!r} is not an absolute path: {advice}")
    folder, name = os.path.split(expanded)
    real = os.path.join(os.path.realpath(folder), name)
    if commands_can_write(real):
        raise LogFileError(f"sandboxed commands can write to {path}: {advice}")
    return real


def open_log_file(path: str) -> int:
    """Open a log file to append to it. Returns a descriptor.

    Args:
        path: as `check_log_path` returns it.

    Raises:
        LogFileError: it cannot be opened, or is not a regular file of the user's own with a single name.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, _PRIVATE_FILE)
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be opened: {error.strerror}")
        raise LogFileError(f"{path} {reason}") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise LogFileError(f"{path} is not a regular file")
        if found.st_uid != os.geteuid():
            raise LogFileError(f"{path} belongs to another user")
        if found.st_nlink > 1:  # commands may be able to write to the other name
            raise LogFileError(f"{path} has {found.st_nlink} names (hard links): use another file")
        if stat.S_IMODE(found.st_mode) != _PRIVATE_FILE:
            os.fchmod(descriptor, _PRIVATE_FILE)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, OSError):
            raise LogFileError(f"{path} cannot be used: {error.strerror}") from error
        raise
    return descriptor
