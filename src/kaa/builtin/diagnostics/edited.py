"""Which files a call of a tool changes, and what was in them."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kaa.builtin.file_paths import spellings
from kaa.builtin.tools.argument_names import with_path
from kaa.core.messages import Json, ToolCall
from kaa.session.changed_paths import PATCH_TOOL
from kaa.workspace.protocol import Workspace

_MAX_BYTES = 1024 * 1024
_MOST_FILES = 20
# Lines of a patch in the format of Codex that name a file.
_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Move to): (.+?)\s*$", re.MULTILINE)


class EditedFile(NamedTuple):
    """A file that a call changed.

    Attributes:
        path: absolute.
        name: relative to the project, if it is in it.
        before: what was in it; None if it did not exist.
    """

    path: str
    name: str
    before: bytes | None
    after: bytes


class Contents(NamedTuple):
    """What is in a file, and in others; see `contents_of`."""

    file: tuple[str, bytes] | None
    others: Mapping[str, bytes] = {}


def paths_of(call: ToolCall) -> tuple[str, ...]:
    """The files that a call may change, as the model names them."""
    arguments: Mapping[str, Json] = with_path(dict(call.arguments))
    if call.name != PATCH_TOOL:
        path = arguments.get("path")
        return (path,) if isinstance(path, str) and path else ()
    texts = (text for text in arguments.values() if isinstance(text, str))
    return tuple(dict.fromkeys(path for text in texts for path in _PATCHED.findall(text)))[:_MOST_FILES]


async def content_of(path: str, workspace: Workspace) -> tuple[str, bytes] | None:
    """The absolute path and the content of a file; None if it is not there, or too large to be checked."""
    return (await contents_of(path, workspace)).file


async def contents_of(path: str, workspace: Workspace, others: Sequence[str] = ()) -> Contents:
    """The same, with the contents of other files of the project, as far as they are there, in one request."""
    try:
        found = await workspace.read_existing((*spellings(path), *others), _MAX_BYTES + 1)
    except (OSError, ValueError):
        return Contents(None)
    rest = {name: found.pop(name) for name in others if name in found}
    named, data = next(iter(found.items()), (path, None))
    file = None if data is None or len(data) > _MAX_BYTES else (_absolute(named, workspace), data)
    return Contents(file, rest)


def _absolute(path: str, workspace: Workspace) -> str:
    parts = os.path.join(workspace.root, os.path.expanduser(path)).split("/")
    return "/" + "/".join(part for part in parts if part not in ("", "."))


def name_of(path: str, workspace: Workspace) -> str:
    """A path as people name it."""
    root = f"{workspace.root.rstrip('/')}/"
    return path.removeprefix(root)
