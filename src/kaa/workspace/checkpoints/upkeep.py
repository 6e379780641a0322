"""Looks after the checkpoints of all projects: removes what is beyond the limits, and says what the rest takes."""

import os
from collections.abc import Iterator

from kaa.workspace.checkpoints.contract import CheckpointLimits
from kaa.workspace.checkpoints.store import CheckpointStore, DiskUse


def tidy(folder: str, limits: CheckpointLimits) -> Iterator[DiskUse]:
    """Prune every project's folder that nobody uses right now. Blocking.

    Args:
        folder: holds those of the projects; need not exist.

    Raises:
        OSError: the disk failed.
    """
    if not os.path.lexists(folder):
        return
    with os.scandir(folder) as entries:
        paths = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    for path in paths:
        store = CheckpointStore(path, limits)
        try:
            store.prune()
            yield store.use()
        finally:
            store.close()
