"""Finds AGENTS.md and its like, of the project and of the directories above, and says whose they are.

All of them are read in one round trip, once: what the user is shown is what is hashed and what the model gets.
"""

import codecs
import os
import posixpath
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from kaa.workspace.protocol import Workspace

# The first of these that a folder has is used, as in pi; AGENTS.override.md is of Codex, GEMINI.md of Gemini CLI.
CONTEXT_NAMES = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD", "GEMINI.md")

# Further names in the project's own directory, after those; the last three are of Cursor, Windsurf and Cline.
_NAMES_IN_PROJECT = (
    ".claude/CLAUDE.md",
    ".github/copilot-instructions.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
)

# It is there to replace another one.
_OVERRIDE = CONTEXT_NAMES[0]

# What a folder has in addition: the user's own notes on the project, in Claude Code.
LOCAL_NAME = "CLAUDE.local.md"

# The most that is used of one file, the user's own excepted; codex caps the same way (32 KiB).
MAX_INSTRUCTION_BYTES = 32 * 1024

# What the root of a git repository has: a directory, or in worktrees and submodules a file.
_REPOSITORY = (".git", ".git/HEAD")

# `project`: in the project, or above it in the same repository; trust in it can be kept. `above`: outside of that.
# `link`: it leads to a file elsewhere. `stranger`: another user can change it.
Standing: TypeAlias = Literal["project", "above", "link", "stranger"]

# The format of a rule; empty for a file without fields.
RuleFormat: TypeAlias = Literal["", "claude", "cursor", "windsurf", "copilot"]


class InstructionFile(msgspec.Struct, frozen=True):
    """A file with instructions.

    Attributes:
        path: absolute.
        name: relative to the project's root.
        data: its beginning, and what it imports; one byte more than the limit shows that there is more.
        problem: why it is not used; only of a stranger's.
        own_bytes: how much of `data` is not imported; None if all is its own.
        rule: its format, if it is a rule.
        notices: what of it is left out, in sentences.
        way: of a rule above the project, from its folder to the project; otherwise empty.
    """

    path: str
    name: str
    data: bytes
    standing: Standing
    problem: str = ""
    own_bytes: int | None = None
    rule: RuleFormat = ""
    notices: tuple[str, ...] = ()
    way: str = ""


class FoundInstructions(NamedTuple):
    """Instructions, the most general first, and the root of the repository that the project belongs to."""

    files: tuple[InstructionFile, ...]
    repository: str


async def find_instructions(workspace: Workspace) -> FoundInstructions:
    """The files that the project's directory and those above have. Without a repository, its root is the project."""
    root = PurePosixPath(workspace.root)
    folders = [*map(str, reversed(root.parents)), str(root)]
    names = (*CONTEXT_NAMES, LOCAL_NAME, *_REPOSITORY)
    paths = [posixpath.join(folder, name) for folder in folders for name in names]
    paths += [posixpath.join(workspace.root, name) for name in _NAMES_IN_PROJECT]
    read = await workspace.read_existing(paths, MAX_INSTRUCTION_BYTES + 1)
    repository = _repository(folders, read)
    found = {path: text for path, data in read.items() if (text := text_in(data)).strip()}
    files: list[InstructionFile] = []
    for folder in folders:
        used, passed_over = _used(folder, workspace.root, found)
        for path in used:
            problem = stranger_above(path) if folder != workspace.root else None
            standing: Standing = "project" if len(folder) >= len(repository) else "above"
            if problem is not None:
                standing = "stranger"
            elif await leads_out(workspace, path, folder):
                standing = "link"
            name = posixpath.relpath(path, workspace.root)
            notices = passed_over if standing == "project" and path == used[0] else ()
            files.append(InstructionFile(path, name, found[path], standing, problem or "", notices=notices))
    return FoundInstructions(await with_imported(workspace, files, repository), repository)


def text_in(data: bytes, limit: int = MAX_INSTRUCTION_BYTES) -> bytes:
    """The content of a file, as UTF-8 if it begins as one in UTF-16 does. `limit`: what is longer has been cut."""
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data
    text = data[:limit].decode("utf-16", "replace").encode(errors="replace")
    return text + b"\n[kaa: the rest is left out]" if len(data) > limit else text


def _used(folder: str, root: str, found: Mapping[str, bytes]) -> tuple[list[str], tuple[str, ...]]:
    """The files of a folder that are used, and sentences about those that say something else and are not."""
    names = (*CONTEXT_NAMES, *_NAMES_IN_PROJECT) if folder == root else CONTEXT_NAMES
    paths = [path for name in names if (path := posixpath.join(folder, name)) in found]
    local = posixpath.join(folder, LOCAL_NAME)
    more = [local] if local in found else []
    return [*paths[:1], *more], tuple(_passed_over(paths, found))


def _passed_over(paths: Sequence[str], found: Mapping[str, bytes]) -> Iterator[str]:
    """What to say about all but the first: nothing about one that says the same, or if one names the other."""
    if not paths or posixpath.basename(paths[0]) == _OVERRIDE:
        return
    first = posixpath.basename(paths[0])
    told = {found[paths[0]].strip()}
    for path in paths[1:]:
        name, text = posixpath.basename(path), found[path].strip()
        if text not in told and name.encode() not in found[paths[0]] and first.encode() not in text:
            line = f"@{posixpath.relpath(path, posixpath.dirname(paths[0]))}"
            yield f"{path} is not used, because {first} is: a line {line} there adds it"
        told.add(text)


async def with_imported(
    workspace: Workspace, files: Sequence[InstructionFile], inside: str
) -> tuple[InstructionFile, ...]:
    """The files with what they import from the directory `inside`, as far as trust in them can be kept."""
    if not any(b"@" in file.data for file in files):
        return tuple(files)
    from kaa.shell.trust.imports import with_imports  # lazy: few texts import others

    given = [file.path for file in files]
    whole: list[InstructionFile] = []
    for file in files:
        if file.standing == "project" and b"@" in file.data:
            more = await with_imports(workspace, file.path, file.data, inside, MAX_INSTRUCTION_BYTES + 1, given)
            own = None if more.data == file.data else len(file.data)
            notices = (*file.notices, *more.notices)
            whole.append(msgspec.structs.replace(file, data=more.data, own_bytes=own, notices=notices))
        else:
            whole.append(file)
    return tuple(whole)


def _repository(folders: list[str], found: Mapping[str, bytes]) -> str:
    """The root of the repository that the project belongs to; the project's own directory if there is none."""
    for folder in reversed(folders):
        if any(posixpath.join(folder, name) in found for name in _REPOSITORY):
            return folder
    return folders[-1]


async def leads_out(workspace: Workspace, path: str, folder: str) -> bool:
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
