"""Gives a file its name, and never takes that from another file."""

import errno
import os
from pathlib import Path
from typing import Final

NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.EXDEV, errno.EMLINK, errno.ENOSYS})
"""How file systems say that they have no hard links, or none there."""


def give_new_name(unfinished: Path, target: Path) -> None:
    """Move a file to a name that nothing has. Without hard links, the name could be taken at the last moment.

    Raises:
        FileExistsError: something has the name; the file is where it was.
        OSError: the system refused.
    """
    try:
        os.link(unfinished, target, follow_symlinks=False)  # unlike a rename, never replaces what is there
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        unfinished.rename(target)
    else:
        unfinished.unlink()
