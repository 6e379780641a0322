"""Where extensions are found and which files they consist of. Light: the sandbox needs it before the rest is loaded."""

from contextlib import suppress
from pathlib import Path


def discover(folder: Path) -> list[Path]:
    """The extensions in a folder, sorted by name; empty if there is no such folder."""
    if not folder.is_dir():
        return []
    visible = (entry for entry in folder.iterdir() if not entry.name.startswith("."))
    files = (entry if entry.suffix == ".py" else entry / "__init__.py" for entry in visible)
    return sorted(file for file in files if file.is_file())


def entry_file(path: Path) -> Path:
    """The file that is executed first for an extension, which is a file or a folder."""
    return path / "__init__.py" if path.is_dir() else path


def fingerprint(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Changes when a Python file of an extension changes."""
    file = entry_file(path)
    folder = package(file)
    found: list[tuple[str, int, int]] = []
    for source in [file] if folder is None else sorted(folder.rglob("*.py")):
        with suppress(OSError):  # it was removed
            state = source.stat()
            found.append((str(source), state.st_mtime_ns, state.st_size))
    return tuple(found)


def package(file: Path) -> Path | None:
    """The folder from which an extension with this first file loads more; None if it is of one file."""
    return file.parent if file.name == "__init__.py" else None
