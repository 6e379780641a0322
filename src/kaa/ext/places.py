"""Which extension is which: where it was found, what kind it is, and which files it consists of.

Light: the sandbox needs it before the rest is loaded.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

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

# Names folders, modules, settings and session entries. No dot: the types of kaa's own entries begin with `kaa.`.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_HASH_CHARACTERS = 12
_KEY = re.compile(rf"{_NAME.pattern}(@[0-9a-f]{{{_HASH_CHARACTERS}}})?")


class ExtensionId(msgspec.Struct, frozen=True):
    """Which extension this is. Two of equal name in different places are two extensions.

    Attributes:
        key: what its data, settings, session entries and records are kept under. `NAME` is the extension in kaa's
            home, `NAME@HASH` one from another place; the module is the key of one that comes with kaa.
        name: what users call it.
        path: its file or folder. Versions of a project's extension have one key and different paths.
        is_of_project: whether a project brought it.
    """

    key: str
    name: str
    path: str
    is_of_project: bool = False

    @classmethod
    def built_in(cls, module: str) -> "ExtensionId":
        """One that comes with kaa."""
        return cls(module, module.rpartition(".")[2], module)

    @classmethod
    def at(cls, path: Path, home: Path | None = None) -> "ExtensionId":
        """One of the user's.

        Args:
            path: its file or folder.
            home: the folder of the user's extensions. One in it is known by its name, any other one by its path.
        """
        path = Path(os.path.abspath(path))
        name = _name_of(path)
        is_plain = home is not None and path.parent == Path(os.path.abspath(home)) and _NAME.fullmatch(name) is not None
        return cls(name if is_plain else _hashed(name, str(path)), name, str(path))

    @classmethod
    def of_project(cls, copy: Path, project: str) -> "ExtensionId":
        """One of a project: the same whatever its content is, and never one of the user's.

        Args:
            copy: what kaa loads.
            project: the root of the project.
        """
        name = _name_of(copy)
        return cls(_hashed(name, f"{project}\0{copy.name}"), name, str(copy), is_of_project=True)

    @property
    def is_built_in(self) -> bool:
        """Whether it comes with kaa."""
        return self.key == self.path

    @property
    def consent(self) -> str:
        """What its permissions are recorded under: the key, but each version of a project's extension has its own."""
        return _hashed(self.name, self.path) if self.is_of_project else self.key

    @property
    def argument(self) -> str:
        """What names it in a shell: its name if it is in kaa's home, otherwise its path."""
        return shlex.quote(self.path) if "@" in self.key else self.name

    def __str__(self) -> str:
        return self.path


def check_name(name: str) -> None:
    """Make sure that an extension in kaa's home can have this name.

    Raises:
        ValueError: it cannot.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"invalid extension name {name!r}: use up to 64 letters, digits, _ and -, first a letter or digit"
        )


def check_key(key: str) -> None:
    """Make sure that a text is the key of an extension.

    Raises:
        ValueError: it is not.
    """
    if not _KEY.fullmatch(key):
        raise ValueError(f"invalid extension {key!r}: use NAME or NAME@HASH, as `/extensions` shows it")


def fitted(name: str) -> str:
    """A name that an extension can have, as near as possible to this one."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:64] or "extension"


def _hashed(name: str, place: str) -> str:
    import hashlib  # lazy: most extensions are in kaa's home

    return f"{fitted(name)}@{hashlib.sha256(os.fsencode(place)).hexdigest()[:_HASH_CHARACTERS]}"


def _name_of(path: Path) -> str:
    """The name of a file without the suffix, or of a folder."""
    if path.name in ENTRIES:
        path = path.parent
    return path.stem if path.suffix in _FILES else path.name


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


def entry_file(path: Path) -> Path:
    """The file that is read first for an extension, which is a file or a folder."""
    if not path.is_dir():
        return path
    return next((path / name for name in ENTRIES if (path / name).is_file()), path / "__init__.py")


def package(file: Path) -> Path | None:
    """The folder from which an extension with this first file loads more; None if it is of one file."""
    return file.parent if file.name in ENTRIES else None


def code_paths(path: Path, is_written: Callable[[str], bool]) -> Iterator[str]:
    """The paths from which an extension loads code: its file or folder, also behind links, and where links in it lead.

    Args:
        path: its file or folder, absolute.
        is_written: whether commands of the model can write a real path. Of where links lead, only such paths count.
    """
    file = entry_file(path)
    yield str(package(file) or file)
    real = Path(os.path.realpath(file))
    whole = package(real)
    yield str(whole or real)
    if whole is not None:
        from kaa.ext.linked_code import behind_links  # lazy: most extensions are no folders

        yield from behind_links(str(whole), is_written)


def files_beside(path: Path) -> Iterator[str]:
    """All files of an extension that it may load, read or start, without wheels that kaa unpacked for it.

    Not those in `node_modules`: pnpm and bun make hard links of all of them.
    """
    entry = entry_file(path)
    if (folder := package(entry)) is None:
        yield str(entry)
        return
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _LEFT_OUT - {_LIBRARY, ".git"})
        yield from (os.path.join(place, name) for name in sorted(names))


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
