"""Finds AGENTS.md and its like, of the project and of the directories above, and says whose they are.

All of them are read in one round trip, once: what the user is shown is what is hashed and what the model gets.
"""

import os
import posixpath
import stat
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

import msgspec

from kaa.workspace.protocol import Workspace

# The first of these that a folder has is used, as pi does.
CONTEXT_NAMES = ("AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")

# The most that is used of one file, the user's own excepted; codex caps the same way (32 KiB).
MAX_INSTRUCTION_BYTES = 32 * 1024

# What the root of a git repository has: a directory, or in worktrees and submodules a file.
_REPOSITORY = (".git", ".git/HEAD")

# `project`: in the project, or above it in the same repository; trust in it can be kept. `above`: outside of that.
# `link`: it leads to a file elsewhere. `stranger`: another user can change it.
Standing: TypeAlias = Literal["project", "above", "link", "stranger"]


class InstructionFile(msgspec.Struct, frozen=True):
    """A file with instructions.

    Attributes:
        path: absolute.
        name: relative to the project's root.
        data: its beginning; one byte more than the limit shows that there is more.
        problem: why it is not used; only of a stranger's.
    """

    path: str
    name: str
    data: bytes
    standing: Standing
    problem: str = ""


async def find_instructions(workspace: Workspace) -> tuple[InstructionFile, ...]:
    """The files that the project's directory and those above have, the most general first."""
    root = PurePosixPath(workspace.root)
    folders = [*map(str, reversed(root.parents)), str(root)]
    names = (*CONTEXT_NAMES, *_REPOSITORY)
    found = await workspace.read_existing(
        [posixpath.join(folder, name) for folder in folders for name in names], MAX_INSTRUCTION_BYTES + 1
    )
    repository = _repository(folders, found)
    files: list[InstructionFile] = []
    for folder in folders:
        path = next((path for name in CONTEXT_NAMES if (path := posixpath.join(folder, name)) in found), None)
        if path is None:
            continue
        problem = stranger_above(path) if folder != workspace.root else None
        standing: Standing = "project" if len(folder) >= len(repository) else "above"
        if problem is not None:
            standing = "stranger"
        elif await _leads_out(workspace, path, folder):
            standing = "link"
        files.append(
            InstructionFile(path, posixpath.relpath(path, workspace.root), found[path], standing, problem or "")
        )
    return tuple(files)


def _repository(folders: list[str], found: Mapping[str, bytes]) -> str:
    """The root of the repository that the project belongs to; the project's own directory if there is none."""
    for folder in reversed(folders):
        if any(posixpath.join(folder, name) in found for name in _REPOSITORY):
            return folder
    return folders[-1]


async def _leads_out(workspace: Workspace, path: str, folder: str) -> bool:
    """Whether a file is a link out of its folder: it could show the model any file of the user's."""
    return not PurePosixPath(await _real_path(workspace, path)).is_relative_to(await _real_path(workspace, folder))


async def _real_path(workspace: Workspace, path: str) -> str:
    info = await workspace.stat(path)
    return path if info is None else info.real_path


_SYSTEM = 0  # the user id of root


def stranger_above(path: str) -> str | None:
    """Why a file in a directory above the project is not used, None if only the user and root can change it.

    The brain examines owners and modes itself: in the hands' user namespace, root and other users have the same number.
    """
    folder = os.path.dirname(path)
    try:
        above = os.stat(folder)
        entry, file = os.lstat(path), os.stat(path)
    except FileNotFoundError:  # the workspace is not on this machine
        return None
    except OSError as error:
        return f"it cannot be examined ({error.strerror})"
    for name, status in (("its directory", above), ("it", file), ("the link", entry)):
        if status.st_uid not in (os.geteuid(), _SYSTEM):
            return f"{name} belongs to another user (uid {status.st_uid})"
    if file.st_mode & stat.S_IWOTH:
        return "every user can write it"
    if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
        return "every user can write its directory"
    return None
