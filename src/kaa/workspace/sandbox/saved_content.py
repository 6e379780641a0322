"""Copies of what the guard moved away, in kaa's home: commands can change what lies in the project."""

import contextlib
import hashlib
import os
import shutil
import time
from typing import TYPE_CHECKING

from kaa.workspace.blocked import Blocked

if TYPE_CHECKING:
    from kaa.workspace.sandbox.watch import GuardFinding

_MAX_FILES = 512  # of more, those of yesterday go
_MAX_ENTRIES = 20_000  # of more, the oldest go: it is several hours of a command that does nothing else
_SECONDS = 7 * 24 * 3600.0
_SPARED_SECONDS = 24 * 3600.0  # the user may not have looked yet
_MAX_FOLLOWED = 256  # files of which a later version may come
_LATER = ".later"  # how the names of such copies end
_MODE = 0o700
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Copies:
    """The copies of what one guard moves away.

    Args:
        folder: where they are; made if it is missing.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._versions: dict[tuple[str, str], int] = {}  # by where a file was moved to, and its path below that

    def save(self, finding: "GuardFinding") -> str:
        """Keep the content of a file. Returns what `save_content` or `save_below` does; empty if it has none."""
        saved = ""
        if finding.below:
            saved = save_below(self._folder, finding.kept_as, finding.below, finding.content, finding.mode)
        elif finding.content:
            saved = save_content(self._folder, finding.path, finding.content, finding.mode)
        self._versions.pop(_key(finding), None)
        self._versions[_key(finding)] = 1 if finding.content else 0
        if len(self._versions) > _MAX_FOLLOWED:
            del self._versions[next(iter(self._versions))]
        return saved

    def save_later(self, finding: "GuardFinding") -> Blocked | None:
        """Keep what was written in a file after it was moved away, besides what it had before.

        Returns:
            What to say of it now. None if nothing is new: of several later versions the first one is named.
        """
        versions = self._versions.get(_key(finding), 1)
        if not versions:
            saved = self.save(finding)
            return Blocked(finding.kind, finding.path, finding.kept_as, saved) if saved else None
        path = os.path.join(finding.path, finding.below).rstrip("/")
        later = save_content(self._folder, f"{path}{_LATER}", finding.content, finding.mode)
        self._versions[_key(finding)] = versions + 1
        return Blocked(finding.kind, finding.path, finding.kept_as, later=later) if later and versions == 1 else None


def _key(finding: "GuardFinding") -> tuple[str, str]:
    return finding.kept_as, finding.below


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
        _make_way(top, os.path.dirname(path))
        if content:
            _set_aside(copy)
            with open(os.open(copy, _NEW, (mode & _MODE) | 0o600), "wb") as file:
                file.write(content)
    except OSError:
        return ""
    return f"{top}/"


def _make_way(top: str, path: str) -> None:
    """Make directories below one, also where a file of this name is kept."""
    place = top
    for name in ("", *filter(None, path.split("/"))):
        place = os.path.join(place, name).rstrip("/")
        if not os.path.isdir(place):
            _set_aside(place)
            os.mkdir(place, _MODE)


def _set_aside(path: str) -> None:
    """Give what is at a path another name: it is of another time, when something else was there."""
    with contextlib.suppress(FileNotFoundError):
        os.rename(path, f"{path}.{os.urandom(3).hex()}")


def _sweep(folder: str) -> None:
    """Remove what is old, and the oldest of many."""
    found = []
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            found.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    found.sort(reverse=True)
    now = time.time()
    for number, (changed, path) in enumerate(found):
        is_spared = number < _MAX_FILES - 1 or (changed > now - _SPARED_SECONDS and number < _MAX_ENTRIES)
        if not is_spared or changed < now - _SECONDS:
            with contextlib.suppress(OSError):
                if os.path.isdir(path):
                    shutil.rmtree(path)
                else:
                    os.unlink(path)
