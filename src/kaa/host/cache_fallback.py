"""Another place for kaa's cache directory where that of the home cannot be written, such as in a read-only home."""

import os
import stat
import tempfile
from collections.abc import MutableMapping

_VARIABLE = "XDG_CACHE_HOME"


def fall_back(environ: MutableMapping[str, str], home: str) -> str:
    """Name a private folder for caches in the environment if `~/.cache` cannot be written.

    Returns what to tell the user; empty if there is nothing to tell. A folder that the user has named stays: an error
    says that it cannot be written.
    """
    usual = os.path.join(home, ".cache", "kaa")
    if environ.get(_VARIABLE) or _can_be_written(usual):
        return ""
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    for folder in (runtime, tempfile.gettempdir()):
        if os.path.isabs(folder) and (made := _private(os.path.join(folder, f"kaa-{os.getuid()}"))):
            environ[_VARIABLE] = made
            return f"{usual} cannot be written: temporary files and outputs of commands are in {made} ({_VARIABLE})"
    return ""


def _can_be_written(path: str) -> bool:
    """Whether a directory can be written, or made."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.access(path, os.W_OK | os.X_OK)


def _private(path: str) -> str:
    """The directory, if it is this user's alone; made if there is none. Empty if it cannot be used."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except OSError:
        return ""
    status = os.lstat(path)
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    return path if is_own and not status.st_mode & 0o077 and os.access(path, os.W_OK | os.X_OK) else ""
