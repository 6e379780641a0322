"""Compares what is on disk with what git was to write there: the bytes, whatever git was told to convert them to."""

import hashlib
import os
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from kaa.host.regular_files import regular

_LINK = "120000"
_SHA_1_DIGITS = 40
_CHUNK_BYTES = 1024 * 1024


class Written(NamedTuple):
    """A change that git makes to a file.

    Attributes:
        kind: git's letter for it (`A`, `D`).
        mode: what it becomes, as git has it (`100644`).
        blob: the name of its new content in git.
    """

    kind: str
    path: str
    mode: str
    blob: str


def has_content(directory: str, file: Written) -> bool:
    """Return True if a file or link has the content that git was to write. Blocking."""
    path = os.path.join(directory, file.path)
    try:
        if file.mode == _LINK:
            target = os.fsencode(os.readlink(path))
            return _name(file, len(target), (target,)) == file.blob
        with open(path, "rb", opener=_opened) as content:
            size = os.fstat(content.fileno()).st_size
            return _name(file, size, iter(partial(content.read, _CHUNK_BYTES), b"")) == file.blob
    except OSError:
        return False


def _opened(path: str, flags: int) -> int:
    return regular(path, flags | os.O_NOFOLLOW)


def _name(file: Written, size: int, content: Iterable[bytes]) -> str:
    """Return how git names a content, in the object format in which the file has a name already."""
    digest = hashlib.new("sha1" if len(file.blob) == _SHA_1_DIGITS else "sha256", usedforsecurity=False)
    digest.update(b"blob %d\0" % size)
    for part in content:
        digest.update(part)
    return digest.hexdigest()
