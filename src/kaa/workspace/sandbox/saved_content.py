"""Copies of what the guard moved away, in kaa's home: commands can change what lies in the project."""

import contextlib
import hashlib
import os
import shutil
import time

_MAX_FILES = 512  # more than the guard moves away before it stops a command
_SECONDS = 7 * 24 * 3600.0
_MODE = 0o700
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def save_content(folder: str, path: str, content: bytes, mode: int) -> str:
    """Keep the content of a file for some days, with those of some hundred others.

    Args:
        folder: where they are; made if it is missing.
        path: where the file was.
        content: what it had.
        mode: its permission bits; the copy has only those of its owner.

    Returns:
        The path of the copy; empty if it cannot be written.
    """
    copy = os.path.join(folder, f"{os.urandom(6).hex()}-{os.path.basename(path)[-100:]}")
    try:
        os.makedirs(folder, _MODE, exist_ok=True)
        _sweep(folder)
        with open(os.open(copy, _NEW, (mode & _MODE) | 0o600), "wb") as file:
            file.write(content)
    except OSError:  # the way back is the one in the project then
        return ""
    return copy


def save_below(folder: str, directory: str, path: str, content: bytes, mode: int) -> str:
    """Keep the content of a file of a directory, beside the others of that.

    Args:
        folder: where copies are; made if it is missing.
        directory: where the files of the directory were moved to.
        path: of the file, below the directory.
        content: what it had; empty if that is not known.
        mode: its permission bits; the copy has only those of its owner.

    Returns:
        The path of the directory of copies, with `/` at its end; empty if it cannot be written.
    """
    place = hashlib.sha256(os.fsencode(directory)).hexdigest()[:12]
    top = os.path.join(folder, f"{place}-{os.path.basename(directory)[-100:]}")
    copy = os.path.join(top, path)
    try:
        if not os.path.isdir(top):
            os.makedirs(folder, _MODE, exist_ok=True)
            _sweep(folder)
        os.makedirs(os.path.dirname(copy), _MODE, exist_ok=True)
        if content:
            # Commands cannot write here; one that is there is of another time, when a directory had this name.
            with contextlib.suppress(FileNotFoundError):
                os.rename(copy, f"{copy}.{os.urandom(3).hex()}")
            with open(os.open(copy, _NEW, (mode & _MODE) | 0o600), "wb") as file:
                file.write(content)
    except OSError:
        return ""
    return f"{top}/"


def _sweep(folder: str) -> None:
    """Remove what is old, and the oldest of many."""
    found = []
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            found.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    found.sort(reverse=True)
    oldest = time.time() - _SECONDS
    for number, (changed, path) in enumerate(found):
        if number >= _MAX_FILES - 1 or changed < oldest:
            with contextlib.suppress(OSError):
                if os.path.isdir(path):
                    shutil.rmtree(path)
                else:
                    os.unlink(path)
