"""Writes files that the sandbox kept from a new worktree: the guard moves away what programs obey, like planted files.

kaa copies them itself, unconfined, once nothing runs in the worktree any more. Commands can write all that git knows of
the project. So the contents are only ever those that a file of the project has on disk, under the same path, for longer
than the guard needs to move away what a command creates there.
"""

import asyncio
import contextlib
import os
import shutil
import stat
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence, Set
from typing import IO, TypeAlias

from kaa.workspace.removal import remove_tree

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LINK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC  # the link itself, which nobody can exchange then
_SOURCE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TARGET = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCKED = ".kaa-blocked"
_NO_NAMES = frozenset({"", ".", "..", ".git"})
_SETTLED_SECONDS = 1.0  # the guard moves a name away some milliseconds after it appears

_Trail: TypeAlias = tuple[tuple[int, int, int], ...]


async def put_back(
    paths: Sequence[str],
    project: str,
    directory: str,
    hidden: Set[str],
    inspect: Callable[[], Awaitable[None]] | None = None,
) -> tuple[str, ...]:
    """Copy files of the project that a worktree does not have into it, and remove what the guard kept of them there.

    Args:
        paths: of the files, relative to both directories.
        project: the directory that has them.
        directory: of the worktree, which is new.
        hidden: those that commands may not read.
        inspect: has the project's guard move away what it did not get to yet; None if no command of ours runs there.

    Returns:
        The files that are not copied, each with the reason.
    """
    absent = [path for path in paths if not is_there(directory, path)]
    trails = {path: _trail(project, path) for path in absent}
    youngest = max((changed for trail in trails.values() for _, _, changed in trail), default=0)
    await asyncio.sleep(max(0.0, min(_SETTLED_SECONDS, _SETTLED_SECONDS - (time.time() - youngest / 1e9))))
    if absent and inspect is not None:  # a guard of very many directories needs longer than that
        await inspect()
    left_out = []
    for path in absent:
        _clear_away(path, project, directory)
        if path in hidden:
            left_out.append(f"{path} (the sandbox hides it)")
            continue
        try:
            _copy(path, project, directory, trails[path])
        except OSError as error:
            left_out.append(f"{path} ({error.strerror})")
    return tuple(left_out)


def is_there(directory: str, path: str) -> bool:
    """True if a directory has something at a path."""
    return os.path.lexists(os.path.join(directory, path))


def _trail(project: str, path: str) -> _Trail:
    """What is at a path and at each folder above it: device, inode, and when that changed, which nobody can forge."""
    found = []
    names = path.split("/")
    for end in range(1, len(names) + 1):
        with contextlib.suppress(OSError):
            status = os.lstat(os.path.join(project, *names[:end]))
            found.append((status.st_dev, status.st_ino, status.st_ctime_ns))
    return tuple(found)


def _copy(path: str, project: str, directory: str, trail: _Trail) -> None:
    """Copy a file, or a link to something in the project as a link, without following a link on either side.

    Args:
        path: relative to both directories.
        project: has the file.
        directory: gets it.
        trail: what was at the path some time ago.

    Raises:
        OSError: it is neither a regular file of the project nor a link to something in it, changes at this moment, or
            cannot be written.
    """
    *folders, name = path.split("/")
    if _NO_NAMES.intersection((*folders, name)):
        raise PermissionError(0, "it is not a path of a project", path)
    with contextlib.ExitStack() as opened:
        source_folders = [opened.enter_context(_opened(project))]
        for folder in folders:
            source_folders.append(opened.enter_context(_opened(folder, source_folders[-1])))
        source: IO[bytes] | None = None
        target_of_link = ""
        here = os.open(name, _LINK, dir_fd=source_folders[-1])
        opened.callback(os.close, here)
        status = os.fstat(here)
        if stat.S_ISLNK(status.st_mode):
            target_of_link = os.readlink("", dir_fd=here)
            if not _stays_inside(path, target_of_link):
                raise PermissionError(0, "it is a link to something that is not in the project", path)
        else:
            source = opened.enter_context(open(os.open(name, _SOURCE, dir_fd=source_folders[-1]), "rb"))
            status = os.fstat(source.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise PermissionError(0, "it is not a regular file", path)
        opened_now = (*map(os.fstat, source_folders[1:]), status)
        if trail != tuple((one.st_dev, one.st_ino, one.st_ctime_ns) for one in opened_now):
            raise PermissionError(0, "it changed while the worktree was created", path)
        target_folder = opened.enter_context(_opened(directory))
        for folder in folders:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, dir_fd=target_folder)
            target_folder = opened.enter_context(_opened(folder, target_folder))
        if source is None:
            os.symlink(target_of_link, name, dir_fd=target_folder)
            return
        mode = 0o777 if status.st_mode & 0o100 else 0o666
        target = opened.enter_context(open(os.open(name, _TARGET, mode, dir_fd=target_folder), "wb"))
        shutil.copyfileobj(source, target)


def _stays_inside(path: str, target: str) -> bool:
    """Whether a link at a path of the project leads to a place in it by its words, and not among git's own files."""
    leads_to = os.path.normpath(os.path.join(os.path.dirname(path), target))
    return not target.startswith("/") and not {"..", ".git"}.intersection(leads_to.casefold().split("/"))


@contextlib.contextmanager
def _opened(name: str, parent: int | None = None) -> Iterator[int]:
    descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _clear_away(path: str, project: str, directory: str) -> None:
    """Remove what the guard kept in a worktree of a file and of the folders above it: a merge would take it over."""
    names = path.split("/")
    with contextlib.ExitStack() as opened, contextlib.suppress(OSError):  # a folder is not there
        here, beside = opened.enter_context(_opened(directory)), opened.enter_context(_opened(project))
        for name in () if _NO_NAMES.intersection(names) else names:
            _remove_kept(name, here, beside)
            here, beside = opened.enter_context(_opened(name, here)), opened.enter_context(_opened(name, beside))


def _remove_kept(name: str, folder: int, beside: int) -> None:
    """Remove what the guard kept of a name in a folder, but not what the project has under such a name too."""
    with os.scandir(folder) as entries:
        kept = {entry.name for entry in entries if entry.name.startswith(f"{name}{_BLOCKED}")}
    for one in kept.difference(os.listdir(beside)):
        try:
            os.unlink(one, dir_fd=folder)
        except IsADirectoryError:
            remove_tree(one, folder)
