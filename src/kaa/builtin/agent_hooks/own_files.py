"""Tells which files of the user commands of the model cannot change."""

import os
import re

from kaa.host.known_projects import in_known_project
from kaa.host.paths import is_below, trail
from kaa.host.programs import commands_can_write
from kaa.host.shims import is_shim

_SHIM = re.compile(r"/(?:shims|\.volta/bin)(?:/|$)")  # of a version manager: it obeys files of the project
_HOME = re.compile(r"\$HOME\b|\$\{HOME\}")


def expanded(word: str) -> str:
    """Return a word with the home that it names."""
    return os.path.expanduser(_HOME.sub(os.path.expanduser("~").replace("\\", r"\\"), word))


def imports_from_projects(python: str) -> bool:
    """Whether a Python of this path has editable installs that lead to what commands of the model can write."""
    from kaa.host.lone_pythons import imports_from_projects  # lazy: few scripts name a Python by a path

    return imports_from_projects(expanded(python), os.environ)


def is_outside(word: str, root: str) -> bool:
    """Whether a word is an absolute path that leads through nothing that commands of the model can write, or could."""
    path = expanded(word)
    if not os.path.isabs(path) or path.startswith("/proc/") or not {".", ".."}.isdisjoint(path.split("/")):
        return False
    if path in ("/dev/null", "/dev/stderr", "/dev/stdout"):
        return True
    return not is_shim(path) and not any(
        _SHIM.search(one)
        or one.startswith("/proc/")  # an open file, such as behind /dev/fd/0, has whatever somebody writes to it
        or commands_can_write(one)
        or is_below(one, (root,))
        or in_known_project(one, os.environ, root, added=True) is not None
        for one in (path, *trail(path))
    )
