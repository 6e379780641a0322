"""Where a call would write or read, judged by its path alone: to ask before, not to protect.

Symbolic links are not followed here, so the answer can be wrong. The kernel decides, and what it blocks is asked
about afterwards.
"""

import os.path
import unicodedata
from collections.abc import Iterable, Mapping

from kaa.builtin.tools.argument_names import with_path
from kaa.core.messages import Json
from kaa.hands.policy import PROTECTED_NAMES

_PROTECTED = frozenset(name.casefold() for name in PROTECTED_NAMES)
_GIT = ".git"


def paths_of(arguments: Mapping[str, Json], root: str) -> tuple[str, ...]:
    """The absolute paths that a call of a file tool may mean, none if its `path` is no text.

    File tools take `@notes.md`, as users mention files, for `notes.md` if there is no such name.
    """
    path = with_path(dict(arguments)).get("path")
    if not isinstance(path, str) or not path or "\0" in path:
        return ()
    spellings = dict.fromkeys((path, path.removeprefix("@")))
    return tuple(absolute(spelling, root) for spelling in spellings if spelling)


def absolute(path: str, root: str) -> str:
    """The path without `~`, `.` and `..`, starting from `root` if it is relative."""
    return os.path.normpath(os.path.join(root, os.path.expanduser(path)))


def is_free_to_write(path: str, writable: Iterable[str]) -> bool:
    """Whether a path is below one of the writable directories and is nothing that other programs execute or obey."""
    for directory in writable:
        base = os.path.normpath(directory)
        if path == base or path.startswith(base.rstrip("/") + "/"):
            names = [name.casefold() for name in path[len(base) :].split("/") if name]
            return bool(names) and _GIT not in names and names[0] not in _PROTECTED
    return False


def confusable(path: str) -> str:
    """The same text for all spellings of a path that file systems or file tools take for one another."""
    return unicodedata.normalize("NFKC", path).casefold().replace("\u2019", "'")
