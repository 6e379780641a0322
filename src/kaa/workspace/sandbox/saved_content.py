"""Copies of what the guard moved away, in kaa's home: commands can change what lies in the project."""

import contextlib
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
        self._directories: dict[str, SavedDirectory] = {}  # by where the files were moved to
        self._versions: dict[tuple[str, str], int] = {}  # by where a file was moved to, and its path below that

    def save(self, finding: "GuardFinding") -> Blocked:
        """Keep the content of a file. Returns what to say of it, also if there is no copy."""
        self._versions.pop(_key(finding), None)
        self._versions[_key(finding)] = 1 if finding.content else 0
        if len(self._versions) > _MAX_FOLLOWED:
            del self._versions[next(iter(self._versions))]
        moved = Blocked(finding.kind, finding.path, finding.kept_as)
        if finding.below:
            name = os.path.basename(finding.kept_as)
            directory = self._directories.setdefault(finding.kept_as, SavedDirectory(self._folder, name))
            if directory.save(finding.below, finding.content, finding.mode):
                return moved.with_copy(f"{directory.path}/", tuple(directory.files))
            # Only this file is to come back: earlier commands may have written others to the same place.
            path, kept_as = (os.path.join(place, finding.below) for place in (finding.path, finding.kept_as))
            return Blocked(finding.kind, path, kept_as)
        if finding.content:
            return moved.with_copy(save_content(self._folder, finding.path, finding.content, finding.mode))
        return moved

    def save_later(self, finding: "GuardFinding") -> Blocked | None:
        """Keep what was written in a file after it was moved away, besides what it had before.

        Returns:
            What to say of it now. None if nothing is new: of several later versions the first one is named.
        """
        versions = self._versions.get(_key(finding), 1)
        if not versions:
            moved = self.save(finding)
            return moved if moved.saved else None
        path = os.path.join(finding.path, finding.below).rstrip("/")
        later = save_content(self._folder, f"{path}{_LATER}", finding.content, finding.mode)
        self._versions[_key(finding)] = versions + 1
        return Blocked(finding.kind, finding.path, finding.kept_as, later=later) if later and versions == 1 else None

    def end_telling(self) -> None:
        """What was saved so far is told: what a notice copies back is what it names, and nothing that comes later."""
        for directory in self._directories.values():
            directory.is_told = True

    def close_directories(self) -> None:
        """Commands have ended: what is moved to the same place from now on comes back by itself."""
        self._directories.clear()


def _key(finding: "GuardFinding") -> tuple[str, str]:
    return finding.kept_as, finding.below


def save_content(folder: str, path: str, content: bytes, mode: int) -> str:
    """Keep the content of a file for some days, with those of some hundred others.

    Args:
        folder: where they are; made if it is missing.
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


class SavedDirectory:
    """Copies of files of one directory, which come back together.

    Args:
        folder: where copies are; made if it is missing.

    Attributes:
        is_told: the user was told of this place. The next file goes into another one, with all that is here.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._first = os.urandom(6).hex()
        self._name = name[-100:]
        self._number = 1
        self.path = os.path.join(folder, f"{self._first}-{self._name}")
        self.files: list[str] = []
        self.is_told = False
        self._folder = folder

    def save(self, path: str, content: bytes, mode: int) -> bool:
        """Keep the content of a file.

        Args:
            content: what it had; empty if that is not known.
            mode: its permission bits; the copy has only those of its owner.

        Returns:
            False if nothing can be written.
        """
        try:
            if not os.path.isdir(self.path):
                os.makedirs(self._folder, _MODE, exist_ok=True)
                _sweep(self._folder)
            elif self.is_told:
                self._move_on()
            self._make_way(os.path.dirname(path))
            if content:
                copy = os.path.join(self.path, path)
                self._set_aside(copy)
                with open(os.open(copy, _NEW, (mode & _MODE) | 0o600), "wb") as file:
                    file.write(content)
                self.files.append(path)
        except OSError:
            return False
        return True

    def _move_on(self) -> None:
        """Have the next file kept in another place, with those of this one. The files never change."""
        self._number += 1
        place = os.path.join(self._folder, f"{self._first}.{self._number}-{self._name}")
        shutil.copytree(self.path, place, copy_function=os.link)
        self.path, self.is_told = place, False

    def _make_way(self, path: str) -> None:
        """Make directories, also where a file of this name is kept."""
        place = self.path
        for name in ("", *filter(None, path.split("/"))):
            place = os.path.join(place, name).rstrip("/")
            if not os.path.isdir(place):
                self._set_aside(place)
                os.mkdir(place, _MODE)

    def _set_aside(self, copy: str) -> None:
        """Move what is at a path out of the directory, so that it does not come back: it is of another time."""
        beside = os.path.join(self._folder, f"{os.urandom(6).hex()}-{os.path.basename(copy)[-100:]}")
        with contextlib.suppress(FileNotFoundError):
            os.rename(copy, beside)
            gone = os.path.relpath(copy, self.path)
            self.files = [one for one in self.files if one != gone and not one.startswith(f"{gone}/")]


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
