"""Reads what stands around the names of projects in long files, such as bundles: the whole of these is too much."""

import os
import re
from collections.abc import Sequence

from kaa.shell.mcp.imported import text_of

_MAX_BYTES = 8 * 1024 * 1024
_MAX_PLACES = 500
_AROUND = 300  # bytes before and behind a name
_NEAR = 60  # bytes in which the name of the folder above is expected
_BEFORE, _BEHIND = frozenset(b"\"'`/\\ "), frozenset(b"\"'`/\\")


def around_names(path: str, begin: int, folders: Sequence[str]) -> str:
    """What stands around the names of folders in a file. Those count first before which the folder above is named.

    Args:
        path: of the file.
        begin: the number of bytes at its beginning that are known.
        folders: the folders; real paths.
    """
    above: dict[bytes, set[bytes]] = {}
    for folder in folders:
        parent, name = os.path.split(os.fsencode(folder))
        above.setdefault(name, set()).add(os.path.basename(parent))
    content = text_of(path, _MAX_BYTES) if above else b""
    found: list[tuple[bool, int]] = []
    for one in re.compile(b"|".join(map(re.escape, above))).finditer(content, begin) if above else ():
        start, end = one.span()
        if content[start - 1] in _BEFORE and content[end : end + 1] and content[end] in _BEHIND:
            before = content[max(0, start - _NEAR) : start]
            found.append((not any(parent in before for parent in above[one[0]]), start))
    texts, last = list[bytes](), 0
    for start in sorted(start for _, start in sorted(found)[:_MAX_PLACES]):
        texts.append(content[max(last, start - _AROUND) : start + _AROUND])
        last = max(last, start + _AROUND)
    return os.fsdecode(b"\n".join(texts))
