"""Finds what links in the folder of an extension lead to: the extension loads code from there, too."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress

from kaa.host.paths import is_below, trail

_NOT_LOOKED_AT = frozenset({".git", "target", "__pycache__"})
_MOST_FOLDERS = 2_000  # in which links are looked for


def behind_links(folder: str, is_written: Callable[[str], bool]) -> Iterator[str]:
    """Real paths that links in a folder lead to, and links there, as far as commands can write them.

    Args:
        folder: of the extension, a real path.
        is_written: whether commands of the model can write a real path.
    """
    known, pending, left = [folder], [folder], _MOST_FOLDERS
    while pending and left:
        left -= 1
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if not entry.is_symlink():
                    # Of modules for Node, only links to those beside the extension matter.
                    is_looked_at = entry.name not in _NOT_LOOKED_AT and _has_links(entry.path)
                    pending += [entry.path] if is_looked_at and entry.is_dir(follow_symlinks=False) else []
                    continue
                for place in [*trail(entry.path)][1:]:
                    # A link to what the folder lies in would protect the whole project.
                    if is_below(place, known) or is_below(folder, (place,)) or not is_written(place):
                        continue
                    known.append(place)
                    pending += [place] if os.path.isdir(place) and not os.path.islink(place) else []
                    yield place


def _has_links(path: str) -> bool:
    inside = path.rpartition("/node_modules/")[2]
    return inside == path or (inside.startswith("@") and "/" not in inside)
