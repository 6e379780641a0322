"""Removes what is too deep for pytest to remove."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kaa.workspace.removal import remove_tree


@contextmanager
def removed_afterwards(folder: Path) -> Iterator[Path]:
    """Give the folder, and remove it at the end however deep it has become."""
    try:
        yield folder
    finally:
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            remove_tree(folder.name, parent)
        finally:
            os.close(parent)
