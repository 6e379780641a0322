"""Files that hold the whole output of commands whose output was too long to keep in memory.

They outlive the session, because a resumed session may still refer to them, and are removed after a week.
"""

import contextlib
import os
import time

_KEEP_SECONDS = 7 * 24 * 3600
_PREFIX = "output-"


def open_log(directory: str, suffix: str = ".log") -> tuple[int, str]:
    """Create a new, empty log: its descriptor, open for writing, and its absolute path.

    Raises:
        OSError: there is no place for it.
    """
    _remove_old(directory)
    path = os.path.join(directory, f"{_PREFIX}{os.urandom(6).hex()}{suffix}")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return descriptor, path


def _remove_old(directory: str) -> None:
    oldest = time.time() - _KEEP_SECONDS
    with os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # another kaa removed it
                if entry.name.startswith(_PREFIX) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(entry.path)
