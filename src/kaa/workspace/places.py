"""Where kaa keeps what it can do without: outputs, temporary files and caches of commands, in `~/.cache/kaa`.

output/          whole outputs of commands, readable inside the sandbox, written by the brain alone
tmp/<random>/    /tmp of one workspace's commands, removed with the workspace
caches/<name>/   caches of installers, one for each project
"""

import contextlib
import fcntl
import os
import stat
import zlib
from collections.abc import Mapping

_MODE = 0o700
_NAME_CHARACTERS = 60
_SWEPT_AT_ONCE = 8  # directories of workspaces that did not end in order


class Places:
    """The directories of one workspace.

    Args:
        base: absolute path of kaa's cache directory; created when needed.
        root: the workspace's root.
    """

    def __init__(self, base: str, root: str) -> None:
        self._base = base
        self._root = root
        self._temporary: tuple[str, int] | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str], home: str, root: str) -> "Places":
        """Those of the user whose environment this is."""
        cache = environment.get("XDG_CACHE_HOME", "")
        return cls(os.path.join(cache if os.path.isabs(cache) else os.path.join(home, ".cache"), "kaa"), root)

    @property
    def output(self) -> str:
        """The directory for whole outputs.

        Raises:
            OSError: it cannot be created, or somebody else prepared it.
        """
        return self._private("output")

    @property
    def caches(self) -> str:
        """The directory for the caches of this project's commands.

        Raises:
            OSError: as above.
        """
        readable = self._root.strip("/").replace("/", "-")[-_NAME_CHARACTERS:]
        return self._private("caches", f"{readable}-{zlib.crc32(os.fsencode(self._root)):08x}")

    @property
    def temporary(self) -> str:
        """The directory that commands see as /tmp, the same until `close`.

        Raises:
            OSError: as above.
        """
        if self._temporary is None:
            path = self._private("tmp", os.urandom(8).hex())
            self._temporary = (path, _locked(path))
        return self._temporary[0]

    def close(self) -> None:
        """Remove the temporary directory, and those of workspaces that were killed."""
        if self._temporary is None:
            return
        path, lock = self._temporary
        self._temporary = None
        _remove(path)
        os.close(lock)
        _sweep(os.path.dirname(path))

    def _private(self, *names: str) -> str:
        """A directory below the base that is this user's alone."""
        os.makedirs(os.path.dirname(self._base), exist_ok=True)
        path = self._base
        for name in ("", *names):
            path = os.path.join(path, name).rstrip("/")
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, _MODE)
            status = os.lstat(path)
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                raise PermissionError(f"{path} is not a directory of this user; remove it or set XDG_CACHE_HOME")
            if stat.S_IMODE(status.st_mode) & 0o077:
                os.chmod(path, _MODE)
        return path


def _locked(path: str) -> int:
    """A descriptor that keeps others from sweeping the directory as long as it is open."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def _remove(path: str) -> None:
    """Remove a directory with what commands left there; what resists is left for the next sweep."""
    try:
        os.rmdir(path)
    except OSError:
        import shutil  # lazily: most runs leave nothing

        shutil.rmtree(path, ignore_errors=True)


def _sweep(directory: str) -> None:
    for name in os.listdir(directory)[:_SWEPT_AT_ONCE]:
        path = os.path.join(directory, name)
        with contextlib.suppress(OSError):  # in use, or swept by another kaa
            lock = _locked(path)
            try:
                _remove(path)
            finally:
                os.close(lock)
