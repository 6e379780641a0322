"""Tells whether git's configuration or hooks have changed, which a yes lets the model do and no checkpoint has."""

import contextlib
import os

_PATHS = (".git/config", ".git/hooks")


def git_settings(root: str) -> object:
    """Return what tells versions of the repository at the top of a project apart; it takes two microseconds."""
    found = []
    for path in _PATHS:
        with contextlib.suppress(OSError):
            status = os.lstat(f"{root}/{path}")
            found.append((status.st_ino, status.st_mtime_ns, status.st_size))
    return found
