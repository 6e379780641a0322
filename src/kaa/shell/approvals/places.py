"""What paths say: to ask before, not to protect.

No links are followed here, so whoever asks about a path had better ask about the real one (`targets.py`). The kernel
decides in any case, and what it blocks is asked about afterwards.
"""

import os.path
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from kaa.builtin.file_paths import spellings
from kaa.builtin.tools.argument_names import with_path
from kaa.core.messages import Json
from kaa.hands.protected import is_protected as is_protected_below

_GIT = ".git"
_END_OF_PATH = r"""(?=$|[\s'"`;|&<>()/])"""
_REST_OF_PATH = r"""[^\s'"`;|&<>()]*"""


def path_argument(arguments: Mapping[str, Json]) -> str | None:
    """The path in a call of a file tool, None if there is none that could be one."""
    path = with_path(dict(arguments)).get("path")
    return path if isinstance(path, str) and path and "\0" not in path else None


def names_of(path: str, root: str) -> tuple[str, ...]:
    """The absolute paths that a file tool may mean by `path`, the given one first."""
    return tuple(dict.fromkeys(absolute(spelling, root) for spelling in spellings(path)))


def absolute(path: str, root: str) -> str:
    """The path without `~`, `.` and `..`, starting from `root` if it is relative."""
    return os.path.normpath(os.path.join(root, os.path.expanduser(path)))


def is_free_to_write(path: str, writable: Iterable[str]) -> bool:
    """Whether a path is below one of the writable directories and is nothing that other programs execute or obey."""
    names = _names_below(path, writable)
    return bool(names) and not _is_obeyed(names)


def is_protected(path: str, writable: Iterable[str]) -> bool:
    """Whether a path is below one of the writable directories but other programs execute or obey what is there."""
    return _is_obeyed(_names_below(path, writable))


def is_obeyed(path: str) -> bool:
    """Whether other programs execute or obey what is at a path, by any of its names."""
    return _is_obeyed([name.casefold() for name in path.split("/") if name])


def temporary_path(command: str, directories: Sequence[str]) -> str | None:
    """The first path in a command that is below one of the directories, or names them by `$TMPDIR`."""
    if "TMPDIR" not in command and not any(directory.rstrip("/") in command for directory in directories):
        return None  # most commands, for which nothing is to be compiled
    below = "|".join(re.escape(directory.rstrip("/")) for directory in directories) or r"(?!)"
    match = re.search(rf"(?<![\w./-])(?:{below}){_END_OF_PATH}{_REST_OF_PATH}|\$\{{?TMPDIR\b{_REST_OF_PATH}", command)
    return match[0] if match else None


def confusable(path: str) -> str:
    """The same text for all spellings of a path that file systems or file tools take for one another."""
    return unicodedata.normalize("NFKC", path).casefold().replace("\u2019", "'")


def _names_below(path: str, writable: Iterable[str]) -> list[str]:
    """The names that lead from the first writable directory above a path to it; empty if there is none."""
    for directory in writable:
        base = os.path.normpath(directory)
        if path == base or path.startswith(base.rstrip("/") + "/"):
            return [name.casefold() for name in path[len(base) :].split("/") if name]
    return []


def _is_obeyed(names: Sequence[str]) -> bool:
    return _GIT in names or is_protected_below(names)
