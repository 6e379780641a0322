"""Reads files that the user names, wherever they are, with the user's rights and not those of commands.

A path that leads through a directory that commands can write is left to the hands: a command could have put a symlink
to a secret there. No other path can be changed by commands, so what it leads to is what the user means.
"""

import errno
import os
from collections.abc import Sequence

from kaa.hands import places, reading
from kaa.workspace.protocol import FileContent

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


def list_own(real_path: str) -> list[tuple[str, bytes]]:
    """Kind and name of what is in a directory, by a path of which no part is a symlink.

    Raises:
        OSError: it cannot be listed.
    """
    with places.real(real_path) as place:
        return list(reading.entries(place))


def read_own(real_path: str, max_bytes: int) -> FileContent:
    """The beginning of a regular file, by a path of which no part is a symlink.

    Raises:
        OSError: it is missing, no regular file, or not readable.
    """
    with places.real(real_path) as place:
        piece = reading.read_slice(place, 0, max_bytes)
    return FileContent(piece.data, piece.size, piece.digest)
