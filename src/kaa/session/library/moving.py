"""Moves files and folders on one disk, also where the disk is an overlay, as in containers."""

import errno
import os
import shutil
from pathlib import Path


def move(path: Path, target: Path) -> None:
    """Give a file or folder another path. A folder of an overlay's lower layer cannot be renamed: it is copied.

    Raises:
        OSError: it is where it was, and nothing is at the other path.
    """
    try:
        path.rename(target)
        return
    except OSError as error:
        if error.errno != errno.EXDEV or not path.is_dir() or path.is_symlink():
            raise
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copytree(path, unfinished, symlinks=True)
        unfinished.rename(target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    shutil.rmtree(path, ignore_errors=True)  # what stays is a second copy
