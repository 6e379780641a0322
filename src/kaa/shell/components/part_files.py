"""Finds files of which only a part defines components: settings of agents, with their hooks or language servers.

What counts of such a file, for trust too, is that part: other settings may change freely.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from kaa.shell.components import Found, FoundFile, Place
from kaa.shell.components.finding import UNREAD, FileTree

MAX_BYTES: Final = 1024 * 1024

PartOf: TypeAlias = Callable[[Place, bytes], bytes | None]
"""The part of a file, None if it has none. Raises ValueError with a reason, as the rest of a sentence."""


async def find_parts(tree: FileTree, places: Sequence[Place], inside: str | None, part_of: PartOf, what: str) -> Found:
    """The files in some places that have such a part, each with it alone.

    Args:
        inside: the directory that files must not lead out of by links, without symlinks itself; None: they may.
    """
    files: list[FoundFile] = []
    notices: list[str] = []
    for place in places:
        try:
            info = await tree.stat(place.folder)
        except OSError:
            continue
        if info is None:
            continue
        path, unused = place.folder, f"{place.folder}: its {what} are not used, because"
        if info.kind != "file":
            notices.append(f"{unused} it is no regular file")
        elif inside is not None and not info.real_path.startswith(f"{inside.rstrip('/')}/"):
            notices.append(f"{unused} it is a link that leads out of the project")
        elif info.size > MAX_BYTES:
            notices.append(f"{unused} it is larger than {MAX_BYTES // 1024} KiB")
        elif (data := (await tree.read_existing([path], MAX_BYTES + 1)).get(path)) is not None:
            try:
                part = part_of(place, data)
            except ValueError as error:
                notices.append(f"{unused} {error}")
                continue
            if part is not None:
                files.append(FoundFile(path, path.rpartition("/")[2], part, place, info.real_path))
        elif inside is None:
            notices.append(f"{unused} {UNREAD}")
    return Found(tuple(files), tuple(notices))
