"""Lists folders outside of projects in which code may lie that a server loads, as far as a start has time for that.

Texts name any folder: `/tmp`, `/etc`, a disk full of photographs. What many programs share is no code of a server, and
a tree can have millions of files.
"""

import os
import time
from collections.abc import Sequence

from kaa.host.paths import is_below
from kaa.host.python_environments import folders_of_environment
from kaa.shell.mcp.code_files import IGNORED

# Where the kernel and the system keep their own, and other programs what they write. The home may lie in there.
_OF_SYSTEM = (
    *("/proc", "/sys", "/dev", "/run", "/var/run", "/boot", "/etc", "/lost+found", "/snap"),
    *("/var/cache", "/var/lib", "/var/log", "/var/mail", "/var/spool"),
)
# Disks that were plugged in.
_MOUNTED = ("/run/media",)
# What lies in there may be code of a server. That all of it is, nothing says.
_SHARED = frozenset(
    (
        *(
            "/",
            "/home",
            "/media",
            "/mnt",
            "/run/media",
            "/opt",
            "/root",
            "/srv",
            "/usr",
            "/usr/local",
            "/usr/src",
            "/var",
        ),
        *("/tmp", "/var/tmp"),  # noqa: S108 - the directories themselves
    )
)
_MAX_OF_FOLDER = 20_000  # entries
_MAX_ENTRIES = 100_000  # of all folders
_MAX_SECONDS = 10.0  # a disk may be slow, or far away


def is_of_system(path: str, home: str) -> bool:
    """True for a path of the kernel or the system, and for what other programs write there. Both are real paths."""
    is_of_home = home not in _SHARED and is_below(path, (home,))
    return is_below(path, _OF_SYSTEM) and not is_of_home and not is_below(path, _MOUNTED)


def may_be_package(folder: str, home: str) -> bool:
    """Whether all code in a folder may belong to a program of the user's. Outside of the home, it is theirs."""
    if folder in _SHARED or is_of_system(folder, home):
        return False
    try:
        return is_below(folder, (home,)) or os.stat(folder).st_uid == os.geteuid()
    except OSError:  # it is gone
        return False


class OutsideFolders:
    """Lists folders, each of them once.

    Attributes:
        left_out: the first folder that was not listed, or only in part; empty if there is none.
    """

    def __init__(self, max_entries: int = _MAX_ENTRIES, max_seconds: float = _MAX_SECONDS) -> None:
        self.left_out = ""
        self._left = max_entries
        self._seconds = max_seconds
        self._end = float("inf")
        self._listed: dict[str, list[os.DirEntry[str]]] = {}
        self._imported: dict[str, tuple[str, ...]] = {}

    def entries(self, folder: str) -> Sequence[os.DirEntry[str]]:
        """What is in a folder, by name, without what tools write for themselves; nothing if it cannot be read."""
        return [entry for entry in self._all(folder) if entry.name not in IGNORED]

    def names(self, folder: str) -> list[str]:
        return [entry.name for entry in self._all(folder)]

    def imported_by(self, environment: str) -> tuple[str, ...]:
        """Folders outside of an environment that its Python imports from. Most programs lead to the same ones."""
        if environment not in self._imported:
            self._imported[environment] = tuple(folders_of_environment(environment))
        return self._imported[environment]

    def _all(self, folder: str) -> list[os.DirEntry[str]]:
        if folder not in self._listed:
            self._listed[folder] = sorted(self._list(folder), key=lambda entry: entry.name)
        return self._listed[folder]

    def _list(self, folder: str) -> list[os.DirEntry[str]]:
        now = time.monotonic()
        if not self._listed:
            self._end = now + self._seconds
        found: list[os.DirEntry[str]] = []
        most = min(_MAX_OF_FOLDER, self._left) if now < self._end else 0
        try:
            with os.scandir(folder) as scanned:
                for entry in scanned:
                    if len(found) == most:
                        self.left_out = self.left_out or folder
                        break
                    found.append(entry)
        except OSError:
            return []
        self._left -= len(found)
        return found
