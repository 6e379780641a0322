"""Where kaa keeps what it can do without: outputs, temporary files and caches of commands, in `~/.cache/kaa`.

output/          whole outputs of commands, readable inside the sandbox, written by the brain alone
tmp/<random>/    /tmp of one workspace's commands, removed with the workspace, but for files that the user was told of;
                 another one for the kernel
caches/<name>/   caches of installers, one for each project; removed some time after the project
long-paths/      of projects whose path is too long for such a name
"""

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from kaa.host import regular_files
from kaa.host.paths import (
    cache_directory,
    caches_of_projects,
    is_below,
    list_of_added,
    list_of_projects,
    long_paths_of_projects,
)

_MODE = 0o700
_COMMANDS, _KERNEL = "commands", "kernel"  # who uses a temporary directory
_MAX_NAME_CHARACTERS = 200  # file systems allow 255 bytes
_KEPT_CHARACTERS = 100
_MAX_LIST_BYTES = 512 * 1024  # of the list of projects: some thousands
_KEPT_SECONDS = 7 * 24 * 3600.0
_HAS_KEPT = stat.S_ISVTX  # marks a directory with files that the user was told of
_SELF_TEST = ".kaa-canary-"  # of hands that start (`kaa.hands.confinement.canaries`), which remove it themselves
_SELF_TEST_SECONDS = 3600.0  # it lives for milliseconds, unless the machine is suspended meanwhile
_ATTEMPTS = 20  # at a directory that no other kaa sweeps before it is locked
_SWEPT_AT_ONCE = 8  # directories of workspaces that did not end in order, and of projects that are gone
_EXAMINED_AT_ONCE = 64  # of caches
_PROGRAMS = "extensions"  # where each server of tools and each extension has a cache directory of its own


class Places:
    """The directories of one workspace.

    Args:
        base: absolute path of kaa's cache directory; created when needed.
        whole: kaa's cache directory as a whole, if the one above is in it.
        projects: the file that the root is noted in, because commands can write there; empty for none.
    """

    def __init__(self, base: str, root: str, whole: str = "", projects: str = "") -> None:
        self._projects = projects
        self.whole = whole or base
        self._base = base
        self._root = root
        self._temporary: dict[str, _Temporary] = {}
        self._kept: set[str] = set()

    @classmethod
    def of(cls, environment: Mapping[str, str], home: str, root: str, *below: str) -> "Places":
        """Those of the user whose environment this is; never in the project, whose commands would own them.

        Args:
            below: names of directories in kaa's cache directory, for what shares nothing with the commands.
        """
        whole = cache_directory(environment, home, root)
        return cls(os.path.join(whole, *below), root, whole, "" if below else list_of_projects(environment, home))

    @property
    def written(self) -> tuple[str, ...]:
        """Where commands of any workspace write; it may not exist yet."""
        return os.path.join(self._base, "tmp"), caches_of_projects(self._base)

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
        if self._projects:
            with contextlib.suppress(OSError):  # a home of kaa's that cannot be written: the name below tells it, too
                self._note(self._root, self._projects)
        name = quote(os.fsencode(self._root), safe=" ")
        if len(name) > _MAX_NAME_CHARACTERS:
            import hashlib  # lazily: few paths are that long

            digest = hashlib.sha256(os.fsencode(self._root)).hexdigest()
            self._note_path(digest)
            name = f"{name[-_KEPT_CHARACTERS:]}-{digest}"
        return self._private("caches", name)

    @property
    def temporary(self) -> str:
        """The directory that commands see as /tmp, the same until `close`.

        Raises:
            OSError: as above.
        """
        return self._removed_later(_COMMANDS)

    @property
    def work(self) -> str:
        """A directory beside it that commands cannot reach, the same until `close`.

        Raises:
            OSError: as above.
        """
        return self._removed_later(_KERNEL)

    def _removed_later(self, user: str) -> str:
        attempts = 0
        while user not in self._temporary:
            attempts += 1
            try:
                path = self._private("tmp", os.urandom(8).hex())
                lock = _locked(path)
            except (FileNotFoundError, BlockingIOError):  # another kaa swept it before it was locked
                if attempts == _ATTEMPTS:
                    raise
                continue
            if os.fstat(lock).st_nlink:
                self._temporary[user] = _Temporary(path, opened(os.path.dirname(path)), lock)
            else:  # swept between both
                os.close(lock)
        return self._temporary[user].path

    def keep(self, name: str) -> None:
        """Leave an entry of the temporary directory for some days: the user was told of it."""
        self._kept.add(name)

    def close(self) -> None:
        """Remove the temporary directories, but for what is kept, and those of workspaces that were killed.

        Caches of a few projects that are gone are removed, too, and what a few programs left that were killed.
        """
        if self._temporary:
            with contextlib.suppress(OSError):  # most workspaces have none
                _sweep_caches(self.written[1])
            with contextlib.suppress(FileNotFoundError):
                programs = opened(os.path.join(self._base, _PROGRAMS))
                from kaa.workspace.program_litter import sweep_programs  # lazy: many users have no such programs

                sweep_programs(programs)
        while self._temporary:
            user, (path, parent, lock) = self._temporary.popitem()
            try:
                if user == _COMMANDS and self._kept.intersection(os.listdir(lock)):
                    _remove_all_but(self._kept, lock)
                else:
                    _remove(os.path.basename(path), parent)
                os.close(lock)
                sweep(parent)
            finally:
                os.close(parent)

    def note_added(self, directories: Iterable[str]) -> None:
        """Note other directories that commands can write: what kaa obeys in them may be their work later, too.

        Args:
            directories: real paths. What is in kaa's own folder, such as the data of a plugin, is nobody's project.
        """
        own = os.path.dirname(self._projects)
        for path in directories:
            if self._projects and not is_below(path, (own, os.path.realpath(own))):
                with contextlib.suppress(OSError):  # it is gone, or as above
                    self._note(path, list_of_added(self._projects))

    def _note(self, directory: str, listed: str) -> None:
        """Note a directory in a file where it stays known when the cache is removed, and when it is renamed.

        Raises:
            OSError: the file cannot be read or written.
        """
        status = os.stat(directory)
        line = b"%d %d %s\n" % (status.st_dev, status.st_ino, quote(os.fsencode(directory)).encode())
        os.makedirs(os.path.dirname(listed), _MODE, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(listed, flags, 0o600), "r+b") as file:
            known = file.read()
            if len(known) > _MAX_LIST_BYTES:
                file.truncate(0)
                file.write(known[-_MAX_LIST_BYTES // 2 :].partition(b"\n")[2])
            if line not in known:
                file.write(line if known.endswith(b"\n") or not known else b"\n" + line)

    def _note_path(self, digest: str) -> None:
        """Write down the root, which the name of its directory does not tell: what commands wrote there is minded."""
        path = os.path.join(self._private(os.path.basename(long_paths_of_projects(self._base))), digest)
        if not os.path.exists(path):
            with open(f"{path}.{os.getpid()}", "wb") as file:
                file.write(os.fsencode(self._root))
            os.replace(file.name, path)

    def _private(self, *names: str) -> str:
        """A directory below the base that is this user's alone."""
        path = self._base
        for name in ("", *names):
            path = os.path.join(path, name).rstrip("/")
            self._make(path)
            status = os.lstat(path)
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                raise PermissionError(f"{path} is not a directory of this user; remove it or set XDG_CACHE_HOME")
            if stat.S_IMODE(status.st_mode) & 0o077:
                os.chmod(path, _MODE)
        return path

    def _make(self, path: str) -> None:
        try:
            os.makedirs(os.path.dirname(self._base), exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, _MODE)
        except OSError as error:
            raise OSError(
                f"cannot create {path}, for temporary files and outputs of commands: {error.strerror};"
                " set XDG_CACHE_HOME to a directory that is yours"
            ) from error


class _Temporary(NamedTuple):
    """The temporary directory, with a descriptor of the one that it is in and one that keeps it from being swept.

    Where commands can write the directories above, a name may lead elsewhere at the end. A descriptor does not.
    """

    path: str
    parent: int
    lock: int


def opened(path: str, parent: int | None = None) -> int:
    """Open a directory that is not a symlink, by its path or by its name in another one."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def _locked(path: str, parent: int | None = None) -> int:
    """A descriptor that keeps others from sweeping the directory as long as it is open."""
    descriptor = opened(path, parent)
    try:
        regular_files.lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove(name: str, parent: int) -> None:
    """Remove a directory with what commands left there; what resists is left for the next sweep."""
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError:
        from kaa.workspace.removal import remove_tree  # lazily: most runs leave nothing

        remove_tree(name, parent)


def _remove_all_but(kept: set[str], directory: int) -> None:
    """Remove the other entries of a directory, and mark it."""
    from kaa.workspace.removal import remove_tree  # lazy: most runs leave nothing

    for name in os.listdir(directory):
        if name not in kept:
            try:
                os.unlink(name, dir_fd=directory)
            except OSError:
                remove_tree(name, directory)
    os.fchmod(directory, _MODE | _HAS_KEPT)
    os.utime(directory)


def _is_kept(name: str, directory: int) -> bool:
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:  # another kaa removed it
        return True
    seconds = _SELF_TEST_SECONDS if name.startswith(_SELF_TEST) else _KEPT_SECONDS
    is_marked = name.startswith(_SELF_TEST) or bool(status.st_mode & _HAS_KEPT)
    return is_marked and time.time() - status.st_mtime < seconds


def sweep(directory: int) -> None:
    """Remove some of the temporary directories in an open one that nobody uses."""
    for name in [name for name in os.listdir(directory) if not _is_kept(name, directory)][:_SWEPT_AT_ONCE]:
        with contextlib.suppress(OSError):  # in use, or swept by another kaa
            if not stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=directory)  # else it would be the first each time
                continue
            lock = opened(name, directory)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # without locks, nobody knows whether it is in use
                _remove(name, directory)
            finally:
                os.close(lock)


def part_of(names: list[str], count: int) -> list[str]:
    """Choose some names, others each time."""
    first = time.monotonic_ns() % max(len(names), 1)
    return (names[first:] + names[:first])[:count]


def _sweep_caches(path: str) -> None:
    """Remove directories of projects that are gone: empty ones, and one with caches, as they may be large."""
    directory = opened(path)
    try:
        gone = list(filter(_is_of_gone_project, part_of(os.listdir(directory), _EXAMINED_AT_ONCE)))
        filled = [name for name in gone[:_SWEPT_AT_ONCE] if not _is_removed(name, directory)]
        # A project may be on a disk that is elsewhere for a while.
        for name in [name for name in filled if _is_older(name, directory, _KEPT_SECONDS)][:1]:
            _remove(name, directory)
    finally:
        os.close(directory)


def _is_removed(name: str, directory: int) -> bool:
    """Remove a directory if it is empty."""
    try:
        os.rmdir(name, dir_fd=directory)
    except OSError:
        return False
    return True


def _is_older(name: str, directory: int, seconds: float) -> bool:
    with contextlib.suppress(OSError):  # another kaa removed it
        return time.time() - os.stat(name, dir_fd=directory, follow_symlinks=False).st_mtime > seconds
    return False


def _is_of_gone_project(name: str) -> bool:
    """Whether the directory that caches are named after does not exist; names of long paths do not tell."""
    root = unquote_to_bytes(name)
    if not root.startswith(b"/") or len(name) == _KEPT_CHARACTERS + 65:
        return False
    try:
        os.lstat(root)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
