"""The extensions in kaa's home and environment: which there are, whether they are as installed, how they go."""

import os
import shutil
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from kaa.ext.distributions import beside_kaa
from kaa.ext.places import ExtensionId, Kind, discover, kind_of
from kaa.shell.extensions.digest import tree_digest
from kaa.shell.extensions.errors import InstallationError, UnknownNameError
from kaa.shell.extensions.records import ExtensionRecord, ExtensionRecords, Installation
from kaa.shell.extensions.staging import HIDDEN
from kaa.shell.home import Home


class InstalledExtension(msgspec.Struct, frozen=True):
    """One extension of the user's folder, or of kaa's environment.

    Attributes:
        path: its file or folder; None if it is recorded but gone.
        kind: what it is; None if it is gone.
        record: what is known about it.
    """

    name: str
    path: Path | None
    kind: Kind | None
    record: ExtensionRecord


class InstalledExtensions:
    def __init__(self, home: Home) -> None:
        self._folder = home.extensions
        self._data = home.extension_data
        self._records = ExtensionRecords(home)

    def all(self) -> list[InstalledExtension]:
        """All that are in the folder or the environment, or recorded, sorted by name.

        Raises:
            InstallationError: the records cannot be read.
        """
        records = self._records.read()
        paths = [*discover(self._folder), *beside_kaa()]
        here = {ExtensionId.at(path, self._folder).key: path for path in reversed(paths)}
        recorded = [name for name, record in records.items() if record.installation is not None]
        return [self._of(name, here.get(name), records) for name in sorted({*here, *recorded})]

    def get(self, name: str) -> InstalledExtension:
        """The extension of a name.

        Raises:
            InstallationError: there is none, or the records cannot be read.
        """
        every = self.all()
        for one in every:
            if name in (one.name, one.name.partition("@")[0]):
                return one
        names = ", ".join(one.name for one in every) or "none"
        raise UnknownNameError(f"there is no extension {name!r} in {self._folder}: there are {names}")

    def enable(self, name: str, *, enabled: bool) -> bool:
        """Have kaa load an extension or not, from its next start on. Returns whether that is a change.

        Raises:
            InstallationError: there is no such extension, or that cannot be recorded.
        """
        name = self.get(name).name
        with self._records.rewriting() as records:
            before = records.get(name, ExtensionRecord())
            records[name] = msgspec.structs.replace(before, enabled=enabled)
        return before.enabled != enabled

    def remove(self, name: str, *, with_data: bool = False) -> Path | None:
        """Remove an extension, what is recorded about it, and of a link only the link.

        Returns:
            The folder of its data; None if there is none.

        Raises:
            InstallationError: there is no such extension, or it cannot be removed.
        """
        found = self.get(name)
        name = found.name
        if "@" in name:
            raise InstallationError(
                f"{found.path} belongs to kaa's environment: remove it with the program that installed it there, or run"
                f" `kaa ext disable {name}`"
            )
        with self._records.rewriting() as records:
            records.pop(name, None)
            installation = found.record.installation
            path = found.path or (self._folder / installation.entry if installation is not None else None)
            if path is not None and os.path.lexists(path):
                self._discard(path)
        data = self._data / name
        if with_data:
            shutil.rmtree(data, ignore_errors=True)
        return data if os.path.lexists(data) else None

    def problems(self, extension: InstalledExtension) -> list[str]:
        """What is wrong with the files of an extension, in sentences, with the remedy."""
        path, installation = extension.path, extension.record.installation
        if path is None:
            return [f"its files are gone: run kaa ext install {installation.source if installation else ''}"]
        problems: list[str] = []
        try:
            problems += _modification(path, installation)
        except OSError as error:
            problems.append(f"{error.filename} cannot be read ({error.strerror})")
        return problems

    def modifications(self, paths: Collection[Path]) -> list[str]:
        """Which of these extensions are not as they were installed, in sentences with the remedy. Reads their files.

        Raises:
            OSError: the files cannot be read.
            InstallationError: the records cannot be read.
        """
        return [
            f"extension {one.name}: {sentence}"
            for one in self.all()
            if one.path is not None and one.path in paths
            for sentence in _modification(one.path, one.record.installation)
        ]

    def _of(self, name: str, path: Path | None, records: Mapping[str, ExtensionRecord]) -> InstalledExtension:
        return InstalledExtension(name, path, kind_of(path) if path else None, records.get(name, ExtensionRecord()))

    def _discard(self, path: Path) -> None:
        """Remove a file, link or folder; under another name first, so that kaa never finds a half of it."""
        away = Path(tempfile.mkdtemp(prefix=HIDDEN, dir=self._folder))
        os.rename(path, away / path.name)
        shutil.rmtree(away, ignore_errors=True)


def _modification(path: Path, installation: Installation | None) -> list[str]:
    """Whether the files are not those that were installed: a sentence, or none. Raises OSError."""
    if installation is None or not installation.tree or tree_digest(path) == installation.tree:
        return []
    return [f"its files changed after the installation: check them, or run kaa ext install {installation.source}"]
