"""Files that hold the whole output of commands whose output was too long to keep in memory.

They are in `kaa-<uid>` in the directory for temporary files ($TMPDIR or /tmp), readable by the user alone. They
outlive the session, because a resumed session may still refer to them, and are removed after a week.
"""

import contextlib
import os
import stat
import time

_KEEP_SECONDS = 7 * 24 * 3600
_PREFIX = "output-"


def open_log() -> tuple[int, str]:
    """Create a new, empty log: its descriptor, open for writing, and its absolute path.

    Raises:
        OSError: there is no place for it.
    """
    directory = _private_directory()
    _remove_old(directory)
    path = os.path.join(directory, f"{_PREFIX}{os.urandom(6).hex()}.log")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return descriptor, path


def _private_directory() -> str:
    """Our directory for logs; one that somebody else prepared under its name is refused."""
    path = os.path.join(os.environ.get("TMPDIR") or "/tmp", f"kaa-{os.getuid()}")  # noqa: S108 - checked below
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise PermissionError(f"{path} is not a directory of this user alone; remove it or set TMPDIR")
    return os.path.abspath(path)


def _remove_old(directory: str) -> None:
    oldest = time.time() - _KEEP_SECONDS
    with os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # another kaa removed it
                if entry.name.startswith(_PREFIX) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(entry.path)
