"""What an extension on the disk is and asks for, before it runs for the first time."""

from pathlib import Path

import msgspec

from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import Permissions
from kaa.ext.places import ONE_ENTRY, ExtensionId, Kind, kind_of
from kaa.shell.extensions.digest import files_in
from kaa.shell.extensions.errors import InstallationError


class ExtensionCandidate(msgspec.Struct, frozen=True):
    """An extension that could be installed.

    Attributes:
        name: as it names itself; empty if it does not.
        version: as it says itself; empty if it does not.
        permissions: what it asks for; None for Python, which runs inside kaa with the user's rights.
        files: of it, sorted; "." for an extension of one file.
    """

    name: str
    version: str
    kind: Kind
    permissions: Permissions | None
    files: tuple[str, ...]


def examine(path: Path) -> ExtensionCandidate:
    """Read what an extension says about itself. Nothing of it is executed.

    Raises:
        InstallationError: it is no extension, or its manifest has a mistake.
    """
    files = tuple(files_in(path))
    kind = kind_of(path)
    match kind:
        case None:
            raise InstallationError(_not_an_extension(path))
        case "python":
            return ExtensionCandidate("", "", kind, None, files)
        case "process":
            from kaa.ext.process.manifest import read_manifest  # lazy: it loads a parser of YAML

            try:
                manifest = read_manifest(ExtensionId.at(path))
            except ExtensionError as error:
                raise InstallationError(str(error)) from error
            return ExtensionCandidate(manifest.name, manifest.version, kind, manifest.requested, files)
        case "component":
            from kaa.ext.wasm.description import find_component  # lazy: few extensions are components

            try:
                return ExtensionCandidate("", "", kind, find_component(ExtensionId.at(path)).requested, files)
            except ExtensionError as error:
                raise InstallationError(str(error)) from error


def _not_an_extension(path: Path) -> str:
    wanted = ONE_ENTRY
    if not path.is_dir():
        return f"{path.name} is no extension: use a .py or .wasm file, a wheel, or a folder with {wanted}"
    inside = sorted(entry.name for entry in path.iterdir() if kind_of(entry) is not None)
    if inside:
        return (
            f"the folder has no {wanted}, but contains extensions: {', '.join(inside[:10])}. Install one of them; of a"
            " git repository with #subdirectory=FOLDER"
        )
    if (path / "pyproject.toml").is_file():
        return (
            f"the folder has no {wanted}. It has a pyproject.toml: build a wheel of it and install that, because kaa"
            " executes nothing at the installation"
        )
    return f"the folder is no extension: it has no {wanted}"
