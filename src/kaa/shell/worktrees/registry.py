"""The worktrees of a project: where they are, and what is known of each."""

import asyncio
import errno
import fcntl
import hashlib
import os
import re
import socket
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from datetime import datetime
from pathlib import Path

import msgspec

from kaa.host import regular_files
from kaa.shell.mistakes import MistakeError
from kaa.workspace.sandbox.roots import real_root

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_NOT_IN_FOLDERS = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_NAMES = 1000
_MOST_CHARACTERS_OF_AGENTS = 50
_LOCK_SECONDS = 0.05
_LONGEST_CREATION_SECONDS = 3600.0  # git may take ten minutes for each of its steps
_ABANDONED_SECONDS = 60.0  # nobody writes a record for so long


class WorktreeError(Exception):
    """A worktree cannot be created, compared, merged or removed; the message says why."""


class UnknownWorktreeError(WorktreeError, MistakeError):
    """No worktree has the name that was given."""


class Merged(msgspec.Struct, frozen=True):
    """The last merge: trees of a directory before and after it, and of the worktree. `into`: that directory."""

    into: str
    before: str
    after: str
    theirs: str


class Change(msgspec.Struct, frozen=True):
    """Trees of a directory before and after a change of its files."""

    before: str
    after: str


class Worktree(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """A worktree.

    Attributes:
        project: the directory that it was made of, absolute.
        base: the commit of the state in which it began; empty until it is whole.
        created: ISO 8601, UTC.
        start: the commit at which its branch began; empty for no branch.
        store: the repository of kaa's own that has its states; empty if the project's has them.
        merged: the last merge; None if there was none.
        merging: a merge that is perhaps half there, because it or its undo began; None once that has ended.
        undoing: the change that takes `merging` back, if that began.
        machine: where kaa creates it; empty once it is whole.
        of_agent: whether it was made for an agent, which drops it again if no work is in it.
    """

    name: str
    project: str
    directory: str
    base: str
    created: str
    start: str = ""
    store: str = ""
    merged: Merged | None = None
    merging: Merged | None = None
    undoing: Change | None = None
    machine: str = ""
    of_agent: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether its creation has ended."""
        return bool(self.base)

    @property
    def branch(self) -> str:
        """Its branch in the repository of the project."""
        return f"kaa/{self.name}"

    @property
    def git_directory(self) -> str:
        """The repository that has its states."""
        return self.store or os.path.join(self.project, ".git")

    @property
    def own_directories(self) -> list[str]:
        """Those of its own that are there."""
        return [path for path in (self.directory, self.store) if path and os.path.isdir(path)]

    @property
    def exists(self) -> bool:
        """Whether its directory is there."""
        return os.path.isdir(self.directory)


class WorktreeRegistry:
    """The worktrees of one project.

    Args:
        project: the directory, absolute and real.

    Attributes:
        folder: of all that kaa keeps of these worktrees.
    """

    def __init__(self, environ: Mapping[str, str], project: str) -> None:
        digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:8]
        name = _NOT_IN_FOLDERS.sub("-", os.path.basename(project)).strip("-.")[:40] or "project"
        self.folder = _folder(environ) / f"{name}-{digest}"
        self._project = project

    def all(self) -> tuple[Worktree, ...]:
        """All of them, by name; records that cannot be read are left out."""
        names = sorted(path.name.removesuffix(".json") for path in self.folder.glob("*.json"))
        found = (self._read(name) for name in names)
        return tuple(worktree for worktree in found if worktree is not None)

    def find(self, name: str) -> Worktree:
        """The worktree of this name.

        Raises:
            WorktreeError: there is none.
        """
        worktree = self._read(checked(name))
        if worktree is None:
            known = ", ".join(one.name for one in self.all()) or "none"
            raise UnknownWorktreeError(f"there is no worktree {name!r} of {self._project}. Worktrees: {known}")
        return worktree

    def free_name(self) -> str:
        """A name that no worktree has, and no other directory here."""
        taken = {one.name for one in self.all()}
        names = (f"w{number}" for number in range(1, _MOST_NAMES))
        return next(name for name in names if name not in taken and not os.path.lexists(self.directory(name)))

    def directory(self, name: str) -> Path:
        return self.folder / name

    def store(self, name: str) -> Path:
        """The repository of kaa's own for it."""
        return self.folder / f"{name}.git"

    def dropped(self, name: str) -> Path:
        """Where the directory of a worktree of this name is while it is removed."""
        return self.folder / f".{name}.dropped"

    @contextmanager
    def holding(self, name: str) -> Iterator[bool]:
        """Keep others from merging the worktree of this name, and from taking it for one that a killed kaa left.

        Its directory exists. Yields whether that holds for other machines, too.

        Raises:
            WorktreeError: another kaa creates or merges it.
            OSError: its directory cannot be opened.
        """
        os.stat(self.directory(name))
        # Not the directory itself: commands in it can lock that.
        path = self.folder / f".{name}.lock"
        with ExitStack() as held:
            while True:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                held.callback(os.close, descriptor)
                try:
                    substitute = _lock(descriptor)
                except BlockingIOError:
                    raise held_by_another(name) from None
                if substitute is not None:
                    held.enter_context(substitute)
                if _is_at(path, descriptor):  # not removed meanwhile
                    break
            yield substitute is None

    def is_interrupted(self, worktree: Worktree) -> bool:
        """True if kaa was killed while it created a worktree, or while it removed one."""
        if os.path.lexists(self.dropped(worktree.name)):
            return True
        if worktree.is_whole:
            return False
        try:
            with self.holding(worktree.name) as for_all_machines:
                known = self._read(worktree.name)  # it may have become whole before this had the lock
                if known is None or known.is_whole:
                    return False
                return for_all_machines or known.machine == this_machine() or _is_old(known)
        except WorktreeError:
            return False
        except OSError:  # its directory is gone
            return True

    def save(self, worktree: Worktree) -> None:
        """Keep what is known of a worktree.

        Raises:
            WorktreeError: it cannot be written; what was known before still is.
        """
        path = self._record(worktree.name)
        beside = path.with_suffix(f".{os.getpid()}.part")
        try:
            self.folder.mkdir(0o700, parents=True, exist_ok=True)
            beside.write_bytes(msgspec.json.format(msgspec.json.encode(worktree), indent=2) + b"\n")
            beside.replace(path)
        except OSError as error:
            with suppress(OSError):
                beside.unlink()
            raise WorktreeError(f"{path} cannot be written: {error.strerror}") from error
        for left in self.folder.glob("*.part"):  # of a kaa that was killed
            with suppress(OSError):
                if time.time() - left.lstat().st_mtime > _ABANDONED_SECONDS:
                    left.unlink()

    def forget(self, name: str) -> None:
        """Forget a worktree.

        Raises:
            OSError: its record cannot be removed.
        """
        self._record(name).unlink(missing_ok=True)
        (self.folder / f".{name}.lock").unlink(missing_ok=True)

    @asynccontextmanager
    async def changing_git(self) -> AsyncIterator[None]:
        """Keep others from adding or removing worktrees: git fails if it reads what another git has half written.

        Raises:
            OSError: the folder cannot be opened.
        """
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with ExitStack() as held:
            held.callback(os.close, descriptor)
            while not _enter(held, descriptor):  # noqa: ASYNC110 - no event tells that another process let go
                await asyncio.sleep(_LOCK_SECONDS)
            yield

    def _record(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _read(self, name: str) -> Worktree | None:
        """What is known of a worktree. Where commands can write records, one must not have kaa touch other places."""
        try:
            known = msgspec.json.decode(self._record(name).read_bytes(), type=Worktree)
        except (OSError, msgspec.DecodeError):
            return None
        own = (name, self._project, str(self.directory(name)))
        is_own = (known.name, known.project, known.directory) == own and known.store in ("", str(self.store(name)))
        return known if is_own else None


def _enter(held: ExitStack, descriptor: int) -> bool:
    """Hold the lock of an open folder as long as the stack; False if somebody else has it."""
    try:
        substitute = _lock(descriptor)
    except BlockingIOError:
        return False
    if substitute is not None:
        held.enter_context(substitute)
    return True


def _lock(descriptor: int) -> socket.socket | None:
    """Lock an open file or folder until it is closed.

    Returns:
        What has to stay open where the file system has no locks: a name that the kernel gives to one process of this
        machine. None elsewhere.

    Raises:
        BlockingIOError: somebody else has locked it.
        OSError: the system failed.
    """
    if regular_files.lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
        return None
    opened = os.fstat(descriptor)
    substitute = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        substitute.bind(f"\0kaa-folder-{opened.st_dev}-{opened.st_ino}")
    except OSError as error:
        substitute.close()
        if error.errno == errno.EADDRINUSE:
            raise BlockingIOError(error.errno, error.strerror) from error
        raise
    return substitute


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file is the one that a path names."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def this_machine() -> str:
    """Name this machine until it restarts, or the container if that has a network of its own."""
    with suppress(OSError):
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {os.readlink('/proc/self/ns/net')}"
    return ""


def _is_old(worktree: Worktree) -> bool:
    """Whether its creation began so long ago that no kaa still creates it."""
    with suppress(ValueError):
        return time.time() - datetime.fromisoformat(worktree.created).timestamp() > _LONGEST_CREATION_SECONDS
    return True


def checked(name: str) -> str:
    """A name for a worktree, and for a branch.

    Raises:
        WorktreeError: it is none.
    """
    if not _NAME.fullmatch(name) or ".." in name or name.endswith((".lock", ".", ".git", ".json")):
        raise WorktreeError(
            f"invalid name {name!r} of a worktree: use letters, digits, '.', '_' and '-', at most 60 characters"
        )
    return name


def name_for_agent(agent_id: str) -> str:
    """The name of the worktree that an agent works in."""
    return _NOT_IN_FOLDERS.sub("-", agent_id)[-_MOST_CHARACTERS_OF_AGENTS:].lstrip("-._")


def held_by_another(name: str) -> WorktreeError:
    """An error that says that another process creates or merges a worktree."""
    return WorktreeError(f"another kaa is creating or merging the worktree {name}: wait for it")


def copied_to(directory: str, environ: Mapping[str, str]) -> Worktree | None:
    """Return the worktree that a directory is in; None if it is in none of kaa's.

    Args:
        directory: absolute and real.
    """
    with suppress(ValueError, OSError, msgspec.DecodeError):
        of_project, name, *_ = Path(directory).relative_to(folder := _folder(environ)).parts
        record = (folder / of_project / f"{name}.json").read_bytes()
        worktree = msgspec.json.decode(record, type=Worktree)
        return worktree if Path(worktree.directory) == folder / of_project / name else None
    return None


def origin_of(directory: str, environ: Mapping[str, str]) -> str:
    """Return the directory of the project that a directory in a worktree is a copy of; elsewhere itself.

    Args:
        directory: absolute and real.
        environ: as for `copied_to`.
    """
    worktree = copied_to(directory, environ)
    if worktree is None:
        return directory
    return os.path.normpath(os.path.join(worktree.project, os.path.relpath(directory, worktree.directory)))


def _folder(environ: Mapping[str, str]) -> Path:
    """The folder of the worktrees of all projects."""
    data = environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):
        data = os.path.join(environ.get("HOME", os.path.expanduser("~")), ".local", "share")
    return Path(os.path.realpath(data), "kaa", "worktrees")


def project_of(directory: str, environ: Mapping[str, str]) -> str:
    """The directory of which worktrees are made: the repository that a directory is in, or itself.

    Args:
        directory: absolute.
        environ: may name directories above which no repository counts, as git's GIT_CEILING_DIRECTORIES.

    Raises:
        RootReplacedError: a conversation of this process works in this directory, and something else is there now.
    """
    real = real_root(directory)
    ceilings = environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep)
    above = real
    while above not in ("/", *ceilings):
        if os.path.lexists(os.path.join(above, ".git")):
            return above
        above = os.path.dirname(above)
    return real
