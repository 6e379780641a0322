"""Where extensions are found, what kind they are, and which files they consist of.

Light: the sandbox needs it before the rest is loaded.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["python", "process", "component"]
"""A Python module, a program that speaks the protocol of extension processes, or a WebAssembly component."""

Fingerprint: TypeAlias = tuple[tuple[str, int, int], ...]

# The file by which a folder is recognized. A process written in Python may have an `__init__.py`, too.
ENTRIES: dict[str, Kind] = {"manifest.yaml": "process", "extension.toml": "component", "__init__.py": "python"}
ONE_ENTRY = "__init__.py, manifest.yaml or extension.toml"
_FILES: dict[str, Kind] = {".py": "python", ".wasm": "component"}

# A change of these files is a change of the extension. What else a process writes into its folder is data.
_CODE: dict[Kind, frozenset[str]] = {
    "python": frozenset({".py"}),
    "process": frozenset({".py", ".ts", ".tsx", ".js", ".mjs", ".cjs", ".rb", ".lua", ".pl", ".sh"}),
    "component": frozenset({".wasm"}),
}
_LIBRARY = ".library"  # with the wheels of an installed extension: see `kaa.ext.distributions`
_LEFT_OUT = frozenset({"node_modules", "target", "__pycache__"})


def discover(folder: Path) -> list[Path]:
    """The extensions in a folder, files and folders, sorted by name; empty if there is no such folder."""
    if not folder.is_dir():
        return []
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith(".") and kind_of(entry) is not None)


def kind_of(path: Path) -> Kind | None:
    """What a file or a folder is; None if it is no extension."""
    if path.is_dir():
        return next((kind for name, kind in ENTRIES.items() if (path / name).is_file()), None)
    return _FILES.get(path.suffix) if path.is_file() else None


def label(name: str) -> str:
    """What users call an extension: the name of its file without the suffix, or of its folder."""
    path = Path(name)
    if path.name in ENTRIES:
        return path.parent.name
    return path.stem if path.suffix in _FILES else path.name


def entry_file(path: Path) -> Path:
    """The file that is read first for an extension, which is a file or a folder."""
    if not path.is_dir():
        return path
    return next((path / name for name in ENTRIES if (path / name).is_file()), path / "__init__.py")


def package(file: Path) -> Path | None:
    """The folder from which an extension with this first file loads more; None if it is of one file."""
    return file.parent if file.name in ENTRIES else None


def fingerprint(path: Path) -> Fingerprint:
    """Changes when the code of an extension changes."""
    entry = entry_file(path)
    folder = package(entry)
    found: list[tuple[str, int, int]] = []
    for file in [str(entry)] if folder is None else _code_in(folder, entry):
        with suppress(OSError):  # it was removed
            state = os.stat(file)
            found.append((file, state.st_mtime_ns, state.st_size))
    return tuple(found)


def last_change(path: Path) -> float:
    """When the code of an extension was changed last, in Unix time; not by the times that copies keep."""
    changes = [0.0]
    for file, _, _ in fingerprint(path):
        with suppress(OSError):
            changes.append(os.stat(file).st_ctime)
    return max(changes)


def nearest_folder(place: Path) -> Path:
    """A folder, or the first one above it that exists."""
    return next((folder for folder in (place, *place.parents) if folder.is_dir()), place)


def folders_of(path: Path) -> Iterator[Path]:
    """The folders in which something changes when the code of an extension changes, or when it comes or goes."""
    yield nearest_folder(path.parent)
    if (file := entry_file(path)).is_symlink():
        yield file.resolve().parent
    if package(file) is not None:
        for folder, _ in _walk(path):
            yield Path(folder)


def _walk(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The folders with code of an extension in a folder, and their files."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and (name[0] != "." or name == _LIBRARY))
        yield place, sorted(files)


def _code_in(folder: Path, entry: Path) -> Iterator[str]:
    kind = ENTRIES[entry.name]
    yield str(entry)
    for place, files in _walk(folder):
        for name in files:
            file = os.path.join(place, name)
            is_program = kind == "process" and os.access(file, os.X_OK)
            if file != str(entry) and (is_program or os.path.splitext(name)[1] in _CODE[kind]):
                yield file
