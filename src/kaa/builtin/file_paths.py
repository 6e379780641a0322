"""From a path as a model wrote it to the file it meant, and from a failure to what the model should do next."""

import asyncio
import posixpath
import re
import unicodedata
from collections.abc import Iterator

import msgspec

from kaa.core.tool import ToolError
from kaa.workspace.blocked import BlockedError, note
from kaa.workspace.protocol import FileInfo, SearchError, Workspace

# Patterns, not compiled, as most runs never need them.
_UNICODE_SPACE = "[\u00a0\u2000-\u200a\u202f\u205f\u3000]"
_SPACES_IN_NAMES = "\u00a0\u2009"  # which models write as plain ones
_TIME_OF_DAY = r"(?i) (?=[AP]M\.)"
_MAX_NAMES_COMPARED = 2000
_MOST_ELSEWHERE = 5
_SEARCH_SECONDS = 2.0


class Located(msgspec.Struct, frozen=True):
    """A file or directory that exists. `path` is how to name it to the workspace."""

    path: str
    info: FileInfo


async def locate(workspace: Workspace, path: str) -> Located | None:
    """What exists at `path`, or else at one of the spellings that models and systems confuse with it.

    Raises:
        ToolError: the path cannot be looked at.
    """
    if not path or "\0" in path:
        raise ToolError("path must be the name of a file or directory, without NUL characters.")
    try:
        for spelling in spellings(path):
            info = await workspace.stat(spelling)
            if info is not None:
                return Located(spelling, info)
    except OSError as error:
        raise await explained(workspace, path, error) from error
    return None


async def locate_file(workspace: Workspace, path: str) -> Located:
    """Like `locate`, for what must be there and be a file.

    Raises:
        ToolError: it is not there, or not a file; with similar names.
    """
    located = await existing(workspace, path)
    if located.info.kind == "directory":
        raise ToolError(f"{path} is a directory, not a file.")
    return located


async def existing(workspace: Workspace, path: str) -> Located:
    """Like `locate`, for what must be there.

    Raises:
        ToolError: there is none; with similar names.
    """
    located = await locate(workspace, path)
    if located is None:
        try:
            await workspace.read(path, 0, 1)  # what the sandbox hides seems not to exist, but is known to be blocked
        except OSError as error:
            raise await explained(workspace, path, error) from error
        raise ToolError(f"{path} appeared only now. Try again.")
    return located


def spellings(path: str) -> Iterator[str]:
    """`path` first, then without the `@` that users mention files with, then with exotic or plain characters.

    macOS writes a narrow space before AM and PM and curly apostrophes into names of screenshots, and stores
    names decomposed. Other programs write spaces that are not broken, or thin ones.
    """
    seen = set()
    for base in (path, path.removeprefix("@")):
        spaced = re.sub(_UNICODE_SPACE, " ", base)
        narrow = re.sub(_TIME_OF_DAY, "\u202f", spaced)
        decomposed = unicodedata.normalize("NFD", narrow)
        composed = unicodedata.normalize("NFC", base)
        exotic = (spaced.replace(" ", space) for space in _SPACES_IN_NAMES)
        variants = (base, spaced, narrow, decomposed, composed, *exotic)
        for spelling in (*variants, *(variant.replace("'", "\u2019") for variant in variants)):
            if spelling and spelling not in seen:
                seen.add(spelling)
                yield spelling


async def future_path(workspace: Workspace, path: str) -> str:
    """Where a file that does not exist yet will really be."""
    directory, name = posixpath.split(path)
    parent = await workspace.stat(directory or ".")
    if parent is None:
        return posixpath.normpath(posixpath.join(workspace.root, path))
    return posixpath.join(parent.real_path, name)


def is_git_hook(real_path: str) -> bool:
    """Whether git runs a file as a hook. A file without the permission to be executed is ignored by git."""
    directory = posixpath.dirname(real_path)
    return posixpath.basename(directory) == "hooks" and "/.git/" in real_path


async def explained(workspace: Workspace, path: str, error: OSError) -> ToolError:
    """What to tell the model of an operating system error on `path`."""
    match error:
        case BlockedError(blocked=blocked):
            return ToolError(note([blocked]), {"blocked": [msgspec.to_builtins(blocked)]})
        case FileNotFoundError():
            return ToolError(await _missing(workspace, path))
        case IsADirectoryError():
            return ToolError(f"{path} is a directory, not a file.")
        case NotADirectoryError():
            return ToolError(f"{path} is not a directory, or a part of it is a file.")
        case PermissionError():
            return ToolError(f"Permission denied: {path}. Do not retry; use another path or ask the user.")
        case _:
            return ToolError(f"{path}: {error.strerror or error}.")


async def _missing(workspace: Workspace, path: str) -> str:
    """That `path` does not exist, with names in its directory that look like it, or files of this name elsewhere."""
    from difflib import get_close_matches  # lazily: only failures need it

    directory, name = posixpath.split(path)
    try:
        names = [entry.name for entry in await workspace.list(directory or ".")]
    except BlockedError:
        return f"{path} does not exist."
    except OSError:
        return f"{path} does not exist, nor does its directory {directory}.{await _elsewhere(workspace, name)}"
    similar = get_close_matches(name, names[:_MAX_NAMES_COMPARED])
    elsewhere = await _elsewhere(workspace, name)
    if not similar:
        return f"{path} does not exist, nor a similar name in its directory.{elsewhere}"
    there = ", ".join(posixpath.join(directory, n) for n in similar)
    return f"{path} does not exist. Similar names there: {there}.{elsewhere}"


async def _elsewhere(workspace: Workspace, name: str) -> str:
    """A sentence that names files of this name in the project; empty if there are none."""
    if not name:
        return ""
    try:
        async with asyncio.timeout(_SEARCH_SECONDS):
            found = await workspace.find(re.sub(r"[*?\[\]{}\\]", "?", name), limit=_MOST_ELSEWHERE)
    except (TimeoutError, OSError, SearchError):
        return ""
    return f" Files of this name: {', '.join(found.paths)}." if found.paths else ""
