"""Where git keeps what it obeys: the repositories of the writable directories and above, of worktrees and submodules.

What a `.git` file says is the project's word. A git directory elsewhere is made writable only if it names the project
in turn, in a place where the project cannot have written that.
"""

import contextlib
import math
import os
import stat
import time
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from kaa.hands.below import reach
from kaa.hands.confinement.listing import is_below_any
from kaa.hands.git_config import ConfigSyntaxError, parse
from kaa.hands.policy import PROTECTED_GIT_NAMES, REPOSITORY_DEPTH

_PRUNED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache", "site-packages"})
_MAX_DIRECTORIES = 2000  # about 10 ms if most have no directories; repositories beyond are left to the guard
_AHEAD_SECONDS = 1.0
_LINKS_OF_LEAF = 2  # of a directory without directories: the name and `.`
_MODULE_DEPTH = 16  # names of submodules have slashes, and are as deep as their working trees
_MAX_INNER = 20_000  # directories of submodules and worktrees that are looked at; about 0.3 s
_MAX_HOOKS = 1_000  # in one directory; git knows 28 names
_MAX_FILE_BYTES = 64 * 1024
_OBEYED = ("info", "info/attributes", "objects/info/alternates", "remotes", "branches")  # besides what is protected


class Repository(NamedTuple):
    """A `.git` and where it leads.

    Attributes:
        entry: path of the `.git` itself.
        directories: the git directories, one in another left out: that of a worktree is below the common one.
        is_file: whether the entry is a file that leads to them.
        proof: the directory that names this repository itself; empty if none does. It proves something only where the
            project cannot write.
    """

    entry: str
    directories: tuple[str, ...]
    is_file: bool
    proof: str = ""


class LinkedWorktree(NamedTuple):
    """What a repository keeps of one of its worktrees.

    Attributes:
        entry: absolute path of the `.git` of the worktree, which need not exist.
    """

    directory: str
    entry: str

    @property
    def leads_back(self) -> bool:
        """Whether the `.git` is there and leads to this repository."""
        return _reference(self.entry, b"gitdir: ") == os.path.realpath(self.directory)


_found_ahead: dict[str, tuple[float, Sequence[Repository]]] = {}  # with the time


def look_ahead(root: str) -> None:
    """Look now for what the next `find` of a directory returns, if it comes within a second."""
    _found_ahead[root] = time.monotonic(), list(find(root))


def forget_found() -> None:
    """Have `find` look again, also in processes that are forked from now on."""
    _found_ahead.clear()


def find(root: str) -> Iterator[Repository]:
    """The repositories at and below a directory, to REPOSITORY_DEPTH."""
    found_at, found = _found_ahead.pop(root, (-math.inf, ()))
    if time.monotonic() - found_at < _AHEAD_SECONDS:
        yield from found
        return
    level, looked_at, counting = [root], 0, set[int]()
    for depth in range(REPOSITORY_DEPTH + 1):
        below: list[str] = []
        for directory in level:
            looked_at += 1
            if looked_at > _MAX_DIRECTORIES:
                return
            entry = f"{directory}/.git"
            if os.path.lexists(entry):
                yield _repository(entry)
            if depth < REPOSITORY_DEPTH and not _is_leaf(directory, counting):
                below += _subdirectories(directory)
        level = below


def above(roots: Sequence[str]) -> Iterator[Repository]:
    """The repositories of whose working trees some directories are a part, but none that is in one of the directories.

    What is writable are the directories, so commands change nothing of these repositories.

    Args:
        roots: absolute and real.
    """
    for directory in dict.fromkeys(parent for root in roots for parent in _parents(root)):
        entry = os.path.join(directory, ".git")
        if os.path.lexists(entry):
            if not is_below_any(directory, roots):
                yield _repository(entry)
        elif _is_git_directory(directory) and not is_below_any(directory, roots):  # a bare one
            yield Repository(entry, (directory,), is_file=False)


def at(entry: str) -> Repository:
    """The repository of a `.git`, which exists."""
    return _repository(entry)


def git_directories(root: str) -> tuple[str, ...]:
    """The directories of the repository whose top a directory is, in it or elsewhere; none if it is no such top."""
    entry = os.path.join(root, ".git")
    return _repository(entry).directories if os.path.lexists(entry) else ()


def worktrees(git_directory: str) -> Iterator[LinkedWorktree]:
    """The worktrees of a repository and of its submodules."""
    modules = _git_directories(os.path.join(git_directory, "modules"), _MODULE_DEPTH)
    for directory in (git_directory, *modules):
        for kept in _subdirectories(os.path.join(directory, "worktrees")):
            if entry := worktree_entry(kept):
                yield LinkedWorktree(kept, entry)


def worktree_entry(directory: str) -> str:
    """The path of the `.git` of a worktree according to what is kept of it; empty if that is no path."""
    path = os.fsdecode(_read(os.path.join(directory, "gitdir")).rstrip(b"\r\n"))
    path = os.path.normpath(os.path.join(directory, path)) if path else ""
    return path if os.path.basename(path) == ".git" and "\0" not in path and "\n" not in path else ""


def has_head(directory: str, opened: int | None = None) -> bool:
    """Whether git may take a directory for a repository. A directory `HEAD` is part of a submodule's name.

    Args:
        directory: its path, below `opened` if that is given.
    """
    try:
        kind = os.stat(os.path.join(directory, "HEAD"), dir_fd=opened, follow_symlinks=False).st_mode
    except OSError:
        return False
    return not stat.S_ISDIR(kind)


def is_written_by_git(git_directory: str, path: str) -> bool:
    """Whether git itself writes what is at a path in a git directory, so that commands need to, or it is guarded there.

    Args:
        path: below it; empty for itself.
    """
    names = path.split("/") if path else []
    while names:
        if names[0] == "worktrees" and len(names) > 2:
            git_directory = os.path.join(git_directory, *names[:2])
            del names[:2]
        elif names[0] == "modules":
            end = next((end for end in range(2, len(names)) if has_head(os.path.join(git_directory, *names[:end]))), 0)
            if not end:  # in no module
                return not os.path.isfile(os.path.join(git_directory, *names))
            git_directory = os.path.join(git_directory, *names[:end])
            del names[:end]
        else:
            from kaa.hands import git_names  # lazy: few things in a git directory are obeyed

            return git_names.is_written_by_git(names)
    return True


def obeyed(git_directory: str) -> Iterator[str]:
    """What git executes or obeys in a git directory, its modules and its worktrees, as far as it exists."""
    for directory in _with_inner(git_directory):
        for name in PROTECTED_GIT_NAMES:
            path = os.path.join(directory, name)
            if os.path.lexists(path):
                yield path


def obeyed_links(git_directory: str) -> Iterator[str]:
    """Links among what git executes or obeys there: `hooks/pre-commit -> ../../scripts/check`."""
    for directory in _with_inner(git_directory):
        for name in (*PROTECTED_GIT_NAMES, *_OBEYED):
            if os.path.islink(path := os.path.join(directory, name)):
                yield path
        yield from links_of_hooks(os.path.join(directory, "hooks"))


def links_of_hooks(directory: str) -> Iterator[str]:
    """Links in a directory of hooks. git executes no directory."""
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        hooks = islice(entries, _MAX_HOOKS)
        yield from (entry.path for entry in hooks if entry.is_symlink() and not os.path.isdir(entry.path))


def _parents(path: str) -> Iterator[str]:
    while (parent := os.path.dirname(path)) != path:
        yield parent
        path = parent


def _with_inner(git_directory: str) -> list[str]:
    """A git directory, and those of submodules and worktrees in it."""
    return [
        git_directory,
        *_git_directories(os.path.join(git_directory, "modules"), _MODULE_DEPTH),
        *_git_directories(os.path.join(git_directory, "worktrees"), 1),
    ]


def _repository(entry: str) -> Repository:
    if os.path.isdir(entry):
        return Repository(entry, (os.path.realpath(entry),), is_file=False)
    target = _reference(entry, b"gitdir: ")
    if target is None:
        return Repository(entry, (), is_file=True)
    common = os.path.dirname(os.path.dirname(target))
    if os.path.basename(os.path.dirname(target)) == "worktrees" and _is_git_directory(common):
        back = _reference(os.path.join(target, "gitdir"))
        same = _reference(os.path.join(target, "commondir"))
        proven = back == entry and same == common
        return Repository(entry, (common,), is_file=True, proof=target if proven else "")
    proven = _is_git_directory(target) and _work_tree(target) == os.path.dirname(entry)
    return Repository(entry, (target,), is_file=True, proof=target if proven else "")


def _reference(path: str, prefix: bytes = b"") -> str | None:
    """The real path that a file names, relative to the file's directory."""
    line = _read(path).rstrip(b"\r\n")
    if not line.startswith(prefix) or b"\0" in line or not line[len(prefix) :]:
        return None
    return os.path.realpath(os.path.join(os.path.dirname(path), os.fsdecode(line[len(prefix) :])))


def _work_tree(git_directory: str) -> str | None:
    """The working tree that a git directory is for, according to its configuration; git writes it for submodules."""
    with contextlib.suppress(ConfigSyntaxError):
        for entry in parse(_read(os.path.join(git_directory, "config"))):
            if (entry.section, entry.name) == ("core", "worktree"):
                return os.path.realpath(os.path.join(git_directory, entry.value))
    return None


def _is_git_directory(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "HEAD")) and os.path.isdir(os.path.join(path, "objects"))


def _git_directories(directory: str, depth: int) -> list[str]:
    found, level, looked_at = list[str](), [directory], 0
    for _ in range(depth):
        below = list[str]()
        for path in chain.from_iterable(map(_subdirectories, level)):
            looked_at += 1
            if looked_at > _MAX_INNER:
                return found
            if is_repository := has_head(path):
                found.append(path)
            below.append(os.path.join(path, "modules") if is_repository else path)
        level = below
    return found


def _is_leaf(directory: str, counting: set[int]) -> bool:
    """Whether a directory has no directories for sure: that costs a fifth of listing it.

    Args:
        counting: file systems that count the links from directories, which Btrfs and CIFS do not; added to.
    """
    try:
        status = os.lstat(directory)
    except OSError:
        return False
    if status.st_nlink > _LINKS_OF_LEAF:
        counting.add(status.st_dev)
    return status.st_nlink == _LINKS_OF_LEAF and status.st_dev in counting


def _subdirectories(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [
                entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name not in _PRUNED
            ]
    except PermissionError:
        return [os.path.join(directory, name) for name in _directories_in_closed(directory) if name not in _PRUNED]
    except OSError:  # not there
        return []


def _directories_in_closed(directory: str) -> list[str]:
    """Those in a directory that a command may have closed; nothing of another user's."""
    with contextlib.suppress(OSError), reach(directory) as descriptor:  # the guard reports it
        if descriptor is not None:
            with os.scandir(descriptor) as entries:
                return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _MAX_FILE_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
