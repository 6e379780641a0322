"""Finds the files of components in their places: of a project through its workspace, of the user in the home.

Only the files that define something are read: SKILL.md, but not the scripts beside it. A project can bring any number
of files of any size, so there are limits, and what exceeds them is named and left out.
"""

import asyncio
import os
import posixpath
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

import msgspec

from kaa.host.regular_files import beginning_of, unplanted
from kaa.shell.components import Found, FoundFile, Place
from kaa.workspace.protocol import DirEntry, EntryKind, FileInfo

MAX_FILES: Final = 1_000
MAX_FILE_BYTES: Final = 128 * 1024
MAX_BYTES: Final = 8 * 1024 * 1024
UNREAD: Final = "kaa cannot read it, or a command could have made a link in a project that leads to it"
_MAX_DEPTH = 4  # of folders in a place
_MAX_FOLDERS = 10_000  # of one level
_AT_ONCE = 200  # files read in one request
_MOST_NAMED = 3

_SKILL_FILE = "SKILL.md"
_LEFT_OUT = frozenset({"node_modules", "__pycache__"})
_SUFFIXES = {
    ("command", "gemini"): ".toml",
    ("rule", "cursor"): ".mdc",
    ("rule", "copilot"): ".instructions.md",
    ("agent", "codex"): ".toml",
}


class FileTree(Protocol):
    """What a search needs of a workspace."""

    async def list(self, path: str) -> list[DirEntry]: ...

    async def stat(self, path: str) -> FileInfo | None: ...

    async def read_existing(self, paths: Sequence[str], max_bytes: int) -> dict[str, bytes]: ...


class UserTree:
    """The user's own files: `FileTree`, without a workspace."""

    async def list(self, path: str) -> list[DirEntry]:
        with os.scandir(path) as entries:
            return [DirEntry(entry.name, "directory" if _is_directory(entry) else "file") for entry in entries]

    async def stat(self, path: str) -> FileInfo | None:
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            return None
        kind: EntryKind = "file" if stat.S_ISREG(found.st_mode) else "other"
        real_path = os.path.realpath(path)  # noqa: ASYNC240 - a hundred of them take a millisecond
        return FileInfo(path, real_path, kind, found.st_size, found.st_mode, found.st_mtime_ns)

    async def read_existing(self, paths: Sequence[str], max_bytes: int) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for path in paths:
            with suppress(OSError):
                found[path] = beginning_of(path, max_bytes, unplanted)
        return found


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a loop of links, for instance
        return False


async def find(tree: FileTree, places: Sequence[Place], inside: str | None) -> Found:
    """The files of components in some places, in the order of the places, in each level by level and by name.

    Args:
        inside: the directory that files must not lead out of by links, without symlinks itself; None: they may.
    """
    linked: list[str] = []
    seen: set[tuple[str, str]] = set()

    async def unseen(kind: str, folders: Sequence[str]) -> list[str]:
        """Folders that were not searched yet: links multiply them without end. None outside of the project."""
        infos = await asyncio.gather(*(_info(tree, folder) for folder in folders))
        found: list[str] = []
        for folder, info in zip(folders, infos, strict=True):
            if info is None or (kind, info.real_path) in seen:
                continue
            seen.add((kind, info.real_path))
            if inside is None or f"{info.real_path}/".startswith(f"{inside.rstrip('/')}/"):
                found.append(folder)
            else:
                linked.append(folder)
        return found

    named = [(place, info) for place in places for info in await _candidates(tree, place, unseen)]
    notices: list[str] = []
    if len(named) > MAX_FILES:
        notices.append(f"{len(named)} skills, commands and agents were found: only the first {MAX_FILES} are used")
    large: list[str] = []
    wanted: list[tuple[Place, FileInfo]] = []
    room = MAX_BYTES
    for place, info in named[:MAX_FILES]:
        if inside is not None and not info.real_path.startswith(f"{inside.rstrip('/')}/"):
            linked.append(info.path)
        elif info.size > MAX_FILE_BYTES or info.size > room:
            large.append(info.path)
        else:
            room -= info.size
            wanted.append((place, info))
    unread: list[str] = []
    files = [file async for file in _read(tree, wanted, large, unread)]
    if linked:
        notices.append(f"{_names(linked)}: not used, because they are links that lead out of the project")
    if large:
        notices.append(f"{_names(large)}: not used, because they are larger than {MAX_FILE_BYTES // 1024} KiB")
    if unread and inside is None:
        notices.append(f"{_names(unread)}: not used, because {UNREAD}")
    return Found(tuple(files), tuple(notices))


async def _read(
    tree: FileTree, wanted: Sequence[tuple[Place, FileInfo]], large: list[str], unread: list[str]
) -> AsyncIterator[FoundFile]:
    for begin in range(0, len(wanted), _AT_ONCE):
        some = wanted[begin : begin + _AT_ONCE]
        contents = await tree.read_existing([info.path for _, info in some], MAX_FILE_BYTES + 1)
        for place, info in some:
            data = contents.get(info.path)
            if data is None:
                unread.append(info.path)
            elif len(data) > MAX_FILE_BYTES:  # it has grown meanwhile
                large.append(info.path)
            else:
                yield FoundFile(info.path, _name(place, info.path), data, place, info.real_path)


async def _candidates(
    tree: FileTree, place: Place, unseen: Callable[[str, Sequence[str]], Awaitable[list[str]]]
) -> list[FileInfo]:
    """Files that may define a component, level by level; a SKILL.md ends the search below it."""
    found: list[FileInfo] = []
    folders = await unseen(place.kind, [place.folder])
    for depth in range(1 if place.is_flat else _MAX_DEPTH):
        if place.kind == "skill" and depth:
            skills = await _infos(tree, [f"{folder}/{_SKILL_FILE}" for folder in folders])
            found += skills
            of_skills = {posixpath.dirname(info.path) for info in skills}
            folders = [folder for folder in folders if folder not in of_skills]
        below: list[str] = []
        for folder, entries in zip(
            folders, await asyncio.gather(*(_entries(tree, one) for one in folders)), strict=True
        ):
            if place.kind != "skill" or (place.has_loose_skills and not depth):
                suffix = _SUFFIXES.get((place.kind, place.agent), ".md")
                names = sorted(entry.name for entry in entries if entry.kind != "directory")
                found += await _infos(tree, [f"{folder}/{name}" for name in names if name.endswith(suffix)])
            below += sorted(f"{folder}/{entry.name}" for entry in entries if _may_have_components(entry))
        folders = await unseen(place.kind, below[:_MAX_FOLDERS])
    return found


async def _infos(tree: FileTree, paths: Sequence[str]) -> list[FileInfo]:
    """What is known of those paths that lead to regular files; with these paths."""
    infos = await asyncio.gather(*(_info(tree, path) for path in paths))
    return [
        msgspec.structs.replace(info, path=path)
        for path, info in zip(paths, infos, strict=True)
        if info is not None and info.kind == "file"
    ]


def _may_have_components(entry: DirEntry) -> bool:
    return entry.kind == "directory" and not entry.name.startswith(".") and entry.name not in _LEFT_OUT


async def _entries(tree: FileTree, folder: str) -> list[DirEntry]:
    try:
        return await tree.list(folder)
    except OSError:
        return []


async def _info(tree: FileTree, path: str) -> FileInfo | None:
    try:
        return await tree.stat(path)
    except OSError:
        return None


def _name(place: Place, path: str) -> str:
    within = path.removeprefix(f"{place.folder}/")
    if within.endswith(f"/{_SKILL_FILE}"):
        return posixpath.basename(posixpath.dirname(within))
    return posixpath.splitext(within)[0]


def _names(paths: Sequence[str]) -> str:
    """Some paths, in one line: a line feed in a name must not begin another one."""
    shown = [" ".join(path.split()) for path in paths[:_MOST_NAMED]]
    more = [f"{len(paths) - _MOST_NAMED} more"] if len(paths) > _MOST_NAMED else []
    return ", ".join([*shown, *more])
