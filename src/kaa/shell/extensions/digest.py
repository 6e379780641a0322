"""Hashes the files of an extension, so that a change after the installation is noticed."""

import os
from pathlib import Path

# Python and its users write these beside the code while an extension runs.
_WRITTEN_LATER = frozenset({"__pycache__", ".git", ".DS_Store"})


def tree_digest(path: Path) -> str:
    """SHA-256 (hex) of a file or folder: names, contents, executable bits, and where links lead.

    Raises:
        OSError: something in it cannot be read.
    """
    import hashlib  # lazy: only the commands that install and check extensions need it

    whole = hashlib.sha256()
    for name in files_in(path):
        file = path / name
        status = os.lstat(file)
        if file.is_symlink():
            kind, content = "link", os.fsencode(os.readlink(file))
            digest = hashlib.sha256(content).hexdigest()
        else:
            kind = "program" if status.st_mode & 0o100 else "file"
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        whole.update(b"\0".join((os.fsencode(name), kind.encode(), digest.encode())) + b"\n")
    return whole.hexdigest()


def files_in(path: Path) -> list[str]:
    """The files and links of an extension, relative to it and sorted; "." for an extension of one file."""
    if not path.is_dir():
        return ["."]
    found: list[str] = []
    for folder, folders, names in os.walk(path):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in _WRITTEN_LATER and name not in links]
        kept = (name for name in (*names, *links) if name not in _WRITTEN_LATER)
        found += (os.path.relpath(os.path.join(folder, name), path) for name in kept)
    return sorted(found)
