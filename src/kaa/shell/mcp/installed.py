"""Installed packages: known by the sizes and times of their files, as reading all of them would take too long."""

import hashlib
import os
import stat
import time

PACKAGES = frozenset({"node_modules", "site-packages", ".venv", "venv", ".pixi", "vendor", "target"})
"""Folders with installed packages."""
INSTALLED = "installed: "
"""What the digest of such packages begins with; they are not copied."""
_MAX_ENTRIES = 500_000  # of a folder; 4 s
_MAX_UNSAVED_SECONDS = 900  # Linux saves after 30, in the modes for laptops after 600


def _changed_lately(path: str) -> bool:
    try:
        return os.lstat(path).st_ctime > time.time() - _MAX_UNSAVED_SECONDS
    except OSError:
        return False


def _save(folder: str) -> None:
    """Have the kernel write what is unsaved of the file system of a folder."""
    import ctypes  # lazy: few servers execute packages that changed lately

    save = getattr(ctypes.CDLL(None), "syncfs", None)  # Python has no function for it; Linux only
    if save is None:
        os.sync()
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        save(descriptor)
    finally:
        os.close(descriptor)


class TooManyPackageFilesError(ValueError):
    """A folder has more files than are looked at; the message says what to do."""


def fingerprint(top: str, *, compiled: bool = False, max_entries: int = _MAX_ENTRIES) -> tuple[str, list[str]]:
    """A digest of the names, sizes, times and inodes of all in a folder, with compiled modules or not; and its links.

    Commands cannot set the ctime. A page of a mapping that was written and not yet saved can be written again without
    a new one, so files that changed lately are saved first.

    Raises:
        TooManyPackageFilesError: there are more than `max_entries`, perhaps because a command made them.
    """
    found, paths, links = hashlib.sha256(), [top], list[str]()
    for folder, folders, files in os.walk(top):
        paths += (os.path.join(folder, name) for name in (*folders, *files))
        if len(paths) > max_entries:
            raise TooManyPackageFilesError(
                f"{top} has more than {max_entries:,} files, which are too many to compare at each start. Remove what"
                " is no package from it, or install the server's packages in a directory of their own"
            )
    if any(map(_changed_lately, paths)):
        _save(top)
    for path in sorted(paths):
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISLNK(status.st_mode):
            links.append(path)
        if not stat.S_ISDIR(status.st_mode) and (compiled or "/__pycache__/" not in path):
            facts = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            found.update(os.fsencode(path) + repr(facts).encode())
    return INSTALLED + found.hexdigest(), links
