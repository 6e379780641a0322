"""Empty directories at protected names that do not exist yet: a mount can hold only what exists.

They are on the user's disk as long as a kaa runs in the project. A record in kaa's cache says which directories kaa
made: the last kaa to end removes them, and the next one to start takes over those of a kaa that was killed. A directory
that is not empty, or is not the recorded one any more, belongs to the user and stays.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterator

from kaa.hands.confinement.listing import is_below_any
from kaa.hands.policy import Policy
from kaa.hands.protected import PLACEHOLDER_NAMES

_MAX_RECORD_BYTES = 64 * 1024
_MAX_MOUNTS = 64  # at one name, on top of each other
# Programs that make a new project refuse a directory with something in it, other than such names.
_OF_NEW_PROJECTS = (".", "readme", "license")


class ProtectedPlaceholders:
    """The placeholders of one project, shared by all kaa processes that work in it.

    A shared lock on the record says that a process uses them. A lock on the directory of the records makes changes
    atomic.

    Args:
        project: absolute path of the directory.
        folder: descriptor of the directory of the records.
        record: name of the project's.
        create: make the record if there is none.

    Raises:
        OSError: the record cannot be opened or locked.
    """

    def __init__(self, project: str, folder: int, record: str, *, create: bool) -> None:
        self._project = project
        self._folder = folder
        self._name = record
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        with self._changing():
            self._record = os.open(record, flags, 0o600, dir_fd=folder)
            fcntl.flock(self._record, fcntl.LOCK_SH)

    def make(self) -> None:
        """Make a placeholder at each name that does not exist. Where the project cannot be written there are none."""
        with self._changing():
            for name in PLACEHOLDER_NAMES:
                path = os.path.join(self._project, name)
                try:
                    os.mkdir(path)
                except FileExistsError:
                    continue
                except OSError:
                    return
                try:
                    os.write(self._record, _line(path))  # at once: kaa may be killed
                except OSError:
                    os.rmdir(path)
                    return

    def close(self, uncover: Callable[[str], None] | None = None) -> None:
        """Remove the placeholders, unless another kaa uses them. What cannot be removed is left.

        Args:
            uncover: takes away the topmost mount at a path, in the namespace of the caller.
        """
        with contextlib.suppress(OSError), self._changing():
            fcntl.flock(self._record, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in self._recorded():
                _remove(path, uncover)
            os.unlink(self._name, dir_fd=self._folder)
        with contextlib.suppress(OSError):
            fcntl.flock(self._record, fcntl.LOCK_UN)  # processes forked from this one have the same lock
        self.leave()

    def leave(self) -> None:
        """Close the descriptors, in a forked process that is not the one to remove the placeholders."""
        os.close(self._record)
        os.close(self._folder)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Keeps other kaa processes of this user from making or removing placeholders."""
        fcntl.flock(self._folder, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._folder, fcntl.LOCK_UN)

    def _recorded(self) -> Iterator[str]:
        """Paths of the directories that are what they were when kaa made them."""
        lines = set(os.pread(self._record, _MAX_RECORD_BYTES, 0).splitlines(keepends=True))
        for name in PLACEHOLDER_NAMES:
            path = os.path.join(self._project, name)
            with contextlib.suppress(OSError):
                if _line(path) in lines:
                    yield path


def prepare(policy: Policy, home: str) -> ProtectedPlaceholders | None:
    """Make placeholders if this tier can hold them; otherwise remove those of a kaa that was killed.

    Where they cannot be made or recorded there are none, and the guard acts on what commands make.

    Args:
        policy: to be held.
        home: the user's home directory. It gets none: programs look there to see which others are installed.
    """
    if not policy.cache or not policy.writable:
        return None
    project = os.path.realpath(policy.writable[0])
    wanted = policy.tier == "full" and policy.mode == "workspace-write" and _needs(project, home)
    caches, record = os.path.split(policy.cache)
    with contextlib.suppress(OSError):
        folder = _open_folder(os.path.join(os.path.dirname(caches), "placeholders"), create=wanted)
        try:
            placeholders = ProtectedPlaceholders(project, folder, record, create=wanted)
        except OSError:
            os.close(folder)
            return None
        if wanted:
            placeholders.make()
            return placeholders
        placeholders.close()
    return None


def _needs(project: str, home: str) -> bool:
    """Whether placeholders in a project are in nobody's way."""
    if is_below_any(os.path.realpath(home), [project]):
        return False
    try:
        names = os.listdir(project)
    except OSError:
        return False
    return any(not name.casefold().startswith(_OF_NEW_PROJECTS) for name in names)


def _open_folder(path: str, *, create: bool) -> int:
    """The directory of the records, which must be this user's."""
    if create:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)
    return descriptor


def _line(path: str) -> bytes:
    """What is recorded of a directory. The time changes when something is made in it, or another one takes its place.

    Device numbers are left out: some file systems get new ones when the machine starts.
    """
    status = os.lstat(path)
    return f"{os.path.basename(path)} {status.st_ino} {status.st_mtime_ns}\n".encode()


def _remove(path: str, uncover: Callable[[str], None] | None) -> None:
    """Remove an empty directory and, in the namespace of the caller, what is mounted there."""
    for _ in range(_MAX_MOUNTS):
        try:
            os.rmdir(path)
        except OSError as error:
            if error.errno != errno.EBUSY or uncover is None:
                return
        else:
            return
        try:
            uncover(path)
        except OSError:
            return
