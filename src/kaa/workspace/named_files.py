"""Reads files that the user names, wherever they are, with the user's rights and not those of commands.

A path that leads through a directory that commands can write is left to the hands: a command could have put a symlink
to a secret there. No other path can be changed by commands, so what it leads to is what the user means.
"""

import asyncio
import errno
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kaa.hands import places, reading
from kaa.hands.below import is_below
from kaa.workspace.blocked import BlockedError
from kaa.workspace.protocol import KINDS, DirEntry, FileContent, NamedFile

if TYPE_CHECKING:
    from kaa.workspace.local import LocalWorkspace

_MOST_LINKS = 40  # as Linux has it


def own_path(path: str, untrusted: Sequence[str]) -> str | None:
    """The real path that a path leads to; None if the way passes through one of some directories.

    Args:
        path: absolute.
        untrusted: real paths of directories that commands can write.

    Raises:
        OSError: symlinks lead in a circle.
    """
    current, links = "/", 0
    ahead = path.split("/")[::-1]
    while ahead:
        part = ahead.pop()
        if part in ("", "."):
            continue
        here = os.path.dirname(current) if part == ".." else os.path.join(current, part)
        if any(here == root or here.startswith(root.rstrip("/") + "/") for root in untrusted):
            return None
        try:
            target = os.readlink(here)
        except OSError:  # no link, or nothing at all
            current = here
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        if target.startswith("/"):
            current = "/"
        ahead += target.split("/")[::-1]
    return current


async def read_named(workspace: "LocalWorkspace", path: str, max_bytes: int, untrusted: Sequence[str]) -> NamedFile:
    """Read a file that the user named, without the hands if it is the user's own.

    Args:
        path: absolute.
        max_bytes: at most so many.
        untrusted: as for `own_path`.

    Raises:
        OSError: it cannot be read.
    """
    own = own_path(path, untrusted)
    if own is not None:
        try:
            content = await asyncio.to_thread(_read_own, own, max_bytes)
        except FileNotFoundError:
            if not any(is_below(own, directory) for directory in workspace.sandbox.temporary):
                raise
        else:
            denials = workspace.sandbox.denials()
            return NamedFile(own, content.data, content.size, any(map(denials.is_secret, (own, path))))
    try:
        info = await workspace.stat(path)
        if info is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        content = await workspace.read(path, 0, max_bytes)
    except BlockedError:
        raise
    except PermissionError as error:
        reason = "the sandbox hides what it leads to, and commands can write where it is"
        raise PermissionError(error.errno, reason, path) from error
    return NamedFile(info.real_path, content.data, content.size)


async def list_named(workspace: "LocalWorkspace", path: str, untrusted: Sequence[str]) -> list[DirEntry]:
    """List a directory; arguments as for `read_named`.

    Raises:
        OSError: it cannot be listed.
    """
    own = own_path(path, untrusted)
    if own is None:
        return await workspace.list(path)
    found = await asyncio.to_thread(_list_own, own)
    return [DirEntry(name, KINDS.get(kind[0], "other")) for kind, name in found]


def _list_own(real_path: str) -> list[tuple[str, str]]:
    """Kind and name of what is in a directory, by a path of which no part is a symlink.

    Raises:
        OSError: it cannot be listed.
    """
    with places.real(real_path) as place:
        return list(reading.entries(place))


def _read_own(real_path: str, max_bytes: int) -> FileContent:
    """The beginning of a regular file, by a path of which no part is a symlink.

    Raises:
        OSError: it is missing, no regular file, or not readable.
    """
    with places.real(real_path) as place:
        piece = reading.read_slice(place, 0, max_bytes)
    return FileContent(piece.data, piece.size, piece.digest)
