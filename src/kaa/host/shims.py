"""Recognizes shims of version managers: programs that obey files of the directory they start in, wherever they lie."""

import os
import re
from collections.abc import Sequence

from kaa.host.paths import trail

# They are called by the names of other programs, and execute those.
_MANAGERS = re.compile(r"\.?(?:mise|rtx|volta-shim|proto-shim|asdf|vfox|vx-shim|aqua-proxy)(?:[-_.].*)?")
_EXECUTES = re.compile(
    rb"""(?:asdf|mise|rtx|vfox|volta|proto|\w+env)["']?\s+(?:exec|x|run)\s"""
)  # `pyenv exec python3`
_INSTALLED = ("installs", "tools", "versions")  # what lies beside the folder with shims of a version manager
_MOST_OF_SCRIPT = 4096


def is_shim(path: str) -> bool:
    """Whether an absolute path leads to or through a shim, by its places or by what the script there executes."""
    places = tuple(trail(path))
    return leads_to_shim(path, places) or bool(places and _starts_manager(places[-1]))


def leads_to_shim(path: str, places: Sequence[str]) -> bool:
    """The same by the places alone.

    Args:
        places: that it leads through, as `trail` finds them.
    """
    if not places:
        return False
    real = os.path.basename(places[-1])
    if _MANAGERS.fullmatch(real):
        return not _MANAGERS.fullmatch(os.path.basename(path))
    # A link there can lead past the manager: vfox has links to the versions that hold everywhere.
    links = (one for one in places[:-1] if _is_in_folder(one))
    return _is_in_folder(places[-1]) or any(_has_manager(os.path.dirname(os.path.dirname(one))) for one in links)


def is_folder_of_shims(folder: str) -> bool:
    """Whether a real path is that of a folder with shims."""
    return folder.endswith(("/shims", "/.volta/bin")) or os.path.lexists(os.path.join(folder, "volta-shim"))


def _is_in_folder(place: str) -> bool:
    return os.path.dirname(place).endswith(("/shims", "/.volta/bin"))


def _has_manager(root: str) -> bool:
    return any(os.path.isdir(os.path.join(root, one)) for one in _INSTALLED)


def _starts_manager(path: str) -> bool:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            head = file.read(_MOST_OF_SCRIPT) or b""
    except OSError:  # not there, a folder, or not readable
        return False
    return head.startswith(b"#!") and _EXECUTES.search(head) is not None
