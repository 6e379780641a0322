"""Folders in which installations are prepared. The next one removes what a killed one left behind."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from kaa.host.regular_files import lock

_FRESH_SECONDS: Final = 60  # a folder that has just been made may not be locked yet
_ABANDONED_SECONDS: Final = 24 * 3600  # where there are no locks


@contextmanager
def preparation_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder, locked while it is used and removed at the end.

    Args:
        parent: the folder that it is in; it exists.
        prefix: of its name, by which others of its kind are found.

    Raises:
        OSError: it cannot be made.
    """
    _remove_abandoned(parent, prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):  # another installation has just ended
            if _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """Whether nobody uses a folder.

    Raises:
        OSError: it is gone, or no folder.
    """
    age = time.time() - folder.lstat().st_mtime
    if age < _FRESH_SECONDS:
        return False
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB) or age > _ABANDONED_SECONDS
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
