"""Reads what stands around the names of projects in long files, such as bundles: the whole of these is too much."""

import os
import re
from collections.abc import Sequence

from kaa.host.regular_files import text_of

_MAX_BYTES = 8 * 1024 * 1024
_MAX_PLACES = 500
_AROUND = 300  # bytes before and behind a name
_NEAR = 60  # bytes in which the name of the folder above is expected


def around_names(path: str, begin: int, folders: Sequence[str]) -> str:
    """What stands around the names of folders in a file. Those count first before which the folder above is named.

    Args:
        begin: the number of bytes at its beginning that are known.
        folders: the folders; real paths.
    """
    above: dict[bytes, set[bytes]] = {}
    for folder in folders:
        parent, name = os.path.split(os.fsencode(folder))
        above.setdefault(name, set()).add(os.path.basename(parent))
    content = text_of(path, _MAX_BYTES) if above else b""
    names = re.compile(rb"(?<=[\"'`/\\ ])(?:%s)(?=[\"'`/\\])" % b"|".join(map(re.escape, above)))
    near, others = list[int](), list[int]()
    for one in names.finditer(content, begin):
        before = content[max(0, one.start() - _NEAR) : one.start()]
        places = near if any(parent in before for parent in above[one[0]]) else others
        if len(places) < _MAX_PLACES:
            places.append(one.start())
    texts, last = list[bytes](), 0
    for start in sorted((*near, *others)[:_MAX_PLACES]):
        texts.append(content[max(last, start - _AROUND) : start + _AROUND])
        last = max(last, start + _AROUND)
    return os.fsdecode(b"\n".join(texts))
