"""Who can change a file above the project: what another user wrote is not the word of whoever runs kaa.

The brain looks at owners and modes itself. In the hands' user namespace root and strangers have the same number.
"""

import os
import stat

_SYSTEM = 0


def stranger_above(path: str) -> str | None:
    """Why a file in a directory above the project is not to be used, None if only the user and root can change it."""
    folder = os.path.dirname(path)
    try:
        above = os.stat(folder)
        entry, file = os.lstat(path), os.stat(path)
    except FileNotFoundError:  # the workspace is not on this machine
        return None
    except OSError as error:
        return f"it cannot be examined ({error.strerror})"
    for name, status in (("its directory", above), ("it", file), ("the link", entry)):
        if status.st_uid not in (os.geteuid(), _SYSTEM):
            return f"{name} belongs to another user (uid {status.st_uid})"
    if file.st_mode & stat.S_IWOTH:
        return "every user can write it"
    if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
        return "every user can write its directory"
    return None
