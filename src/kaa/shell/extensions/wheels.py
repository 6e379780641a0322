"""Makes an extension of wheels: unpacks them, and writes the module by which kaa finds the entry point."""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from kaa.ext.distributions import FOLDER, GROUP, entry_module
from kaa.ext.places import ENTRIES
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.index import Wheel, same_distribution
from kaa.shell.extensions.staging import MAX_BYTES, StagedTree, copy_folder

# Of a wheel's `.data` folder (PyPA specification "Binary distribution format"); scripts and headers are of no use.
_CODE = frozenset({"purelib", "platlib"})
_LINK = 0o120000
_KIND = 0o170000
_PROGRAMS = [name for name, kind in ENTRIES.items() if kind != "python"]


def stage_wheels(wheels: Sequence[Wheel], folder: Path, tree: StagedTree) -> None:
    """Write the extension that wheels contain.

    Args:
        wheels: the first one is the extension's, the others are what it needs.
        folder: for unpacked files; it must not exist.

    Raises:
        InstallationError: a wheel is damaged or contains no extension.
    """
    unpacked = StagedTree(folder)
    for wheel in wheels:
        _unpack(wheel, unpacked)
    own = wheels[0]
    references = _references(own, folder)
    if len(references) == 1:
        folder.rename(tree.top / FOLDER)
        pins = "".join(f"# {wheel.file.name} sha256:{wheel.sha256}\n" for wheel in wheels)
        (tree.top / "__init__.py").write_text(entry_module(references[0]) + pins, encoding="utf-8")
        return
    if references:
        raise InstallationError(f"{own.name} has {len(references)} entry points in {GROUP}: kaa installs one extension")
    place = _program(own, folder)
    if len(wheels) > 1:
        raise InstallationError(
            f"{own.name} contains {place.relative_to(folder)} and needs {wheels[1].name}: processes and components are"
            " installed without libraries of Python"
        )
    copy_folder(place, tree)


def _unpack(wheel: Wheel, tree: StagedTree) -> None:
    try:
        with zipfile.ZipFile(wheel.file) as archive:
            if sum(info.file_size for info in archive.infolist()) > MAX_BYTES:
                raise InstallationError(f"{wheel.file.name} is larger than {MAX_BYTES // 1024 // 1024} MiB")
            for info in archive.infolist():
                name = _installed_name(info.filename)
                mode = info.external_attr >> 16
                if info.is_dir() or name is None:
                    continue
                if mode & _KIND == _LINK:
                    raise InstallationError(f"{wheel.file.name} contains the link {info.filename!r}")
                with archive.open(info) as content:
                    tree.write(name, content, executable=bool(mode & 0o100))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise InstallationError(f"{wheel.file.name} is damaged: {error}") from error


def _installed_name(name: str) -> str | None:
    """Where a file of a wheel goes; None if it is left out."""
    top, _, rest = name.partition("/")
    if not top.endswith(".data"):
        return name
    scheme, _, below = rest.partition("/")
    return below if scheme in _CODE else None


def _references(wheel: Wheel, folder: Path) -> list[str]:
    """The entry points of the extension, as `module:function`."""
    from importlib.metadata import PathDistribution  # lazy: it loads the parser of e-mail

    for metadata in folder.glob("*.dist-info"):
        distribution = PathDistribution(metadata)
        if same_distribution(metadata.name.partition("-")[0], wheel.name):
            return [point.value for point in distribution.entry_points if point.group == GROUP]
    raise InstallationError(f"{wheel.file.name} is damaged: it has no dist-info folder")


def _program(wheel: Wheel, folder: Path) -> Path:
    """The folder in a wheel that is the extension of another kind than Python."""
    found = sorted({place for name in _PROGRAMS for file in folder.rglob(name) for place in _parent(file, folder)})
    if not found:
        raise InstallationError(
            f"{wheel.name} {wheel.version} is no extension of kaa: it has no entry point {GROUP} and none of"
            f" {', '.join(_PROGRAMS)}"
        )
    if len(found) > 1:
        names = ", ".join(str(one.relative_to(folder)) for one in found)
        raise InstallationError(f"{wheel.name} contains {len(found)} extensions ({names}): kaa installs one")
    return found[0]


def _parent(file: Path, folder: Path) -> Iterator[Path]:
    if not any(part.endswith(".dist-info") for part in PurePosixPath(file.relative_to(folder)).parts):
        yield file.parent
