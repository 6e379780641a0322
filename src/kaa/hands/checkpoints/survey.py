"""How much there is to read before everything is known: by what `stat` says, without reading a file."""

import os
import stat
from typing import NamedTuple

from kaa.hands.checkpoints.manifest import StateManifest
from kaa.hands.checkpoints.roots import Roots
from kaa.hands.checkpoints.rules import ScanRules, covers_name, reads_ignore_file
from kaa.hands.checkpoints.states import State, is_known, look


class FilesToRead(NamedTuple):
    """Files, and their bytes in all."""

    files: int
    bytes: int


def survey(roots: Roots, rules: ScanRules, known: StateManifest) -> FilesToRead:
    """The files that would have to be read.

    Args:
        rules: say what is covered; their counts are of no use afterwards.
        known: what need not be read again.
    """
    files = size = 0
    remaining: list[tuple[str, str | None]] = [(start, None) for start in roots.starts]
    while remaining:
        directory, parent = remaining.pop()
        with roots.opened(directory) as descriptor:
            try:
                names = frozenset(os.listdir(descriptor)) if descriptor is not None else frozenset()
            except OSError:
                continue
            if descriptor is None or os.fstat(descriptor).st_dev != roots.device_of(directory):
                continue
            ignore_file = reads_ignore_file(names)
            ignored = look(descriptor, ignore_file).content if ignore_file else None
            if not rules.enter(directory, parent, names, ignored):
                continue
            for name in filter(covers_name, names):
                path = f"{directory}/{name}" if directory else name
                try:
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    if rules.covers_directory(directory, path):
                        remaining.append((path, directory))
                elif stat.S_ISREG(status.st_mode) and not _was_read(status, known.get(path)):
                    limit = rules.max_bytes(directory, path, known.files + files, known.bytes + size)
                    if status.st_size <= limit:
                        files += 1
                        size += status.st_size
    return FilesToRead(files, size)


def _was_read(status: os.stat_result, known: State | None) -> bool:
    """Whether the content is known, also of a file that had just been written when it was read and got no stamp."""
    if known is None:
        return False
    return is_known(status, known) or (known.kind == "file" and not known.stamp and known.size == status.st_size)
