"""The folder of a plugin, as far as its parsers see it: which files there are, and what is in them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from kaa.components.plugins.json_fields import MAX_BYTES
from kaa.host.regular_files import read_regular, straight

_MAX_FILES = 20_000
_MAX_DEPTH = 12
_SKIPPED = frozenset({".git", "node_modules", "__pycache__"})


class Listing(Protocol):
    """Files by their path relative to a root, with `/`, without `.` and `..`."""

    def read(self, path: str) -> bytes | None:
        """The content of a file; None if there is none, it is too large, or it is a link out of the root."""

    def files(self, folder: str) -> list[str]:
        """All files below a folder, sorted; empty if there is none. Has links out of the root, which `read` refuses."""


class PluginDirectory:
    """A directory on this machine. Links are followed as long as they stay in it."""

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)

    def read(self, path: str) -> bytes | None:
        place = os.path.realpath(os.path.join(self._root, path))
        if not self._has(place):
            return None
        try:
            return read_regular(place, MAX_BYTES, straight)
        except (OSError, ValueError):
            return None

    def files(self, folder: str) -> list[str]:
        found: list[str] = []
        for path in self._below(folder, ()):
            found.append(path)
            if len(found) == _MAX_FILES:
                break
        return sorted(found)

    def _has(self, place: str) -> bool:
        return place == self._root or place.startswith(os.path.join(self._root, ""))

    def _below(self, folder: str, above: tuple[str, ...]) -> Iterator[str]:
        place = os.path.realpath(os.path.join(self._root, folder))
        if place in above or len(above) > _MAX_DEPTH or not self._has(place):
            return
        try:
            with os.scandir(place) as entries:
                names = sorted((entry.name, entry.is_dir()) for entry in entries)
        except OSError:
            return
        for name, is_folder in names:
            path = f"{folder}/{name}" if folder else name
            if name in _SKIPPED:
                continue
            if is_folder and self._has(os.path.realpath(os.path.join(place, name))):
                yield from self._below(path, (*above, place))
            else:
                yield path


class Within:
    """A folder of another listing, as the root of its own. `only`: the files that count; None for all."""

    def __init__(self, listing: Listing, folder: str, only: frozenset[str] | None = None) -> None:
        self._listing = listing
        self._prefix = f"{folder}/" if folder else ""
        self._only = only

    def read(self, path: str) -> bytes | None:
        return self._listing.read(self._prefix + path) if self._only is None or path in self._only else None

    def files(self, folder: str) -> list[str]:
        found = (path.removeprefix(self._prefix) for path in self._listing.files((self._prefix + folder).strip("/")))
        return [path for path in found if self._only is None or path in self._only]
