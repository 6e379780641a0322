"""Tells code from other files: by their names, their modes and how they begin."""

import os
import re
import stat
from collections.abc import Iterator

from kaa.shell.mcp.deciding_files import LISTS_OF_PACKAGES

IGNORED = frozenset({"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".cache"})
"""What tools write for themselves: no server gets to see it beside its code."""
BEGINNING = b"#!"
"""Of a script that the kernel executes."""
# What a server reads or writes, and loads no code from.
_DATA = re.compile(
    r".+\.(?:db|sqlite3?|duckdb|csv|tsv|parquet|log|txt|md|rst|pdf|html?|png|jpe?g|gif|svg|ico|pid|sock|key|pem|crt"
    r"|db-(?:wal|shm|journal)|tmp|bak|orig|sw[op])|.+~|\.git|\.DS_Store"
    r"|\.(?:git|docker|npm|prettier|eslint)ignore|\.gitattributes|\.editorconfig|\.(?:cursor|windsurf)rules",
    re.IGNORECASE,
)
_PROGRAM = re.compile(
    r".+\.(?:py[cdw]?|[cm]?jsx?|[cm]?tsx?|so|node|wasm|sh|bash|pl|pm|rb|php|lua|jar|class|go|rs|json|exs?"
    r"|java|kts?|groovy|scala|clj[cs]?|cs|fs|vb|swift|zig|nim|hs|erl|[jJ][lL]|R|fish|zsh|inc|phar)"
)
_MAX_LOOKED_AT = 200  # entries of a folder, to see whether it has code


def entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """What is in a folder, without what is ignored; nothing if it cannot be read."""
    try:
        with os.scandir(folder) as scanned:
            found = sorted(scanned, key=lambda one: one.name)
    except OSError:
        return
    yield from (entry for entry in found if entry.name not in IGNORED)


def is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is, or leads to, a file; not if it leads in a circle, or where the user may not look."""
    try:
        return entry.is_file()
    except OSError:
        return False


def is_folder(entry: os.DirEntry[str]) -> bool:
    """The same for a folder."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_code(entry: os.DirEntry[str]) -> bool:
    """Whether a file beside code may be code."""
    is_data = is_data_file(entry.name) and LISTS_OF_PACKAGES.fullmatch(entry.name) is None
    return not is_data or _is_executable(entry)


def is_data_file(path: str) -> bool:
    """True for a path with the name of a file that servers read or write."""
    return _DATA.fullmatch(path) is not None


def has_name_of_program(path: str) -> bool:
    """True for a path with an ending of programs, or of data that programs load."""
    return _PROGRAM.fullmatch(path) is not None


def is_program(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a file that others may start or load by its name."""
    if has_name_of_program(entry.name):
        return not entry.name.endswith(".json")
    if not is_file(entry):
        return False
    return _is_executable(entry) or ("." not in entry.name and _is_script(entry.path))


def has_code(folder: str) -> bool:
    """Whether code lies in a folder, or in a folder of it."""
    near = _nearest(folder)
    below = (entry for one in near if one.is_dir(follow_symlinks=False) for entry in _nearest(one.path))
    return any(has_name_of_program(entry.name) or is_program(entry) for found in (near, below) for entry in found)


def _is_executable(entry: os.DirEntry[str]) -> bool:
    """Whether a file has the mode of a program; not if it is gone meanwhile."""
    try:
        return bool(entry.stat().st_mode & stat.S_IXUSR)
    except OSError:
        return False


def _nearest(folder: str) -> list[os.DirEntry[str]]:
    return [entry for _, entry in zip(range(_MAX_LOOKED_AT), entries(folder), strict=False)]


def _is_script(path: str) -> bool:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(len(BEGINNING)) == BEGINNING
    except OSError:
        return False
