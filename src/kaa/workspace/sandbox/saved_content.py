"""Copies of what the guard moved away, in kaa's home: commands can change what lies in the project."""

import contextlib
import os
import time

_MAX_FILES = 64
_SECONDS = 7 * 24 * 3600.0
_MODE = 0o700


def save_content(folder: str, path: str, content: bytes, mode: int) -> str:
    """Keep the content of a file for some days, with those of some dozen others.

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
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with open(os.open(copy, flags, (mode & _MODE) | 0o600), "wb") as file:
            file.write(content)
    except OSError:  # the way back is the one in the project then
        return ""
    return copy


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
                os.unlink(path)
